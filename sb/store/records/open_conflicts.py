"""Open conflicts of a database: between copies of a record, and between records that exclude each other."""

from __future__ import annotations

from typing import NamedTuple

from sb.store.database import Database

_OPEN = (
    "SELECT id, record, NULL, peer, at FROM sync_conflicts WHERE resolution = ''"
    " UNION ALL SELECT c.uid, later.record, earlier.record, c.opened_by, c.at FROM contradictions AS c"
    " JOIN claims AS later ON later.id = c.later JOIN claims AS earlier ON earlier.id = c.earlier"
    " WHERE c.status = 'open' AND later.record IS NOT NULL ORDER BY at DESC, id"
)


class ConflictRow(NamedTuple):
    """One open conflict.

    Args:
        record: the record that it is about, of two the newer one. other: the older one; None where it is a copy's.
        opened_by: the agent whose record opened it, or the other database.
    """

    uid: str
    record: int
    other: int | None
    opened_by: str
    at: float


def open_conflict_rows(database: Database) -> list[ConflictRow]:
    """All open conflicts, the newest first."""
    return [ConflictRow(*row) for row in database.query(_OPEN)]
