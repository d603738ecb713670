"""Calls of runs: each once, with how it ended, whichever events it left.

A call is known by its first event: the one that announced it, refused it, or reported it with its arguments.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sb.base.values.frozen import frozen
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.approval import Approval
from sb.kernel.review.activity import ASKS, REFUSES
from sb.kernel.run_context import RECOVERY_AGENT, SUBAGENT
from sb.log.event import EVENT_COLUMNS, SEQ_MASK, Event
from sb.log.event_log import EventLog
from sb.log.kinds import (
    APPROVAL_APPROVED,
    APPROVAL_DENIED,
    APPROVAL_REVOKED,
    AUTONOMY_EVALUATED,
    AUTONOMY_FROZEN,
    AUTONOMY_RAISED,
    AUTONOMY_UNFROZEN,
    BASELINE_CHANGED,
    BUDGET_EXCEEDED,
    GRANT_MADE,
    GRANT_REVOKED,
    INCIDENT_CLOSED,
    INCIDENT_OPENED,
    KILL_LIFTED,
    KILL_THROWN,
    MEMORY_DECIDED,
    OPERATOR_CHANGED,
    OUTCOME_JUDGED,
    RECOVERY_DISMISSED,
    RECOVERY_PURGED,
    RECOVERY_SETTLED,
    SESSION_TURN,
    TOOL_DISPATCH,
    TOOL_POLICY_BLOCKED,
    WORKFLOW_SETTLED,
)
from sb.log.search import LogFilter, Step, events_at, search

SOON = 500  # rows of the log within which most calls end
_BEGINS = (
    f"kind IN ('{TOOL_DISPATCH}', '{TOOL_POLICY_BLOCKED}', '{BUDGET_EXCEEDED}') AND json_valid(payload)"
    " AND (json_extract(payload, '$.phase') IN ('intent', 'refused')"
    " OR (json_extract(payload, '$.phase') = 'outcome' AND json_type(payload, '$.args') IS NOT NULL))"
)
REFUSED = (  # SQL for an event of a call that a rule, a limit or a stop refused
    "coalesce(json_valid(payload) AND json_extract(payload, '$.phase') = 'refused'"
    f" AND json_extract(payload, '$.rule') IS NOT '{ASKS}' AND json_extract(payload, '$.code') IN {REFUSES}, 0)"
)

DECIDED = (
    APPROVAL_APPROVED,
    APPROVAL_DENIED,
    APPROVAL_REVOKED,
    GRANT_MADE,
    GRANT_REVOKED,
    BASELINE_CHANGED,
    RECOVERY_DISMISSED,
    RECOVERY_SETTLED,
    RECOVERY_PURGED,
    WORKFLOW_SETTLED,
    KILL_THROWN,
    KILL_LIFTED,
    OPERATOR_CHANGED,
    INCIDENT_OPENED,
    INCIDENT_CLOSED,
    AUTONOMY_RAISED,
    AUTONOMY_FROZEN,
    AUTONOMY_UNFROZEN,
    AUTONOMY_EVALUATED,
    OUTCOME_JUDGED,
    *MEMORY_DECIDED.values(),
)


class CallFilter(LogFilter):
    """Filter on the first event of a call; recovery's own looks are left out."""

    ALWAYS: ClassVar[str] = f"{_BEGINS} AND agent <> '{RECOVERY_AGENT}'"


class ChangeFilter(LogFilter):
    """Filter on outcomes of calls that left an undo record, with a way back or without one."""

    ALWAYS: ClassVar[str] = "id IN (SELECT id FROM mutations)"


class UndoableFilter(ChangeFilter):
    """Filter on outcomes of calls that have a way back, whether or not it was taken."""

    ALWAYS = f"{ChangeFilter.ALWAYS} AND coalesce(json_valid(payload) AND json_extract(payload, '$.no_way_back'), 0) = 0"


