"""Approval requests and grants: the words for their state, and the cells of their lines."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from sb.fitting import count, short_span
from sb.frozen import frozen
from sb.kernel.approvals.disclosure import LONGEST_UNOPENED, Argument, Disclosure
from sb.kernel.approvals.watching import Change, urgency
from sb.kernel.calls.approval import OPEN, Approval, ApprovalState, Grant
from sb.kernel.review.agents import AgentRequests
from sb.kernel.review.request_context import Decided
from sb.kernel.run_context import RECOVERY_AGENT
from sb.present.calls import ARGV, OBJECTS, call_object
from sb.present.effects import BETWEEN, command_does, request_effect, request_why
from sb.present.times import ago, left, when
from sb.sources import MICROSECONDS
from sb.text import counted, revealed_line, shorten_middle

LONGEST_CALL = 400  # characters of a call that has to be opened to be read
INVALID = "invalid"  # approved, and the call would not run: what was signed, or by whom, counts no longer
_MARKS = ("\\", BETWEEN.strip())  # an escape, and what separates the parts of a line


@frozen
class RequestLine:
    """One request, cell by cell.

    Args:
        left: until it expires. asked: how long ago.
        call: with its arguments. object: its command, file or address alone. effect: what it does, in a word.
    """

    id: str
    state: str
    left: str
    agent: str
    risk: str
    asked: str
    call: str
    object: str
    effect: str


@frozen
class GrantLine:
    """One grant, cell by cell."""

    id: str
    state: str
    left: str
    agent: str
    tool: str
    used: str
    run: str
    made_by: str
    arguments: str


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


def late_by(approval: Approval, now: int) -> str:
    """By how much an overdue request is late, such as 54m; "" for others, and where only its process has ended."""
    late = state_word(approval, now) == Change.OVERDUE and approval.due_at < now
    return short_span((now - approval.due_at) / MICROSECONDS) if late else ""


def call_text(disclosed: Disclosure, *, reveal: bool = False, limit: int = 0) -> str:
    """The call on one line: whole where it fits, else its length and both ends.

    Args:
        limit: characters of it in a narrow table; 0 for a list that cuts its own cells.
    """
    if limit:
        return object_first(disclosed, limit, reveal=reveal)
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
    if about is None:
        return disclosed.call(limit, reveal=reveal)
    others = [one for one in disclosed.arguments if one is not about]
    parts = [
        exact_object(disclosed, reveal=reveal),
        *(f"{one.name}={one.text(reveal=reveal)}" for one in others),
    ]
    if len(BETWEEN.join(parts)) > limit:
        parts = [shorten_middle(parts[0], limit), *_most_telling(disclosed, others)]
    return BETWEEN.join([*parts, revealed_line(disclosed.approval.tool_id)])


def _most_telling(disclosed: Disclosure, others: list[Argument]) -> list[str]:
    """What a narrow line says after the object: of a command line why it waits; else how many more."""
    why = request_why(disclosed) if command_does(disclosed) else ""
    more = [f"and {len(others)} more arguments" if len(others) > 1 else "and 1 more argument"]
    return [why] if why else more if others else []


def object_argument(disclosed: Disclosure) -> Argument | None:
    """The argument that says by itself what a call is about, if there is one."""
    return next((one for name in (*OBJECTS, ARGV) for one in disclosed.arguments if one.name == name), None)


def exact_object(disclosed: Disclosure, *, reveal: bool = False) -> str:
    """That argument so that no other value reads the same, for who signs it; "" where there is none."""
    about = object_argument(disclosed)
    if about is None:
        return ""
    return _command_line(about, reveal) if about.name == ARGV else _unquoted(about, reveal)


def short_call(disclosed: Disclosure, *, reveal: bool = False) -> str:
    """The call as every list shows calls: its command, what it does with which file, or the tool with its values."""
    args = {one.name: _value(one.text(reveal=reveal)) for one in disclosed.arguments}
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


def listed_call(disclosed: Disclosure, now: int, *, reveal: bool = False) -> str:
    """The same with how long it is, and whether it cannot be approved. `now` in microseconds since the epoch."""
    blocked = disclosed.problem and disclosed.approval.at(now).state is ApprovalState.WAITING
    parts = ["cannot be approved"] if blocked else []
    parts += [f"{disclosed.size:,} characters"] if disclosed.long else []
    return ": ".join([*parts, short_call(disclosed, reveal=reveal)])


def _unquoted(argument: Argument, reveal: bool) -> str:
    """A text without its quotes, unless it has escapes, or could then pass for more than one part of the line."""
    text = argument.text(reveal=reveal)
    bare = text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text
    simple = not any(mark in bare for mark in _MARKS) and bare == bare.strip()
    return bare if simple else text


def request_line(disclosed: Disclosure, now: int, *, reveal: bool = False, limit: int = 0) -> RequestLine:
    """A request as lists show it; `now` in microseconds."""
    approval = disclosed.approval.at(now)
    blocked = "cannot be approved: " if disclosed.problem and approval.state is ApprovalState.WAITING else ""
    return RequestLine(
        approval.id,
        request_state(disclosed, now),
        left(approval.expires_at, now) if approval.state in OPEN else "-",
        revealed_line(approval.agent),
        approval.safety_class + (f" x{approval.needed}" if approval.needed > 1 else ""),
        ago(approval.requested_at, now),
        blocked + call_text(disclosed, reveal=reveal, limit=limit),
        blocked + short_call(disclosed),
        request_effect(disclosed),
    )


def grant_line(grant: Grant, now: int) -> GrantLine:
    """A grant as lists show it; `now` in microseconds."""
    grant = grant.at(now)
    cells = (
        grant.id,
        grant.state,
        left(grant.expires_at, now) if grant.state == "active" else "-",
        grant.agent,
        grant.tool_id,
        str(grant.uses),
        grant.run_id or "every",
        grant.made_by,
        ", ".join(f"{name}={pattern}" for name, pattern in grant.args.items()) or "any",
    )
    return GrantLine(*map(revealed_line, cells))


def decided_sentence(disclosed: Disclosure) -> str:
    """What a decision means for the call, and what happens next, with the request's id."""
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
    """What a grant allows, or that it is over."""
    scope = f"in run {grant.run_id}" if grant.run_id else "in every run"
    word = "Granted" if grant.state == "active" else str(grant.state).capitalize()
    return f"{word}: {grant.tool_id} for {grant.agent} {scope} ({grant.id}); sb approvals grants lists it"


def decision_lines(approval: Approval, decisions: Sequence[Decided], now: int) -> list[str]:
    """Who decided, when and why; of dual control who has to, too. `now` in microseconds since the epoch."""
    lines = [
        f"{one.by} {one.verb} it {when(one.at, now)}" + (f": {one.reason}" if one.reason else "")
        for one in decisions
    ]
    if approval.needed > 1 and approval.state is ApprovalState.WAITING:
        lines.append(f"{len(decisions)} of {approval.needed} approved; another operator has to approve too")
    return [revealed_line(line) for line in lines]


def history_line(history: AgentRequests) -> str:
    """What became of an agent's requests."""
    words = ((history.approved, "approved"), (history.denied, "denied"), (history.expired, "expired"))
    counts = [f"{count(number)} {word}" for number, word in words if number]
    return BETWEEN.join([f"{counted(history.asked, 'request')}", *counts])
