"""Requests and grants as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.state.document import Field
from sb.screens.state.listing import WIDE, Column, Row
from sb.screens.state.question import Question, some

from sb.fitting import Cut
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.calls.approval import OPEN, ApprovalState, Grant
from sb.kernel.run_context import RECOVERY_AGENT
from sb.present.approvals import LONGEST_CALL, call_text, grant_line, object_first, request_line, state_word
from sb.present.counts import counted
from sb.present.decisions import approving, approving_first, denying, revoking
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
    "decided": tuple(state for state in ApprovalState if state not in OPEN),
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
        fields.append(Field("hidden", "secrets in data: S " + ("hides" if reveal else "shows") + " them"))
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


REVOKES = "x revokes it until then."
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


def question(
    verb: str, about: Sequence[Disclosure | Grant], *, others: Sequence[str] = (), reveal: bool = False
) -> Question:
    """What to ask before these are approved, denied or revoked.

    Args:
        others: the operators who could approve after this one.
    """
    count = len(about)
    asked = [item for item in about if isinstance(item, Disclosure)]
    objects = [_object(item, reveal, alone=count == 1) for item in about]
    hidden = not reveal and any(item.hides for item in asked)
    facts = (*(_facts(about[0]) if count == 1 else ()), *([("Hidden", _HIDDEN)] if hidden else []))
    noun = "request" if asked else "grant"
    return Question(
        f"{verb.capitalize()} {counted(count, noun)}" if count > 1 else verb.capitalize(),
        tuple(objects) if verb == "approve" else some(objects, count),
        facts,
        _consequence(verb, asked, count, others),
        tuple(_name(item) for item in about),
    )


_HIDDEN = "secrets in data; S in the list shows them"


def _object(item: Disclosure | Grant, reveal: bool, *, alone: bool) -> str:
    if isinstance(item, Grant):
        what = ", ".join(f"{name}={pattern}" for name, pattern in item.args.items()) or "any arguments"
        return f"{item.tool_id}: {what}" + ("" if alone else f" · {item.agent} · {item.id}")
    text = call_text(item, reveal=reveal)
    return text if alone else f"{text} · {item.approval.agent} · {item.approval.id}"


def _name(item: Disclosure | Grant) -> str:
    return item.id if isinstance(item, Grant) else item.approval.id


def _facts(item: Disclosure | Grant) -> tuple[tuple[str, str], ...]:
    """Effect, agent and place, as far as they are known, and the id."""
    if isinstance(item, Grant):
        return (("Agent", item.agent), ("Used", str(item.uses)), ("Grant", item.id))
    approval, request = item.approval, item.approval.request
    reasons = request.get("reasons")
    why = (
        [str(one.get("reason", "")) for one in reasons if isinstance(one, dict)]
        if isinstance(reasons, list)
        else []
    )
    says = str(request.get("intent") or "")
    facts = [
        ("Effect", str(approval.safety_class).replace("_", " ")),
        ("Why", "; ".join(why)),
        ("Agent", approval.agent),
    ]
    facts += [("Says", f'"{says}"')] if says else []
    where = next((one.text() for one in item.arguments if one.name == "cwd"), "")
    facts += [("Where", where)] if where else []
    return (*(fact for fact in facts if fact[1]), ("Request", approval.id))


def _consequence(verb: str, asked: Sequence[Disclosure], count: int, others: Sequence[str]) -> str:
    agents = sorted({item.approval.agent for item in asked})
    if verb == "deny":
        return denying(agents)
    if verb == "revoke":
        return revoking(count)
    if any(item.approval.agent == RECOVERY_AGENT for item in asked):
        return _OF_REVERSALS
    first = [item.approval for item in asked if item.approval.needed > 1 and not item.approval.decided_by]
    if first:
        return approving_first(first[0].needed, others)
    return approving(agents if count == 1 else ["", ""], takes_back=REVOKES)
