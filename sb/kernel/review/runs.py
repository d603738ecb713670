"""Runs on record, and how each ended.

A run is known by its first event, whose number never changes; everything else about it is read when it is shown.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from enum import StrEnum

from sb.base.values.frozen import frozen
from sb.kernel.review.claimed import last_claims
from sb.kernel.run_context import RECOVERY_AGENT
from sb.log.event import SEQ_MASK, Event
from sb.log.event_log import EventLog
from sb.log.kinds import RUN_FINISHED, RUN_STARTED, TOOL_DISPATCH
from sb.log.search import Clause, events_at


class RunState(StrEnum):
    OPEN = "open"
    FINISHED = "finished"
    FAILED = "failed"


@frozen
class Run:
    """One run as the log has it; times in microseconds since the epoch.

    Args:
        first: number of its first event.
        state: open until its end is on record, which a caller need not have marked; a later call opens it again.
        last_at: when it ended; while it is open, when its last event was written.
        error: what it ended with, if it failed.
        release: the id of what it was made of; "" where that was not recorded. drift: what of it was not as pinned.
        host, project, session: the program, project and session that it belongs to, as far as it said.
        disputed_claims: sentences of its last message that its calls do not support.
    """

    first: int
    run_id: str
    agent: str
    intent: str
    state: RunState
    error: str
    started_at: int
    last_at: int
    events: int
    host: str = ""
    project: str = ""
    session: str = ""
    release: str = ""
    drift: tuple[str, ...] = ()
    disputed_claims: tuple[str, ...] = ()


def run_field(name: str) -> str:
    """SQL for a field of a run's first event `e`; NULL once its payload was pruned."""
    return f"CASE WHEN json_valid(e.payload) THEN json_extract(e.payload, '$.{name}') END"


# SQL for what a run is filtered by, over its first event `e`.
RUN_FIELDS = {
    "agent": "e.agent",
    "run": "e.run_id",
    "host": run_field("host"),
    "project": run_field("project"),
    "session": run_field("session_id"),
    "intent": run_field("intent"),
}
EVERY_RUN: Clause = ("1", ())


_REVERSES = (
    f"kind = '{TOOL_DISPATCH}' AND json_valid(payload) AND json_extract(payload, '$.reverses') <> ''"
    " AND json_extract(payload, '$.phase') <> 'refused'"
)
_REVERSING = f"SELECT 1 FROM events WHERE run_id = e.run_id AND {_REVERSES}"
# Of the runs of recovery that began before a row, those that reversed something after it for the first time.
_REVERSED_SINCE = (
    "SELECT min(id) FROM events WHERE run_id IN (SELECT run_id FROM events AS e WHERE id > ? AND id <= ?"
    f" AND agent = '{RECOVERY_AGENT}' AND {_REVERSES} AND NOT EXISTS ({_REVERSING} AND id <= ?))"
    " GROUP BY run_id HAVING min(id) <= ?"
)


def project_name(project: str) -> str:
    """A project's folder without the path to it, whichever system's path that is."""
    return re.split(r"[/\\]", project.rstrip("/\\"))[-1] or project


def stated_intent(intent: str, host: str) -> str:
    """The stated intent of a run; "" where a host only names its session."""
    return "" if intent == f"{host} session" else intent


