"""Figures for a status line, read from the database alone: no log is opened, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sb.base.sources import micros
from sb.store import driver

BUSY_MS = 200  # a status line is drawn again soon
_EVENTS = 1_000
_CALLS = f"""SELECT count(DISTINCT CASE WHEN call_id GLOB 'call_*' THEN call_id END), count(*)
    FROM (SELECT call_id FROM events WHERE run_id = ? ORDER BY id DESC LIMIT {_EVENTS})"""
_WAITING = "SELECT count(*) FROM approvals WHERE state IN ('waiting', 'approved') AND state = 'waiting' AND expires_at > ?"
_MEMORIES = """SELECT count(*) FROM records WHERE state = 'active' AND place IN
    (SELECT id FROM places WHERE scope = ? AND owner = '')"""


class StatusFigures(NamedTuple):
    """Figures of one session.

    Args:
        calls: of the session; at least so many if `at_least`.
        waiting: approval requests of all sessions.
        memories: of the session's project, that every agent may read.
    """

    calls: int
    at_least: bool
    waiting: int
    memories: int


def status_figures(database: Path, run_id: str, scope: str, now: float) -> StatusFigures:
    """The figures of a session.

    Args:
        now: seconds since the epoch.

    Raises:
        StoreError: the database cannot be opened.
        driver.Error: it cannot be read.
    """
    connection = driver.connect(database, read_only=True, busy_ms=BUSY_MS)
    try:
        calls, events = connection.execute(_CALLS, (run_id,)).fetchone()
        (waiting,) = connection.execute(_WAITING, (micros(now),)).fetchone()
        (memories,) = connection.execute(_MEMORIES, (scope,)).fetchone()
    finally:
        connection.close()
    return StatusFigures(calls, events == _EVENTS, waiting, memories)
