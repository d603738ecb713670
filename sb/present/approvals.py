"""Approval requests and grants: the words for their state, and the cells of their lines."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sb.base.fitting import Cut, count
from sb.base.text import counted, revealed_line, shorten_middle
from sb.base.values.frozen import frozen
from sb.kernel.approvals.disclosure import LONGEST_UNOPENED, Argument, Disclosure
from sb.kernel.approvals.watching import Change, urgency
from sb.kernel.calls.approval import MONEY, OPEN, Approval, ApprovalState, Grant
from sb.kernel.review.agents import AgentRequests
from sb.kernel.review.needs import CallOrigin
from sb.kernel.review.request_context import Decided, RequestContext
from sb.kernel.review.runs import stated_intent
from sb.kernel.run_context import RECOVERY_AGENT
from sb.present.calls import ARGV, OBJECTS, call_object
from sb.present.effects import (
    BETWEEN,
    LONGEST_EFFECT,
    command_does,
    request_effect,
    request_effect_phrase,
    request_why,
    telling_words,
)
from sb.present.kind import NAMED, ROOMY, Cell, Column, Field, Kind
from sb.present.states import SOFT, State, state
from sb.present.times import date_and_time, lateness, left, when
from sb.present.usage import money_text

_LONGEST_EXACT = 48  # characters of a call in a list that nothing shortens
LONGEST_CALL = 400  # characters of a call that has to be opened to be read
INVALID = "invalid"  # approved, and the call would not run: what was signed, or by whom, counts no longer
_MARKS = ("\\", BETWEEN.strip())  # an escape, and what separates the parts of a line


@frozen
class RequestDetail:
    """Facts read for the request under the cursor alone.

    Args:
        undo: whether the call could be undone. trust: in its agent in general, None where no figure is on record.
    """

    number: int
    context: RequestContext
    undo: str
    trust: float | None = None


@frozen
class Request:
    """A request as it is shown: what would run, and what is known around it.

    Args:
        reveal: show hidden secrets too.
        exact: no other call reads the same, for a list that nothing shortens.
    """

    disclosed: Disclosure
    reveal: bool = False
    detail: RequestDetail | None = None
    exact: bool = False

    @property
    def approval(self) -> Approval:
        """The request as it is stored."""
        return self.disclosed.approval


def state_word(approval: Approval, now: int) -> str:
    """Its state; of one that waits, whether it is overdue or about to expire. `now` in microseconds."""
    if approval.state is not ApprovalState.WAITING:
        return str(approval.state)
    change = urgency(approval, now)
    return str(change) if change in (Change.OVERDUE, Change.EXPIRING) else str(approval.state)


def request_state(disclosed: Disclosure, now: int) -> str:
    """The same, and "invalid" of one whose approval does not count."""
    word = state_word(disclosed.approval.at(now), now)
    return INVALID if word == ApprovalState.APPROVED and disclosed.problem else word


def call_text(disclosed: Disclosure, *, reveal: bool = False) -> str:
    """The call on one line: whole where it fits, else its length and both ends."""
    if disclosed.long:
        return f"{disclosed.size:,} characters: {object_first(disclosed, LONGEST_CALL, reveal=reveal)}"
    return object_first(
        disclosed, 2 * LONGEST_UNOPENED, reveal=reveal
    )  # twice: names and separators are no arguments


def object_first(disclosed: Disclosure, limit: int, *, reveal: bool = False) -> str:
    """The call on one line: the command, file or address, then the other arguments, then the tool.

    A tool that takes none of these is shown as a function with its arguments.

    Args:
        limit: characters beyond which the object's middle is left out and the other arguments are counted.
    """
    about = object_argument(disclosed)
    if (
        about is None
    ):  # then its arguments say what it is about, and none of them is left out for a narrow list
        return disclosed.call(max(limit, LONGEST_CALL), reveal=reveal)
    others = [item for item in disclosed.arguments if item is not about]
    parts = [
        exact_object(disclosed, reveal=reveal),
        *(f"{other.name}={other.text(reveal=reveal)}" for other in others),
    ]
    if len(BETWEEN.join(parts)) > limit:
        parts = [shorten_middle(parts[0], limit), *_most_telling(disclosed, others)]
    return BETWEEN.join([*parts, revealed_line(disclosed.approval.tool_id)])


def _most_telling(disclosed: Disclosure, others: list[Argument]) -> list[str]:
    """The end of a narrow line: of a command line why it waits; else the number of other arguments."""
    why = request_why(disclosed) if command_does(disclosed) else ""
    more = [f"and {len(others)} more arguments" if len(others) > 1 else "and 1 more argument"]
    return [why] if why else more if others else []


def object_argument(disclosed: Disclosure) -> Argument | None:
    """The argument that says by itself what a call is about, if there is one."""
    return next(
        (item for name in (*OBJECTS, ARGV) for item in disclosed.arguments if item.name == name), None
    )


def exact_object(disclosed: Disclosure, *, reveal: bool = False) -> str:
    """That argument so that no other value reads the same, for who signs it; "" where there is none."""
    about = object_argument(disclosed)
    if about is None:
        return ""
    return _command_line(about, reveal) if about.name == ARGV else _unquoted(about, reveal)


def short_call(disclosed: Disclosure, *, reveal: bool = False) -> str:
    """The call as every list shows calls: its command, what it does with which file, or the tool with its values."""
    args = {item.name: _value(item.text(reveal=reveal)) for item in disclosed.arguments}
    return shorten_middle(call_object(disclosed.approval.tool_id, args), LONGEST_CALL)


def _value(text: str) -> Any:
    """The value that an argument's text stands for; of a hidden one what stands for it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _command_line(argument: Argument, reveal: bool) -> str:
    """A list of words as a shell would be given it; as JSON where its marks would be the line's own."""
    text = argument.text(reveal=reveal)
    words = _value(text)
    plain_words = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return shlex.join(words) if plain_words and not any(mark in text for mark in _MARKS) else text