def first_events(
    log: EventLog, *, after: int = 0, wanted: Clause = EVERY_RUN, dry_runs: bool = True
) -> array[int]:
    """The number of each run's first event, newest run first.

    Args:
        after: only those with a higher number.
        wanted: only runs whose first event `e` fits.
        dry_runs: also those in which recovery looked at something and reversed nothing. Without them, one that began
            before `after` and reversed something since comes last.
    """
    low, high = log.first_id, log.first_id + SEQ_MASK
    condition, parameters = wanted
    if not dry_runs:
        condition = f"{condition} AND (agent <> '{RECOVERY_AGENT}' OR EXISTS ({_REVERSING}))"
    if after:  # few rows: look at those that may begin a run, rather than at all runs
        sql = (
            "SELECT e.id FROM events AS e WHERE e.id > ? AND e.id <= ? AND e.kind = ?"
            f" AND e.id = (SELECT min(id) FROM events WHERE run_id = e.run_id) AND {condition} ORDER BY e.id DESC"
        )
        rows = log.database.query(sql, (low + after, high, RUN_STARTED, *parameters))
        if not dry_runs:  # one that began before, and reversed something since
            since = (
                f"SELECT id FROM events AS e WHERE id IN ({_REVERSED_SINCE}) AND {condition} ORDER BY id DESC"
            )
            bounds = (low + after, high, low + after, low + after)
            rows += log.database.query(since, (*bounds, *parameters))
    else:
        sql = (
            "SELECT min(id) FROM events WHERE run_id <> '' GROUP BY run_id"
            " HAVING min(id) > ? AND min(id) <= ? ORDER BY 1 DESC"
        )
        if wanted != EVERY_RUN or not dry_runs:
            sql = f"SELECT id FROM events AS e WHERE id IN ({sql}) AND {condition} ORDER BY id DESC"
        rows = log.database.query(sql, (low, high, *parameters))
    return array("q", (row[0] - low for row in rows))


def first_event(log: EventLog, run_id: str) -> int | None:
    """The number of a run's first event; None when nothing of the run is on record."""
    (first,) = log.database.query("SELECT min(id) FROM events WHERE run_id = ?", (run_id,))[0]
    return None if first is None else int(first) - log.first_id


def runs_at(log: EventLog, firsts: Sequence[int]) -> dict[int, Run]:
    """The runs that begin with these events, by that event's number. For a screenful, not for all."""
    runs: dict[int, Run] = {}
    for first, event in events_at(log, firsts).items():
        run_id = event.subject.run_id
        count = log.database.query("SELECT count(*) FROM events WHERE run_id = ?", (run_id,))[0][0]
        last = _end(log, run_id)
        state, error = RunState.OPEN, ""
        if last is None:
            last = next(log.events(run_id=run_id, newest_first=True, limit=1), event)
        else:
            error = str((last.payload or {}).get("error", ""))
            state = RunState.FAILED if error else RunState.FINISHED
        payload = event.payload or {}
        intent = str(payload.get("intent", ""))
        host, project, session = (str(payload.get(name, "")) for name in ("host", "project", "session_id"))
        runs[first] = Run(
            first,
            run_id,
            event.subject.agent,
            intent,
            state,
            error,
            event.at,
            last.at,
            int(count),
            host,
            project,
            session,
            str(payload.get("release", "")),
            tuple(map(str, payload.get("release_drift") or ())),
            tuple(item.claim.sentence for item in last_claims(log, run_id) if item.is_disputed),
        )
    return runs


def _end(log: EventLog, run_id: str) -> Event | None:
    """The event that ended a run; None while it is open.

    Approvals, reversals and settled outcomes of its calls may follow. Only a call that began later opens it again.
    """
    end = next(log.events(run_id=run_id, kind=RUN_FINISHED, newest_first=True, limit=1), None)
    if end is None:
        return None
    began_later = log.database.query(
        "SELECT 1 FROM events AS e WHERE e.run_id = ? AND e.id > ? AND e.kind = ? AND NOT EXISTS"
        " (SELECT 1 FROM events WHERE run_id = e.run_id AND id < ? AND call_id = e.call_id) LIMIT 1",
        (run_id, log.first_id + end.seq, TOOL_DISPATCH, log.first_id + end.seq),
    )
    return None if began_later else end


def run_of(log: EventLog, run_id: str) -> Run | None:
    """The run with this id; None when nothing of it is on record."""
    first = first_event(log, run_id)
    return None if first is None else runs_at(log, [first]).get(first)
