"""Requests and grants as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.state.document import Field
from sb.screens.state.listing import NAMED, ROOMY, Cell, Column, Row
from sb.screens.state.question import Question, some

from sb.fitting import Cut, relative_age, short_span
from sb.frozen import frozen
from sb.kernel.approvals.disclosure import Argument, Disclosure
from sb.kernel.calls.approval import OPEN, ApprovalState, Grant
from sb.kernel.review.needs import CallOrigin
from sb.kernel.review.request_context import HISTORY_DAYS, RequestContext
from sb.kernel.review.runs import stated_intent
from sb.kernel.run_context import RECOVERY_AGENT
from sb.present.agents import trust_text
from sb.present.approvals import (
    INVALID,
    LONGEST_CALL,
    call_text,
    decision_lines,
    exact_object,
    grant_line,
    history_line,
    late_by,
    listed_call,
    object_argument,
    request_state,
    short_call,
)
from sb.present.decisions import approving, approving_first, denying, revoking
from sb.present.effects import (
    BETWEEN,
    LONGEST_EFFECT,
    request_effect,
    request_effect_phrase,
    request_why,
    telling_words,
)
from sb.present.events import call_line
from sb.present.states import state
from sb.present.times import date_and_time
from sb.sources import MICROSECONDS
from sb.text import counted, revealed_line, shorten_middle

OPEN_COLUMNS = (
    Column(width=4, right=True),
    Column(cut=Cut.MIDDLE),
    Column(width=LONGEST_EFFECT, least=50),
    Column(width=11, least=NAMED),
    Column(width=10, least=ROOMY),
)
UNUSED_COLUMNS = (
    *OPEN_COLUMNS[:2],
    Column(width=LONGEST_EFFECT),
    *OPEN_COLUMNS[3:],
)  # of one that is approved
DECIDED_COLUMNS = (
    Column(width=8),
    Column(cut=Cut.MIDDLE),
    Column(width=LONGEST_EFFECT, least=50),
    Column(width=11, least=NAMED),
    Column(width=6, right=True),
    Column(width=10, least=ROOMY),
)
GRANT_COLUMNS = (
    Column(width=8),
    Column(cut=Cut.END),
    Column(width=11, least=40),
    Column(width=8, right=True, least=50),
    Column(width=4, right=True),
    Column(width=10, least=ROOMY),
)
OPEN_VIEW, DECIDED_VIEW, GRANTS_VIEW = "open", "decided", "grants"
VIEWS = {OPEN_VIEW: "Open", DECIDED_VIEW: "Decided", GRANTS_VIEW: "Grants"}
STATES: dict[str, tuple[ApprovalState, ...]] = {
    OPEN_VIEW: OPEN,
    DECIDED_VIEW: tuple(state for state in ApprovalState if state not in OPEN),
}
# What the title counts: requests that wait, as the tabs do. What is approved and not used yet is listed below them.
COUNTED = STATES | {OPEN_VIEW: (ApprovalState.WAITING,)}


SHORT_CALL = 80  # characters of a call whose one argument the record's heading shows in full
SHELL, ABOVE = "host.shell.", ("cwd", "why")  # tools of which these arguments stand above: Where and Why
TOOL = "tool"  # the argument with the host's name of the tool, which stands beside our own


@frozen
class RequestDetail:
    """What is read for the request under the cursor alone.

    Args:
        undo: whether the call could be undone. trust: in its agent in general, None where no figure is on record.
    """

    number: int
    context: RequestContext
    undo: str
    trust: float | None = None


def approval_row(disclosed: Disclosure, now: int, project: str = "", *, reveal: bool = False) -> Row:
    """A request by its object; how long it can be decided, or what was decided, comes first."""
    approval = disclosed.approval.at(now)
    word, text = request_state(disclosed, now), listed_call(disclosed, now, reveal=reveal)
    look, agent = state(word), Cell(revealed_line(approval.agent), "soft")
    call = Cell(text, keeps=telling_words(text, request_why(disclosed)))
    if approval.state not in OPEN:
        ended = relative_age(approval.decided_at or approval.expires_at, now)
        by = Cell(approval.decided_by, "soft")
        effect = Cell(request_effect(disclosed), "soft")
        return Row(
            (Cell(word, look.tone), call, effect, agent, Cell(ended, "soft"), by), columns=DECIDED_COLUMNS
        )
    left = Cell(
        short_span((approval.expires_at - now) / MICROSECONDS), "danger" if look.tone == "danger" else "soft"
    )
    cells = (left, call, Cell(request_effect(disclosed)), agent, Cell(project, "soft"))
    if approval.state is ApprovalState.APPROVED:
        return Row(
            (*cells[:2], Cell(word, "danger" if word == INVALID else "ok"), *cells[3:]),
            columns=UNUSED_COLUMNS,
        )
    return Row(cells)


def approval_document(
    disclosed: Disclosure, detail: RequestDetail | None, now: int, *, reveal: bool = False
) -> list[Field]:
    """Everything that is known about a request, what a decision rests on first; its ids are folded."""
    approval = disclosed.approval.at(now)
    fields = [Field(short_call(disclosed, reveal=reveal))]
    if disclosed.problem and approval.state in OPEN:
        word = "Cannot be approved" if approval.state is ApprovalState.WAITING else "Does not count"
        fields.append(Field(word, f"{disclosed.problem}: {disclosed.hint}", tone="danger"))
    fields += _state_fields(disclosed, now, detail)
    fields += [Field(name, text) for name, text in request_facts(disclosed, detail)]
    if disclosed.hides:
        fields.append(Field("Hidden", "secrets in data: S " + ("hides" if reveal else "shows") + " them"))
    fields += _argument_fields(disclosed, reveal)
    if detail is not None:
        before = [call_line(call) for call in detail.context.before]
        fields += [Field("Calls before it")] if before else []
        fields += [
            Field(line.verdict.word, f"{line.object} · {relative_age(line.at, now)}") for line in before
        ]
        fields.append(Field(f"{approval.agent}, the last {HISTORY_DAYS} days"))
        fields.append(Field("", history_line(detail.context.history)))
        fields += [] if detail.trust is None else [Field("Trust", trust_text(detail.trust))]
    return fields + _ids(disclosed)


def _state_fields(disclosed: Disclosure, now: int, detail: RequestDetail | None) -> list[Field]:
    approval, word = disclosed.approval.at(now), request_state(disclosed, now)
    look = state(word)
    lines = decision_lines(approval, detail.context.decisions if detail else (), now)
    if approval.state in OPEN:
        left = short_span((approval.expires_at - now) / MICROSECONDS)
        late = late_by(approval, now)
        by = f", {late} late" if late else ""
        text, tone = f"{word}{by}: {left} left, then it counts as denied", ""
        if word == INVALID:
            text = f"{word}: it was approved, and does not run"
        elif approval.state is ApprovalState.APPROVED:
            runs = "" if approval.agent == RECOVERY_AGENT else f", when {approval.agent} repeats it"
            text, tone = f"{word}: runs once{runs}; {left} left. {REVOKES}", "ok"
        return [
            Field("State", revealed_line(text), tone="danger" if look.tone == "danger" else tone),
            *(Field("Decisions", line) for line in lines),
        ]
    return [Field("State", "; ".join([word, *lines]), tone=look.tone)]


def _argument_fields(disclosed: Disclosure, reveal: bool) -> list[Field]:
    """The arguments in full, but for those that the record has in full above."""
    heading, about = short_call(disclosed, reveal=reveal), object_argument(disclosed)
    if about is None and len(disclosed.arguments) == 1 and len(heading) <= SHORT_CALL:
        about = disclosed.arguments[0]
    above = (*ABOVE, TOOL) if disclosed.approval.tool_id.startswith(SHELL) else ()
    if about is not None and _bare(about.text(reveal=reveal)) in heading:
        above = (*above, about.name)
    title = (
        "Arguments" if not disclosed.long else f"Arguments: {disclosed.size:,} characters, read all of them"
    )
    fields = [
        Field(f"{one.name} =", one.text(reveal=reveal), whole=True)
        for one in disclosed.arguments
        if one.name not in above
    ]
    return [Field(title), *fields] if fields else []


def _tool(disclosed: Disclosure) -> str:
    """The tool, and how its host calls it."""
    host = [_bare(one.text()) for one in disclosed.arguments if one.name == TOOL]
    return " · ".join([disclosed.approval.tool_id, *host])


def _ids(disclosed: Disclosure) -> list[Field]:
    approval, request = disclosed.approval, disclosed.approval.request
    contract = f"{approval.fingerprint}, since registration: {request.get('tool_contract_status', 'unknown')}"
    values = {
        "request": approval.id,
        "tool": f"{_tool(disclosed)} ({approval.safety_class})",
        "run": approval.run_id,
        "session": str(request.get("session_id") or ""),
        "contract": contract,
        "asked": f"{date_and_time(approval.requested_at)}, overdue from {date_and_time(approval.due_at)}",
        "expires": date_and_time(approval.expires_at),
    }
    return [Field(name, revealed_line(value), folded=True) for name, value in values.items() if value]


def grant_row(grant: Grant, now: int) -> Row:
    """A grant by what it allows."""
    line = grant_line(grant, now)
    active = line.state == "active"
    left = short_span((grant.expires_at - now) / MICROSECONDS) if active else "-"
    return Row(
        (
            Cell(line.state, "ok" if active else "soft"),
            f"{line.tool}  {line.arguments}",
            Cell(line.agent, "soft"),
            Cell(f"{line.used} used", "soft"),
            Cell(left, "soft"),
            Cell(line.made_by, "soft"),
        ),
        columns=GRANT_COLUMNS,
    )


def grant_document(grant: Grant) -> list[Field]:
    """Everything that is known about a grant."""
    allowed = [f"{name} = {pattern}" for name, pattern in grant.args.items()]
    used = "not yet"
    if grant.last_used_at is not None:
        used = f"{counted(grant.uses, 'time')}, last {date_and_time(grant.last_used_at)}"
    fields = [
        Field(f"{grant.tool_id}, for {grant.agent}"),
        Field("State", grant.state, tone="ok" if grant.state == "active" else "soft"),
        Field("Allows", "\n".join(allowed) or "any arguments"),
        Field("Runs", "one" if grant.run_id else "every run"),
        Field("Reason", grant.reason),
        Field("Granted", f"by {grant.made_by}, {date_and_time(grant.made_at)}"),
        Field("Ends", date_and_time(grant.expires_at)),
        Field("Used", used),
    ]
    ids = {"grant": grant.id, "run": grant.run_id, "contract": grant.fingerprint}
    return [*fields, *(Field(name, value, folded=True) for name, value in ids.items() if value)]


REVOKES = "x on Approvals revokes it until then."
_OF_REVERSALS = "Press `a` on the Recovery screen to approve and run this reversal."


def unapprovable(chosen: Sequence[Disclosure], opened: set[str]) -> str:
    """Why these cannot be approved as they stand, in the console's words: the kernel refuses the same; "" when they can.

    Args:
        opened: the digests of what was opened.
    """
    for item in chosen:
        if item.problem:
            return f"{shorten_middle(short_call(item), SHORT_CALL)}: {item.problem} ({item.hint})"
    unread = [item for item in chosen if item.unread(opened)]
    if len(chosen) == 1 and unread:
        return f"{unread[0].size:,} characters of arguments: enter opens them, then a approves"
    if unread:
        return f"{len(unread)} of these {len(chosen):,} are too long to show here: open each with enter, or unmark it"
    return ""


def question(
    verb: str,
    about: Sequence[Disclosure | Grant],
    *,
    detail: RequestDetail | None = None,
    others: Sequence[str] = (),
    reveal: bool = False,
) -> Question:
    """What to ask before these are approved, denied or revoked.

    Args:
        detail: what was read of the only one. others: the operators who could approve after this one.
    """
    count = len(about)
    asked = [item for item in about if isinstance(item, Disclosure)]
    objects = [_object(item, reveal, alone=count == 1) for item in about]
    hidden = not reveal and any(item.hides for item in asked)
    facts = (*(_facts(about[0], detail) if count == 1 else ()), *([("Hidden", _HIDDEN)] if hidden else []))
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
    about = object_argument(item)
    shell = item.approval.tool_id.startswith(SHELL) and not item.long
    if alone and shell and about is not None and len(about.text(reveal=reveal)) <= LONGEST_CALL:
        quiet = (*ABOVE, TOOL, about.name)  # they are facts below
        others = [f"{one.name}={one.text(reveal=reveal)}" for one in item.arguments if one.name not in quiet]
        return BETWEEN.join([exact_object(item, reveal=reveal), *others])
    if shell and about is not None:
        return BETWEEN.join(_told_apart(item, about, reveal))
    text = call_text(item, reveal=reveal)
    return text if alone else f"{text} · {item.approval.agent} · {item.approval.id}"


def _told_apart(item: Disclosure, about: Argument, reveal: bool) -> list[str]:
    """A command line among others: with each of its arguments, then why, who and where."""
    quiet = (*ABOVE, TOOL, about.name)
    others = [f"{one.name}={one.text(reveal=reveal)}" for one in item.arguments if one.name not in quiet]
    where = next((_bare(one.text()) for one in item.arguments if one.name == "cwd"), "")
    who = f"{item.approval.agent} in {where}" if where else item.approval.agent
    return [exact_object(item, reveal=reveal), *others, request_why(item), who]


def _name(item: Disclosure | Grant) -> str:
    return item.id if isinstance(item, Grant) else item.approval.id


def request_facts(disclosed: Disclosure, detail: RequestDetail | None) -> list[tuple[str, str]]:
    """Why, what the agent says, where, who, and undo, as far as they are known."""
    approval, request = disclosed.approval, disclosed.approval.request
    origin = detail.context.origin if detail else CallOrigin()
    says = stated_intent(str(request.get("intent") or ""), approval.agent)
    where = next((_bare(one.text()) for one in disclosed.arguments if one.name == "cwd"), "")
    project = f"project {origin.project_name}" if origin.project_name else ""
    place = [where, "" if where == origin.project else project]
    needs = f"{approval.needed} approvals, by different operators" if approval.needed > 1 else ""
    facts = (
        ("Why", request_why(disclosed)),
        ("Effect", request_effect_phrase(disclosed)),
        ("Says", f'"{says}"' if says else ""),
        ("Where", " · ".join(filter(None, place))),
        ("Agent", approval.agent),
        ("Undo", detail.undo if detail else ""),
        ("Needs", needs),
    )
    return [(name, revealed_line(text)) for name, text in facts if text]


def _bare(text: str) -> str:
    return text[1:-1] if text[:1] == text[-1:] == '"' else text


def _facts(item: Disclosure | Grant, detail: RequestDetail | None) -> tuple[tuple[str, str], ...]:
    """Of a grant or request alone, and the id."""
    if isinstance(item, Grant):
        return (("Agent", item.agent), ("Used", str(item.uses)), ("Grant", item.id))
    return (*request_facts(item, detail), ("Tool", _tool(item)), ("Request", item.approval.id))


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
