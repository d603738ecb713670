"""Requests and grants as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.state.batch import ABOVE, SHELL, TOOL, batch
from sb.screens.state.document import Field, facts_of, fields_for
from sb.screens.state.question import Question

from sb.base.fitting import relative_age, short_span
from sb.base.sources import MICROSECONDS
from sb.base.text import counted, revealed_line, shorten_middle
from sb.kernel.approvals.disclosure import Disclosure
from sb.kernel.approvals.watching import Change
from sb.kernel.calls.approval import OPEN, ApprovalState, Grant
from sb.kernel.review.request_context import HISTORY_DAYS
from sb.kernel.run_context import RECOVERY_AGENT
from sb.present.agents import trust_text
from sb.present.approvals import (
    GRANT,
    INVALID,
    LONGEST_CALL,
    REQUEST,
    Request,
    RequestDetail,
    bare,
    call_text,
    decision_lines,
    exact_object,
    history_line,
    object_argument,
    request_state,
    short_call,
)
from sb.present.decisions import approving, approving_first, denying, revoking
from sb.present.effects import BETWEEN, LEAKS, gravity, request_effect
from sb.present.events import call_line
from sb.present.states import state
from sb.present.times import lateness, when

SHORT_CALL = 80  # characters of a call whose one argument the record's heading shows in full


def approval_document(about: Request, now: int) -> list[Field]:
    """Everything that is known about a request, what a decision rests on first; its ids are folded."""
    disclosed, detail, approval = about.disclosed, about.detail, about.approval.at(now)
    fields = [Field(short_call(disclosed, reveal=about.reveal))]
    if disclosed.problem and approval.state in OPEN:
        word = "Cannot be approved" if approval.state is ApprovalState.WAITING else "Does not count"
        fields.append(Field(word, f"{disclosed.problem}: {disclosed.hint}", tone="danger"))
    fields += _state_fields(disclosed, now, detail)
    fields += fields_for(REQUEST, about, now, "facts")
    if disclosed.hides:
        fields.append(
            Field("Hidden", "secrets in data: S " + ("hides" if about.reveal else "shows") + " them")
        )
    fields += _argument_fields(disclosed, about.reveal)
    if detail is not None:
        before = [call_line(call) for call in detail.context.before]
        fields += [Field("Calls before it")] if before else []
        fields += [
            Field(line.verdict.word, f"{line.object} · {relative_age(line.at, now)}") for line in before
        ]
        fields.append(Field(f"{approval.agent}, the last {HISTORY_DAYS} days"))
        fields.append(Field("", history_line(detail.context.history)))
        fields += [] if detail.trust is None else [Field("Trust", trust_text(detail.trust))]
    return fields + fields_for(REQUEST, about, now, "ids")


def _state_fields(disclosed: Disclosure, now: int, detail: RequestDetail | None) -> list[Field]:
    approval, word = disclosed.approval.at(now), request_state(disclosed, now)
    look = state(word)
    lines = decision_lines(approval, detail.context.decisions if detail else (), now)
    if approval.state in OPEN:
        left = short_span((approval.expires_at - now) / MICROSECONDS)
        late = lateness(approval.requested_at, approval.expires_at, now)
        due = f", due {when(approval.due_at, now)}" if word == Change.OVERDUE else ""
        text, tone = f"{word}: {late.replace(', lapses', f'{due}, lapses')}, then it counts as denied", ""
        if word == INVALID:
            text = f"{word}: it was approved, and does not run"
        elif approval.state is ApprovalState.APPROVED:
            runs = "" if approval.agent == RECOVERY_AGENT else f", when {approval.agent} repeats it"
            text, tone = f"{word}: runs once{runs}; {left} left. {REVOKES}", "ok"
        if look.tone == "danger":
            tone = "warn" if due else "danger"
        return [
            Field("State", revealed_line(text), tone=tone),
            *(Field("Decisions", line) for line in lines),
        ]
    return [Field("State", "; ".join([word, *lines]), tone=look.tone)]


def _argument_fields(disclosed: Disclosure, reveal: bool) -> list[Field]:
    """The arguments in full, but for those that the record has in full above."""
    heading, about = short_call(disclosed, reveal=reveal), object_argument(disclosed)
    if about is None and len(disclosed.arguments) == 1 and len(heading) <= SHORT_CALL:
        about = disclosed.arguments[0]
    above = (*ABOVE, TOOL) if disclosed.approval.tool_id.startswith(SHELL) else ()
    if about is not None and bare(about.text(reveal=reveal)) in heading:
        above = (*above, about.name)
    title = (
        "Arguments" if not disclosed.long else f"Arguments: {disclosed.size:,} characters, read all of them"
    )
    fields = [
        Field(f"{item.name} =", item.text(reveal=reveal), whole=True)
        for item in disclosed.arguments
        if item.name not in above
    ]
    return [Field(title), *fields] if fields else []


def grant_document(grant: Grant, now: int) -> list[Field]:
    """Everything that is known about a grant."""
    return [Field(f"{grant.tool_id}, for {grant.agent}"), *fields_for(GRANT, grant, now)]


REVOKES = "x among the decisions revokes it until then."
_OF_REVERSALS = "Its reversal has a line of its own in the Inbox: a approves and runs it."


def unapprovable(chosen: Sequence[Disclosure], opened: set[str]) -> str:
    """The reason why these cannot be approved now, in the console's words, or ""; the kernel refuses the same.

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
    about: Sequence[Disclosure] | Sequence[Grant],
    *,
    detail: RequestDetail | None = None,
    others: Sequence[str] = (),
) -> Question:
    """The question before these are approved, denied or revoked.

    Args:
        detail: what was read of the only one. others: the operators who could approve after this one.
    """
    count = len(about)
    asked = [item for item in about if isinstance(item, Disclosure)]
    hidden = any(item.hides for item in asked)
    facts: tuple[tuple[str, str], ...]
    objects: tuple[str, ...]
    revealed: tuple[str, ...]
    if count == 1:
        facts = tuple(_facts(about[0], detail))
        objects, revealed = ((_object(about[0], reveal),) for reveal in (False, True))
    else:
        asked = sorted(asked, key=gravity)
        several = batch(asked)
        facts, objects, revealed = several.common, several.lines, several.revealed
    if hidden:
        facts = (*facts, ("Hidden", _HIDDEN))
    noun = "request" if asked else "grant"
    return Question(
        f"{verb.capitalize()} {counted(count, noun)}" if count > 1 else verb.capitalize(),
        objects,
        facts,
        _consequence(verb, asked, count, others),
        tuple(_name(item) for item in (asked or about)),
        revealed=revealed if hidden else (),
        word=LEAKS
        if verb == "approve" and count == 1 and asked and request_effect(asked[0]) == LEAKS
        else "",
        does=_DOES[verb],
        tone="ok" if verb == "approve" else "danger",
    )