def listed_call(disclosed: Disclosure, now: int, *, reveal: bool = False, limit: int = 0) -> str:
    """The same with how long it is, and whether it cannot be approved.

    Args:
        now: microseconds since the epoch. limit: characters of it as `object_first` has it; 0 for the call as lists show it.
    """
    blocked = disclosed.problem and disclosed.approval.at(now).state is ApprovalState.WAITING
    parts = ["cannot be approved"] if blocked else []
    parts += [f"{disclosed.size:,} characters"] if disclosed.long else []
    call = object_first(disclosed, limit, reveal=reveal) if limit else short_call(disclosed, reveal=reveal)
    return ": ".join([*parts, call])


def _unquoted(argument: Argument, reveal: bool) -> str:
    """A text without its quotes, unless it has escapes, or could then pass for more than one part of the line."""
    text = argument.text(reveal=reveal)
    bare = text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text
    simple = not any(mark in bare for mark in _MARKS) and bare == bare.strip()
    return bare if simple else text


def decided_sentence(disclosed: Disclosure) -> str:
    """One sentence: the decision, what happens next, and the request's id."""
    return f"{decided_text(disclosed)} ({disclosed.approval.id})"


def decided_text(disclosed: Disclosure, limit: int = LONGEST_CALL) -> str:
    """The same without the id.

    Args:
        limit: characters of the call.
    """
    approval = disclosed.approval
    call = shorten_middle(short_call(disclosed), limit)
    if approval.state is ApprovalState.WAITING:
        return f"Approved by {approval.decided_by}, one of {approval.needed} who must approve: {call}"
    if approval.state is ApprovalState.APPROVED:
        runs = (
            ""
            if approval.agent == RECOVERY_AGENT
            else f" Runs when {revealed_line(approval.agent)} repeats it."
        )
        return f"Approved: {call}.{runs}"
    words = {ApprovalState.DENIED: "Denied", ApprovalState.REVOKED: "Revoked"}
    return f"{words.get(approval.state, str(approval.state).capitalize())}: {call}"


def granted_sentence(grant: Grant) -> str:
    """One sentence: what a grant allows, or that it is over."""
    scope = f"in run {grant.run_id}" if grant.run_id else "in every run"
    word = "Granted" if grant.state == "active" else str(grant.state).capitalize()
    return f"{word}: {grant.tool_id} for {grant.agent} {scope} ({grant.id}); sb approvals grants lists it"


