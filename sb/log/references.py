"""Ids of what the log's database holds, by an unambiguous prefix."""

from __future__ import annotations

from collections.abc import Collection

from sb.base.text import plain
from sb.base.values.references import full_one, is_prefix
from sb.errors import NotFoundError
from sb.log.event_log import EventLog
from sb.store.database import Database

_MOST_READ = 8  # ids that begin alike: more than are named as ambiguous
_LATEST = 50_000  # events
_LAST = "\U0010ffff"  # sorts after whatever may follow a prefix
# The kind of an id, and the columns that hold such ids.
_COLUMNS = {
    "apr": (("approvals", "id"),),
    "grant": (("grants", "id"),),
    "esc": (("escalations", "id"),),
    "run": (("events", "run_id"),),
    "call": (("intents", "call_id"), ("events", "call_id")),
}


def full_id(database: Database, reference: str) -> str:
    """The id of a request, grant, escalation, run or call that begins with the reference; unchanged if none does.

    Raises:
        UsageError: several begin with it.
    """
    found = beginning_with(database, reference)
    return full_one(reference, found) if found else reference


def beginning_with(database: Database, reference: str) -> list[str]:
    """The ids that begin with the reference, a few at most; none for one that is too short."""
    if not is_prefix(reference):
        return []
    for table, column in _COLUMNS.get(reference.partition("_")[0], ()):
        sql = f"SELECT DISTINCT {column} FROM {table} WHERE {column} >= ? AND {column} < ? LIMIT +?"
        found = [row[0] for row in database.query(sql, (reference, reference + _LAST, _MOST_READ))]
        if found:
            return found
    return []


def tools_of_calls(database: Database, calls: Collection[str]) -> dict[str, str]:
    """The tools of these calls, as far as the latest `_LATEST` events tell of them.

    No index leads from a call to its events: one would cost each call more than the few questions are worth.
    """
    if not calls:
        return {}
    marks = ", ".join("?" * len(calls))
    rows = database.query(
        "SELECT DISTINCT call_id, tool_id FROM events WHERE id > (SELECT coalesce(max(id), 0) FROM events) - ?"
        f" AND call_id IN ({marks}) AND tool_id <> ''",
        (_LATEST, *calls),
    )
    return dict(rows)


def known_run(log: EventLog, reference: str) -> str:
    """The run that is meant; "" for none named.

    Raises:
        NotFoundError: nothing of such a run is in the log. UsageError: several begin with it.
    """
    run_id = full_id(log.database, reference)
    if run_id and not log.database.query("SELECT 1 FROM events WHERE run_id = ? LIMIT 1", (run_id,)):
        shown = plain(reference, one_line=True)
        raise NotFoundError(f"no run {shown!r} in the log", "sb console --plain runs lists them")
    return run_id