_DOES = {"approve": "approves", "deny": "denies", "revoke": "revokes"}
_HIDDEN = "secrets in data; S shows them in step 2"


def _object(item: Disclosure | Grant, reveal: bool) -> str:
    """The only record of a dialog, in full."""
    if isinstance(item, Grant):
        what = ", ".join(f"{name}={pattern}" for name, pattern in item.args.items()) or "any arguments"
        return f"{item.tool_id}: {what}"
    about = object_argument(item)
    shell = item.approval.tool_id.startswith(SHELL) and not item.long
    if shell and about is not None and len(about.text(reveal=reveal)) <= LONGEST_CALL:
        quiet = (*ABOVE, TOOL, about.name)  # they are facts below
        others = [
            f"{entry.name}={entry.text(reveal=reveal)}" for entry in item.arguments if entry.name not in quiet
        ]
        return BETWEEN.join([exact_object(item, reveal=reveal), *others])
    return call_text(item, reveal=reveal)


def _name(item: Disclosure | Grant) -> str:
    return item.id if isinstance(item, Grant) else item.approval.id


def _facts(item: Disclosure | Grant, detail: RequestDetail | None) -> list[tuple[str, str]]:
    """Of a grant or request alone, and the id."""
    return (
        facts_of(GRANT, item) if isinstance(item, Grant) else facts_of(REQUEST, Request(item, detail=detail))
    )


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