def decision_lines(approval: Approval, decisions: Sequence[Decided], now: int) -> list[str]:
    """Lines on a decision: by whom, when, why; under dual control who is missing. `now` in microseconds."""
    lines = [
        f"{decided.by} {decided.verb} it {when(decided.at, now)}"
        + (f": {decided.reason}" if decided.reason else "")
        for decided in decisions
    ]
    if approval.needed > 1 and approval.state is ApprovalState.WAITING:
        lines.append(f"{len(decisions)} of {approval.needed} approved; another operator has to approve too")
    return [revealed_line(line) for line in lines]


def history_line(history: AgentRequests) -> str:
    """One line: the outcomes of an agent's requests."""
    words = ((history.approved, "approved"), (history.denied, "denied"), (history.expired, "expired"))
    counts = [f"{count(number)} {word}" for number, word in words if number]
    return BETWEEN.join([f"{counted(history.asked, 'request')}", *counts])


def bare(text: str) -> str:
    """An argument's text without its quotes."""
    return text[1:-1] if text[:1] == text[-1:] == '"' else text


def argument(disclosed: Disclosure, name: str) -> str:
    """The text of the argument of that name; "" where there is none."""
    return next((bare(item.text()) for item in disclosed.arguments if item.name == name), "")


def _state(about: Request, now: int) -> State:
    return replace(state(request_state(about.disclosed, now)), badge=False)


def _open(about: Request, now: int) -> bool:
    return about.approval.at(now).state in OPEN


def _call(about: Request, now: int) -> Cell:
    text = listed_call(about.disclosed, now, reveal=about.reveal, limit=_LONGEST_EXACT * about.exact)
    return Cell(text, keeps=telling_words(text, request_why(about.disclosed)))


def _effect(about: Request, now: int) -> Cell:
    return Cell(request_effect(about.disclosed), "" if _open(about, now) else SOFT)


def _says(about: Request, now: int) -> str:
    says = stated_intent(str(about.approval.request.get("intent") or ""), about.approval.agent)
    return f'"{revealed_line(says)}"' if says else ""


def _where(about: Request, now: int) -> str:
    where = argument(about.disclosed, "cwd")
    origin = about.detail.context.origin if about.detail else CallOrigin()
    project = f"project {origin.project_name}" if origin.project_name and where != origin.project else ""
    return revealed_line(BETWEEN.join(filter(None, (where, project))))


def _needed(about: Request, now: int) -> str:
    return f"{about.approval.needed} approvals, by different operators" if about.approval.needed > 1 else ""


def _tool(about: Request, now: int) -> str:
    """The tool, how its host calls it, and its class."""
    host = argument(about.disclosed, "tool")
    name = BETWEEN.join(filter(None, (about.approval.tool_id, host)))
    return revealed_line(f"{name} ({about.approval.safety_class})")


def _contract(about: Request, now: int) -> str:
    status = about.approval.request.get("tool_contract_status", "unknown")
    return revealed_line(f"{about.approval.fingerprint}, since registration: {status}")


def _amount(about: Request, now: int) -> str:
    """The amount that the contract declares, with its unit."""
    given = about.approval.request.get(MONEY)
    money = given if isinstance(given, dict) else {}
    amount = money.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return ""
    named = argument(about.disclosed, "currency")
    unit = (
        f"(the call says {named}, its contract nothing)" if named else "(its contract declares no currency)"
    )
    return revealed_line(money_text(amount, str(money.get("currency") or "") or unit))


def _lateness(about: Request, now: int) -> str:
    """Since when it waits, and while it is open when it lapses."""
    ends_at = about.approval.expires_at if _open(about, now) else None
    return lateness(about.approval.requested_at, ends_at, now)


def _asked(about: Request, now: int) -> str:
    asked, due = about.approval.requested_at, about.approval.due_at
    return f"{date_and_time(asked)}, overdue from {date_and_time(due)}"