class DecisionFilter(LogFilter):
    """Filter on what people decided: requests, grants, contracts, reversals, stops, operators and incidents."""

    ALWAYS = f"kind IN {DECIDED}"


class RefusedFilter(LogFilter):
    """Filter on events of calls that were refused or have an unknown outcome."""

    ALWAYS = (
        f"({REFUSED} OR (kind = '{TOOL_DISPATCH}' AND json_valid(payload) AND 'in_doubt' IN"
        " (json_extract(payload, '$.phase'), json_extract(payload, '$.state'))))"
    )


def next_refused(log: EventLog, wanted: RefusedFilter, seq: int, *, newer: bool = False) -> int | None:
    """The number of the nearest event that fits, before an event or after it; None if there is none.

    Args:
        newer: look among the later events, which are all looked through.
    """
    newest, after = (log.head().seq, seq) if newer else (seq - 1, 0)
    found: int | None = None
    for step in search(log, wanted, newest=newest, after=after):
        if step.seqs and not newer:
            return step.seqs[0]
        found = step.seqs[-1] if step.seqs else found
    return found


@frozen
class CallRecord:
    """One call.

    Args:
        first: the number of its first event, by which it is known.
        args: as the log has them, masked; None where it has none.
        last: its newest event, which says how it stands.
        took_ms: None while it has not ended, or where that was not reported.
        subagent: the subagent that made it, or "".
        request: of a call that needs approval its request, as it counts now.
    """

    first: int
    call_id: str
    run_id: str
    agent: str
    tool_id: str
    at: int
    args: Any
    last: Event
    took_ms: float | None
    subagent: str = ""
    request: Approval | None = None

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of its newest event."""
        return self.last.payload or {}

    @property
    def in_doubt(self) -> bool:
        """True if its outcome is unknown."""
        return "in_doubt" in (self.payload.get("phase"), self.payload.get("state"))

    @property
    def undo_record(self) -> str:
        """The id of what can reverse it; "" for nothing."""
        return "" if self.payload.get("no_way_back") else str(self.payload.get("mutation") or "")


def all_calls(log: EventLog, wanted: CallFilter, *, newest: int, after: int = 0) -> Iterator[Step]:
    """The first events of calls, newest first, step by step as in `search`."""
    return search(log, wanted, newest=newest, after=after)


def run_calls(log: EventLog, run_id: str, *, after: int = 0, before: int = 0, limit: int = 0) -> array[int]:
    """The numbers of the first events of a run's calls, newest first.

    Args:
        after, before: only those with a higher or a lower number; 0 for all.
        limit: at most so many; 0 for all.
    """
    rows = log.database.query(
        f"SELECT id FROM events WHERE run_id = ? AND id > ? AND id < ? AND {_BEGINS} ORDER BY id DESC LIMIT ?",
        (run_id, log.first_id + after, log.first_id + (before or SEQ_MASK + 1), limit or -1),
    )
    return array("q", (row[0] - log.first_id for row in rows))


@frozen
class Turn:
    """The calls between two messages of a session's user.

    Args:
        number: counts the messages from 1; 0 before the first one, and in runs that have none.
        at: when it began, in microseconds since the epoch. calls: the numbers of their first events, newest first.
        refused: how many of them were.
    """

    number: int
    at: int
    calls: array[int]
    refused: int


def run_turns(log: EventLog, run_id: str) -> list[Turn]:
    """The turns of a run, newest first; those without calls are left out."""
    rows = log.database.query(
        f"SELECT id, at, kind, {REFUSED} FROM events WHERE run_id = ? AND (kind = '{SESSION_TURN}' OR {_BEGINS}) ORDER BY id",
        (run_id,),
    )
    turns: list[Turn] = []
    number, at, calls, refused = 0, 0, array("q"), 0
    for row_id, when, kind, is_refused in (*rows, (0, 0, SESSION_TURN, 0)):
        if kind == SESSION_TURN:
            if calls:
                turns.append(Turn(number, at, calls[::-1], refused))
            number, at, calls, refused = number + 1, when, array("q"), 0
        else:
            at = at or when
            calls.append(row_id - log.first_id)
            refused += is_refused
    return turns[::-1]


def calls_at(log: EventLog, firsts: Sequence[int]) -> dict[int, CallRecord]:
    """The calls that begin with these events, by that event's number. For a screenful, not for all."""
    begun = {seq: _begun(event) for seq, event in events_at(log, firsts).items()}
    _continue(log, begun, within=SOON)
    open_ones = {
        seq: record for seq, record in begun.items() if record.payload.get("phase") in ("intent", "in_doubt")
    }
    _continue(log, open_ones)
    found = begun | open_ones
    requests = _requests(log, [record for record in found.values() if record.payload.get("rule") == ASKS])
    return {seq: replace(record, request=requests.get(seq)) for seq, record in found.items()}


