"""Find records by the beginning of an id, or by words: requests, calls, runs, agents, memories."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from sb.base.fitting import relative_age
from sb.base.sources import MICROSECONDS
from sb.base.text import plain
from sb.base.values.frozen import frozen
from sb.base.values.references import is_prefix
from sb.errors import NotFoundError
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.approval import OPEN, Approval
from sb.kernel.recovery_loop.escalations import Escalations
from sb.kernel.review.calls import CallFilter, CallRecord, all_calls, calls_at, run_calls
from sb.kernel.review.host_sessions import connected_agents
from sb.kernel.review.runs import run_of
from sb.log.event_log import EventLog
from sb.log.references import beginning_with
from sb.memory.ranking.terms import words
from sb.present.approvals import short_call, state_word
from sb.present.events import call_line
from sb.present.memories import matched_text
from sb.present.memories import state_word as memory_state
from sb.present.runs import run_state
from sb.present.states import State, state
from sb.store.index.full_text import WordIndex
from sb.store.records.columns import Row
from sb.store.records.store import RecordStore

MOST_STEPS = 3  # of the log, from its newest row on
_LAST = "\U0010ffff"  # sorts after whatever may follow a prefix


@frozen
class FoundRecord:
    """One record.

    Args:
        kind: request, reversal, call, run, agent or memory.
        reference: the id under which its screen finds it; of an agent, its newest run.
    """

    kind: str
    reference: str
    text: str
    state: State
    age: str


def find_records(log: EventLog, text: str, *, most: int = 5) -> list[FoundRecord]:
    """Records that an id or words name.

    Args:
        most: of each kind.
    """
    now, text = int(log.clock.now() * MICROSECONDS), text.strip()
    if not text:
        return []
    if is_prefix(text):
        named = [*_by_id(log, text, now), *_memories_by_id(log, text, now)]
        if named:
            return named
    return [
        *_requests(log, text, now, most),
        *_agents(log, text, now, most),
        *_calls(log, text, now, most),
        *_memories(log, text, now, most),
    ]


def _by_id(log: EventLog, reference: str, now: int) -> Iterator[FoundRecord]:
    for name in beginning_with(log.database, reference):
        found = _named(log, name, now)
        if found is not None:
            yield found


def _named(log: EventLog, name: str, now: int) -> FoundRecord | None:
    """The record of an id; None for one that has gone, or a grant."""
    kind = name.partition("_")[0]
    try:
        if kind == "apr":
            return _request(log, ApprovalQueue(log).get(name), now)
        if kind == "esc":
            one = Escalations(log).get(name)
            age = relative_age(one.opened_at, now)
            return FoundRecord(
                "reversal", name, plain(one.why or one.cause, one_line=True), state("reversal"), age
            )
    except NotFoundError:
        return None
    if kind == "run":
        run = run_of(log, name)
        if run is None:
            return None
        text = plain(" ".join(filter(None, (run.agent, run.intent))), one_line=True)
        return FoundRecord("run", name, text, run_state(run), relative_age(run.last_at, now))
    return _call(log, name, now) if kind == "call" else None


def _call(log: EventLog, name: str, now: int) -> FoundRecord | None:
    event = next(log.events(call_id=name, limit=1), None)
    if event is None:
        return None
    firsts = run_calls(log, event.subject.run_id, after=event.seq - 1, before=event.seq + 1)
    return next((_call_record(one, now) for one in calls_at(log, firsts).values()), None)


def _call_record(call: CallRecord, now: int) -> FoundRecord:
    line = call_line(call)
    return FoundRecord("call", call.call_id, line.object, line.verdict, relative_age(call.at, now))


def _request(log: EventLog, approval: Approval, now: int) -> FoundRecord:
    text = short_call(ApprovalQueue(log).disclose(approval))
    age = relative_age(approval.requested_at, now)
    return FoundRecord("request", approval.id, text, state(state_word(approval, now)), age)


def _requests(log: EventLog, text: str, now: int, most: int) -> Iterator[FoundRecord]:
    for approval in ApprovalQueue(log).page(states=OPEN, words=text, limit=most):
        yield _request(log, approval, now)


def _agents(log: EventLog, text: str, now: int, most: int) -> Iterator[FoundRecord]:
    fitting = (
        one for one in connected_agents(log) if text.lower() in f"{one.agent} {one.project_name}".lower()
    )
    for one in islice(fitting, most):
        name = plain(f"{one.agent} {one.project_name}", one_line=True)
        yield FoundRecord("agent", one.run_id, name, State(""), relative_age(one.last_seen_at, now))


def _calls(log: EventLog, text: str, now: int, most: int) -> Iterator[FoundRecord]:
    """Among the newest rows of the log; the Log screen looks through all of them."""
    steps = all_calls(log, CallFilter.parse(text), newest=log.head().seq)
    firsts = [first for step in islice(steps, MOST_STEPS) for first in step.seqs][:most]
    found = calls_at(log, firsts)
    yield from (_call_record(found[first], now) for first in firsts if first in found)


def _memories_by_id(log: EventLog, reference: str, now: int) -> Iterator[FoundRecord]:
    where = "r.uid >= ? AND r.uid < ?"
    for row in RecordStore(log.database).select(where, (reference, reference + _LAST), limit=8):
        yield _memory(row, [], now)


def _memories(log: EventLog, text: str, now: int, most: int) -> Iterator[FoundRecord]:
    begun = [part for word in text.split() for part in words(word)]
    if not begun:
        return
    expression = "body : (" + " AND ".join(f'"{part}" *' for part in begun) + ")"
    numbers = WordIndex(log.database).newest(expression, most, where="r.state <> 'quarantined'")
    for row in sorted(RecordStore(log.database).rows(numbers), key=lambda row: -row["id"]):
        yield _memory(row, text.split(), now)


def _memory(row: Row, typed: list[str], now: int) -> FoundRecord:
    age = relative_age(int(row["created_at"] * MICROSECONDS), now)
    return FoundRecord("memory", row["uid"], matched_text(row, typed).text, state(memory_state(row)), age)
