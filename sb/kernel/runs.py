"""Which runs are on record, and what became of each?

A run is known by its first event, whose number never changes; everything else about it is read when it is shown.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sb.decisions.namespace import RUN_FINISHED, RUN_STARTED
from sb.kernel.log_search import events_at
from sb.state import SEQ_MASK, EventLog


class RunState(StrEnum):
    OPEN = "open"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True)
class Run:
    """One run as the log has it; times in microseconds since the epoch.

    Args:
        first: number of its first event.
        state: open until its end is on record, which a caller need not have marked.
        error: what it ended with, if it failed.
        host, project, session: the program, project and session that it belongs to, as far as it said.
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


def first_events(log: EventLog, *, after: int = 0) -> array[int]:
    """The number of each run's first event, newest run first.

    Args:
        after: only those with a higher number.
    """
    low, high = log.first_id, log.first_id + SEQ_MASK
    if after:  # few rows: look at those that may begin a run, rather than at all runs
        sql = (
            "SELECT e.id FROM events AS e WHERE e.id > ? AND e.id <= ? AND e.kind = ?"
            " AND e.id = (SELECT min(id) FROM events WHERE run_id = e.run_id) ORDER BY e.id DESC"
        )
        rows = log.database.query(sql, (low + after, high, RUN_STARTED))
    else:
        sql = (
            "SELECT min(id) FROM events WHERE run_id <> '' GROUP BY run_id"
            " HAVING min(id) > ? AND min(id) <= ? ORDER BY 1 DESC"
        )
        rows = log.database.query(sql, (low, high))
    return array("q", (row[0] - low for row in rows))


def runs_at(log: EventLog, firsts: Sequence[int]) -> dict[int, Run]:
    """The runs that begin with these events, by that event's number. For a screenful, not for all."""
    runs: dict[int, Run] = {}
    for first, event in events_at(log, firsts).items():
        run_id = event.subject.run_id
        count = log.database.query("SELECT count(*) FROM events WHERE run_id = ?", (run_id,))[0][0]
        last = next(log.events(run_id=run_id, newest_first=True, limit=1), event)
        state, error = RunState.OPEN, ""
        if last.kind == RUN_FINISHED:
            error = str((last.payload or {}).get("error", ""))
            state = RunState.FAILED if error else RunState.FINISHED
        said = event.payload or {}
        intent = str(said.get("intent", ""))
        where = [str(said.get(name, "")) for name in ("host", "project", "session_id")]
        runs[first] = Run(
            first, run_id, event.subject.agent, intent, state, error, event.at, last.at, int(count), *where
        )
    return runs


def run_events(log: EventLog, run_id: str, *, after: int = 0) -> array[int]:
    """The numbers of a run's events, newest first.

    Args:
        after: only those with a higher number.
    """
    sql = "SELECT id FROM events WHERE run_id = ? AND id > ? ORDER BY id DESC"
    rows = log.database.query(sql, (run_id, log.first_id + after))
    return array("q", (row[0] - log.first_id for row in rows))
