"""How do requests and grants read in a list and in full, and what is asked before one is decided?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sb.screens.state.document import Field
from sb.screens.state.events import moment
from sb.screens.state.listing import Column, Row

from sb.duration import human_duration
from sb.kernel.approvals.approval import MICROSECONDS, OPEN, Approval, ApprovalState, Grant
from sb.kernel.approvals.description import description
from sb.kernel.approvals.watching import Change, standing
from sb.kernel.contracts import SafetyClass
from sb.kernel.tooling.admission import RECOVERY
from sb.text import quoted_name, revealed_line, shorten

APPROVAL_COLUMNS = (
    Column("state", 9),
    Column("left", 8),
    Column("agent", 12),
    Column("risk", 12, wide_only=True),
    Column("asked (UTC)", 14, wide_only=True),
    Column("call"),
)
GRANT_COLUMNS = (
    Column("state", 8),
    Column("left", 8),
    Column("agent", 12),
    Column("tool", 16),
    Column("used", 5),
    Column("run", 20, wide_only=True),
    Column("by", 12, wide_only=True),
    Column("arguments"),
)
VIEWS: dict[str, tuple[ApprovalState, ...]] = {
    "open": OPEN,
    **{str(state): (state,) for state in ApprovalState},
    "all": (),
}
_TONES = {"overdue": "error", "expiring": "error", "waiting": "warn", "approved": "ok"}


def state_word(approval: Approval, now: int) -> str:
    """Its state, or of one that waits whether it is overdue or about to expire; `now` in microseconds."""
    if approval.state is not ApprovalState.WAITING:
        return str(approval.state)
    change = standing(approval, now)
    return str(change) if change in (Change.OVERDUE, Change.EXPIRING) else str(approval.state)


def call_text(approval: Approval) -> str:
    """The call as it is asked for, in one line."""
    args = approval.request.get("args", {})
    listed = args.items() if isinstance(args, dict) else [("args", args)]
    shown = ", ".join(
        f"{quoted_name(name)}={json.dumps(value, ensure_ascii=False)[:200]}" for name, value in listed
    )
    return revealed_line(f"{approval.tool_id}({shown})")


def approval_row(approval: Approval, now: int) -> Row:
    approval = approval.at(now)
    word = state_word(approval, now)
    left = human_duration((approval.expires_at - now) / MICROSECONDS) if approval.state in OPEN else "-"
    risk = approval.safety_class + (f" x{approval.needed}" if approval.needed > 1 else "")
    cells = (
        word,
        left,
        revealed_line(approval.agent),
        risk,
        moment(approval.requested_at),
        call_text(approval),
    )
    return Row(cells, _TONES.get(word, "muted"))


def approval_document(approval: Approval, now: int) -> list[Field]:
    """Everything that is known about a request."""
    approval = approval.at(now)
    fields = [
        Field(
            f"{state_word(approval, now)}: {revealed_line(approval.agent)} wants {shorten(call_text(approval), 300)}"
        )
    ]
    return fields + [Field(heading, "\n".join(lines)) for heading, lines in description(approval, now)]


def grant_row(grant: Grant, now: int) -> Row:
    grant = grant.at(now)
    args = ", ".join(f"{name}={pattern}" for name, pattern in grant.args.items()) or "any"
    active = grant.state == "active"
    left = human_duration((grant.expires_at - now) / MICROSECONDS) if active else "-"
    run = grant.run_id or "every"
    cells = (grant.state, left, grant.agent, grant.tool_id, str(grant.uses), run, grant.made_by, args)
    return Row(tuple(map(revealed_line, cells)), "ok" if active else "muted")


def grant_document(grant: Grant) -> list[Field]:
    """Everything that is known about a grant."""
    return [
        Field(f"{grant.state}: {grant.agent} may call {grant.tool_id}"),
        *(Field(name, str(value)) for name, value in grant.to_dict().items()),
    ]


@dataclass(frozen=True)
class Question:
    """What a person is asked before something is decided.

    Args:
        lines: what exactly it is about, then an empty line and the consequence; none of them begins another line.
        destructive: the focus starts on "no".
        count: has to be typed, when it is more than one.
    """

    title: str
    lines: tuple[str, ...]
    destructive: bool
    count: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", revealed_line(self.title))
        object.__setattr__(self, "lines", tuple(map(revealed_line, self.lines)))


MOST_LINES = 6
_CONSEQUENCE = {
    "approve": "Each call runs once, as soon as its agent asks again. It can be revoked until then.",
    "deny": "The agents are told your reason. A denial cannot be taken back.",
    "revoke": "What was approved does not run any more. This cannot be taken back.",
}

_OF_REVERSALS = "What recovery asks for is performed on Recovery: a there agrees and performs it at once."


def question(verb: str, about: Sequence[Approval | Grant]) -> Question:
    """What to ask before these are approved, denied or revoked."""
    one = len(about) == 1
    lines = []
    for item in about[:MOST_LINES]:
        what = (
            item.tool_id
            if isinstance(item, Grant)
            else f"{shorten(call_text(item), 400)}, {item.safety_class}"
        )
        lines.append(f"{item.agent}: {what} ({item.id})")
    if len(about) > MOST_LINES:
        lines.append(f"and {len(about) - MOST_LINES:,} more")
    irreversible = any(
        isinstance(item, Approval) and item.safety_class == SafetyClass.DESTRUCTIVE for item in about
    )
    reversals = any(isinstance(item, Approval) and item.agent == RECOVERY for item in about)
    consequence = _OF_REVERSALS if reversals and verb == "approve" else _CONSEQUENCE[verb]
    return Question(
        f"{verb.capitalize()} {'this' if one else f'these {len(about):,}'}?",
        (*lines, "", consequence),
        verb != "deny" and (irreversible or verb == "revoke"),
        len(about),
    )