REQUEST = Kind[Request](
    Field("state", _state, Column(width=8)),
    Field("agent", lambda it, now: revealed_line(it.approval.agent), Column(11, NAMED, SOFT), "Agent"),
    Field("call", _call, Column(cut=Cut.MIDDLE)),
    Field("effect", _effect, Column(LONGEST_EFFECT, 50)),
    Field("when", _lateness),
    Field("why", lambda it, now: revealed_line(request_why(it.disclosed)), label="Why"),
    Field("does", lambda it, now: revealed_line(request_effect_phrase(it.disclosed)), label="Effect"),
    Field("amount", _amount, label="Amount"),
    Field("says", _says, label="Says"),
    Field("where", _where, label="Where"),
    Field("undo", lambda it, now: revealed_line(it.detail.undo) if it.detail else "", label="Undo"),
    Field("needs", _needed, label="Needs"),
    Field("request", lambda it, now: it.approval.id, folded=True),
    Field("tool", _tool, folded=True),
    Field("run", lambda it, now: revealed_line(it.approval.run_id), folded=True),
    Field(
        "session",
        lambda it, now: revealed_line(str(it.approval.request.get("session_id") or "")),
        folded=True,
    ),
    Field("contract", _contract, folded=True),
    Field("since", _asked, label="asked", folded=True),
    Field("expires", lambda it, now: date_and_time(it.approval.expires_at), folded=True),
    faces={
        "table": "state,agent,call,effect,when,request",
        "piped": "state,agent,call,when,request",
        "facts": "amount,why,does,says,where,agent,undo,needs",
        "ids": "request,tool,run,session,contract,since,expires",
        "dialog": "amount,why,does,says,where,agent,undo,needs,tool,request",
    },
    json={
        "id state agent tool_id fingerprint args_digest safety_class run_id call_id waiter decided_by reason": "string",
        "requested_at due_at expires_at": "time",
        "number needed": "integer",
        "decided_at": "time|null",
        "request": "object",
        "overdue": "boolean",
    },
    computed={"overdue": lambda it, now: it.approval.overdue(now)},
    stored=lambda it: it.approval,
)


def _arguments(grant: Grant, between: str, sign: str) -> str:
    return between.join(f"{name}{sign}{pattern}" for name, pattern in grant.args.items())


def _granted(grant: Grant, now: int) -> str:
    return f"by {grant.made_by}, {date_and_time(grant.made_at)}"


def _last_used(grant: Grant, now: int) -> str:
    if grant.last_used_at is None:
        return "not yet"
    return f"{counted(grant.uses, 'time')}, last {date_and_time(grant.last_used_at)}"


GRANT = Kind[Grant](
    Field("state", lambda it, now: state(it.at(now).state), Column(8), "State"),
    Field(
        "left",
        lambda it, now: left(it.expires_at, now) if it.at(now).state == "active" else "-",
        Column(4, tone=SOFT, right=True),
    ),
    Field("agent", lambda it, now: it.agent, Column(11, 40, SOFT)),
    Field("tool", lambda it, now: it.tool_id),
    Field("arguments", lambda it, now: _arguments(it, ", ", "=") or "any"),
    Field("calls", lambda it, now: f"{it.tool_id}  {_arguments(it, ', ', '=') or 'any'}"),
    Field("used", lambda it, now: str(it.uses)),
    Field("uses", lambda it, now: f"{it.uses} used", Column(8, 50, SOFT, right=True)),
    Field("run", lambda it, now: it.run_id or "every"),
    Field("by", lambda it, now: it.made_by, Column(10, ROOMY, SOFT)),
    Field("allows", lambda it, now: _arguments(it, "\n", " = ") or "any arguments", label="Allows"),
    Field("runs", lambda it, now: "one" if it.run_id else "every run", label="Runs"),
    Field("reason", lambda it, now: it.reason, label="Reason"),
    Field("granted", _granted, label="Granted"),
    Field("ends", lambda it, now: date_and_time(it.expires_at), label="Ends"),
    Field("last used", _last_used, label="Used"),
    Field("grant", lambda it, now: it.id, folded=True),
    Field("its run", lambda it, now: it.run_id, label="run", folded=True),
    Field("contract", lambda it, now: it.fingerprint, folded=True),
    faces={
        "table": "state,left,agent,tool,arguments,used,run,by,grant",
        "list": "state,calls,agent,uses,left,by",
        "plain": "grant,state,calls,agent,uses,left,by",
        "document": "state,allows,runs,reason,granted,ends,last used,grant,its run,contract",
        "dialog": "agent,used,grant",
    },
    json={
        "id state agent tool_id fingerprint run_id made_by reason": "string",
        "number uses": "integer",
        "args": {"*": "any"},
        "made_at expires_at": "time",
        "last_used_at": "time|null",
    },
)
