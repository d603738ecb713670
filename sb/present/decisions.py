"""Decisions of a person: what follows each, and what was decided meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.base.text import revealed_line
from sb.kernel.autonomy.scoring import AutonomyMode
from sb.kernel.calls.approval import Approval, ApprovalState
from sb.present.times import when

if TYPE_CHECKING:
    from sb.kernel.autonomy.proposals import Proposal

_MEANWHILE = {
    ApprovalState.APPROVED: "approved",
    ApprovalState.USED: "approved",
    ApprovalState.DENIED: "denied",
    ApprovalState.REVOKED: "revoked",
}


def approving(agents: Sequence[str], *, takes_back: str = "") -> str:
    """The consequence of approving calls of these agents.

    Args:
        takes_back: a sentence on what revokes it.
    """
    runs = (
        f"Runs once, when {revealed_line(agents[0])} repeats it."
        if len(agents) == 1
        else "Each runs once, when its agent repeats it."
    )
    return " ".join(filter(None, (runs, takes_back)))


def approving_first(needed: int, others: Sequence[str]) -> str:
    """The consequence of the first approval under dual control.

    Args:
        others: the operators who could be the next.
    """
    who = revealed_line(others[0]) if len(others) == 1 else "another operator"
    return f"1 of {needed}: {who} has to approve too."


def denying(agents: Sequence[str]) -> str:
    """The consequence of denying calls of these agents."""
    if len(agents) == 1:
        return f"{revealed_line(agents[0])} reads your reason and goes on without it."
    return "Their agents read your reason and go on without them."


def revoking(count: int) -> str:
    """The consequence of revoking this many approvals or grants."""
    return "It does not run any more." if count == 1 else "They do not run any more."


def stopping(scope: str, target: str, *, lifts: str) -> str:
    """The consequence of a kill.

    Args:
        lifts: what ends it, such as a key.
    """
    name = revealed_line(target)
    if scope == "tool":
        return f"No agent can use {name} until {lifts} lifts it."
    if not target:
        return f"No agent can do anything until {lifts} lifts it."
    return f"{name} can do nothing until {lifts} lifts it."


def lifting(target: str) -> str:
    """The consequence of lifting a kill."""
    return f"{revealed_line(target)} may go on." if target else "Every agent may go on."


def approving_contracts(tools: Sequence[str]) -> str:
    """The consequence of approving these tools' contracts."""
    if len(tools) == 1:
        return f"Agents may call {revealed_line(tools[0])} as shown."
    return f"Agents may call these {len(tools):,} tools as shown."


def meanwhile(approval: Approval, now: int) -> str:
    """The decider of a request, and how long ago; "" where nobody did. `now` in microseconds."""
    word = _MEANWHILE.get(approval.state)
    if word is None or approval.decided_at is None:
        return ""
    return f"{revealed_line(approval.decided_by)} {word} it {when(approval.decided_at, now)}"


def raising(found: Sequence[Proposal]) -> str:
    """The consequence of signing these proposals."""
    if any(it.to == AutonomyMode.AUTO_EXECUTE for it in found):
        return "What only autonomy asked about runs; rules, secrets and what destroys still ask. It falls by itself."
    return "Calls that change something ask you again, in place of being refused."


def freezing(found: Sequence[Proposal]) -> str:
    """The consequence of freezing these levels."""
    return f"Nothing is proposed for {'it' if len(found) == 1 else 'them'} until sb autonomy unfreeze."