def _requests(log: EventLog, calls: Sequence[CallRecord]) -> dict[int, Approval]:
    """The requests of calls that need approval, by the calls' numbers: of the same call the newest made until then."""
    if not calls:
        return {}
    digests = sorted({_same_call(record) for record in calls})
    rows = log.database.query(
        "SELECT number, args_digest, agent, tool_id, event_id FROM approvals"
        f" WHERE args_digest IN ({', '.join('?' * len(digests))}) ORDER BY number",
        tuple(digest for digest, _, _ in digests),
    )
    numbers = {
        record.first: number
        for number, *same, event_id in rows
        for record in calls
        if tuple(same) == _same_call(record) and event_id < log.first_id + record.first
    }
    found = ApprovalQueue(log).numbered(sorted(set(numbers.values())))
    return {seq: found[number] for seq, number in numbers.items() if number in found}


def _same_call(call: CallRecord) -> tuple[str, str, str]:
    """The key that calls of one request share."""
    return str(call.payload.get("args_digest", "")), call.agent, call.tool_id


def _continue(log: EventLog, calls: dict[int, CallRecord], *, within: int = 0) -> None:
    """Bring calls up to their newest events.

    Args:
        within: look only at so many rows of the log after the youngest call; 0 for all.
    """
    by_call = {(record.run_id, record.call_id): seq for seq, record in calls.items()}
    for event in _later(log, list(calls.values()), within):
        seq = by_call.get((event.subject.run_id, event.subject.call_id))
        if seq is not None and event.seq > calls[seq].last.seq:
            calls[seq] = _continued(calls[seq], event)


def _begun(event: Event) -> CallRecord:
    payload, subject = event.payload or {}, event.subject
    return CallRecord(
        event.seq,
        subject.call_id,
        subject.run_id,
        subject.agent,
        subject.tool_id,
        event.at,
        payload.get("args"),
        event,
        payload.get("latency_ms"),
        str(payload.get(SUBAGENT, "")),
    )


def _continued(call: CallRecord, event: Event) -> CallRecord:
    """The call with a later event of it; events of people about it do not say how it ended."""
    if event.kind != TOOL_DISPATCH:
        return call
    took = (event.payload or {}).get("latency_ms", call.took_ms)
    return replace(call, last=event, took_ms=took)


def _later(log: EventLog, calls: Sequence[CallRecord], within: int) -> Iterator[Event]:
    """The events after the first ones of these calls, oldest first, run by run."""
    by_run: dict[str, list[CallRecord]] = {}
    for call in calls:
        by_run.setdefault(call.run_id, []).append(call)
    for run_id, found in by_run.items():
        marks = ", ".join("?" * len(found))
        first = log.first_id + min(record.first for record in found)
        last = log.first_id + (max(record.first for record in found) + within if within else SEQ_MASK)
        rows = log.database.query(
            f"SELECT {EVENT_COLUMNS} FROM events WHERE run_id = ? AND id > ? AND id <= ? AND call_id IN ({marks})"
            " ORDER BY id",
            (run_id, first, last, *(record.call_id for record in found)),
        )
        yield from map(log.event, rows)
