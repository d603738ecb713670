"""Requests and grants as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sb.screens.state.document import Field
from sb.screens.state.listing import WIDE, Column, Row

from sb.fitting import Cut
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.calls.approval import OPEN, ApprovalState, Grant
from sb.kernel.contracts import SafetyClass
from sb.kernel.run_context import RECOVERY_AGENT
from sb.present.approvals import LONGEST_CALL, call_text, grant_line, object_first, request_line, state_word
from sb.text import revealed_line

APPROVAL_COLUMNS = (
    Column("state", 9),
    Column("left", 8),
    Column("agent", 12),
    Column("risk", 12, least=WIDE),
    Column("asked (UTC)", 14, least=WIDE),
    Column("call", cut=Cut.MIDDLE),
)
GRANT_COLUMNS = (
    Column("state", 8),
    Column("left", 8),
    Column("agent", 12),
    Column("tool", 16),
    Column("used", 5),
    Column("run", 20, least=WIDE),
    Column("by", 12, least=WIDE),
    Column("arguments"),
)
VIEWS: dict[str, tuple[ApprovalState, ...]] = {
    "open": OPEN,
    **{str(state): (state,) for state in ApprovalState},
    "all": (),
}
_TONES = {"overdue": "error", "expiring": "error", "waiting": "warn", "approved": "ok"}


def approval_row(disclosed: Disclosure, now: int, *, reveal: bool = False) -> Row:
    line = request_line(disclosed, now, reveal=reveal)
    cells = (line.state, line.left, line.agent, line.risk, line.asked_at, line.call)
    return Row(cells, _TONES.get(line.state, "muted"))


def approval_document(disclosed: Disclosure, now: int, *, reveal: bool = False) -> list[Field]:
    """Everything that is known about a request; of one that is open nothing is folded away."""
    approval = disclosed.approval.at(now)
    whole = approval.state in OPEN
    call = object_first(disclosed, LONGEST_CALL, reveal=reveal)
    title = f"{state_word(approval, now)}: {revealed_line(approval.agent)} wants {call}"
    fields = [Field(title)]
    if disclosed.hides and whole:
        fields.append(Field("hidden", "secrets in data: v " + ("hides" if reveal else "shows") + " them"))
    sections = disclosed.sections(now, reveal=reveal)
    return fields + [Field(heading, "\n".join(lines), whole=whole) for heading, lines in sections]


def grant_row(grant: Grant, now: int) -> Row:
    line = grant_line(grant, now)
    cells = (line.state, line.left, line.agent, line.tool, line.used, line.run, line.made_by, line.arguments)
    return Row(cells, "ok" if line.state == "active" else "muted")


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


MOST_LINES = 6  # of what is denied, revoked or forgotten; what is approved is listed in full
_CONSEQUENCE = {
    "approve": "Each call runs once, when its agent repeats it. You can revoke it until then.",
    "deny": "The agent is told your reason. A denial is final.",
    "revoke": "The approval ends, and the call does not run. This is final.",
}

_OF_REVERSALS = "Press `a` on the Recovery screen to approve and run this reversal."


def unapprovable(chosen: Sequence[Disclosure], opened: set[str]) -> str:
    """Why these cannot be approved as they stand, and what to do; "" when they can.

    Args:
        opened: the digests of what was opened.
    """
    for item in chosen:
        if item.problem:
            return f"{item.approval.id}: {item.problem} ({item.hint})"
    unread = [item for item in chosen if item.long and item.digest not in opened]
    if len(chosen) == 1 and unread:
        return f"{unread[0].size:,} characters of arguments: enter opens them, then a approves"
    if unread:
        return f"{len(unread)} of these {len(chosen):,} are too long to show here: open each with enter, or unmark it"
    return ""


def question(verb: str, about: Sequence[Disclosure | Grant], *, reveal: bool = False) -> Question:
    """What to ask before these are approved, denied or revoked."""
    one = len(about) == 1
    most = len(about) if verb == "approve" else MOST_LINES
    lines = [_line(item, reveal) for item in about[:most]]
    if len(about) > most:
        lines.append(f"and {len(about) - most:,} more")
    asked = [item for item in about if isinstance(item, Disclosure)]
    irreversible = any(item.approval.safety_class == SafetyClass.DESTRUCTIVE for item in asked)
    reversals = any(item.approval.agent == RECOVERY_AGENT for item in asked)
    consequence = _OF_REVERSALS if reversals and verb == "approve" else _CONSEQUENCE[verb]
    if verb == "approve" and not reveal and any(item.hides for item in asked):
        consequence = f"Hidden parts are secrets in data; v in the list shows them. {consequence}"
    return Question(
        f"{verb.capitalize()} {'this' if one else f'these {len(about):,}'}?",
        (*lines, "", consequence),
        verb != "deny" and (irreversible or verb == "revoke"),
        len(about),
    )


def _line(item: Disclosure | Grant, reveal: bool) -> str:
    if isinstance(item, Grant):
        return f"{item.agent}: {item.tool_id} ({item.id})"
    asked = item.approval
    return f"{asked.agent}: {call_text(item, reveal=reveal)}, {asked.safety_class} ({asked.id})"
