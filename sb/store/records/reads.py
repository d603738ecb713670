"""What reached an agent's context, and when? Reads append here and never change a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sb.store.database import Database
from sb.store.records.places import Execute

_FOLDED = "reads_folded"  # the last broadcast whose reads are in record_stats


class ReadLog:
    """The broadcasts of one database, and how often each record was in one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(
        self,
        execute: Execute,
        operation: str,
        query: str,
        hits: Sequence[tuple[int, float]],
        *,
        at: float,
        agent: str,
        session: int | None,
        tokens: int,
    ) -> int:
        """Keep that these records were handed to an agent; returns the broadcast's number.

        Args:
            hits: numbers of records and their scores. tokens: what they took of the reader's budget.
        """
        cursor = execute(
            "INSERT INTO broadcasts (at, agent, session, operation, query, tokens) VALUES (?, ?, ?, ?, ?, ?)",
            (at, agent, session, operation, query, tokens),
        )
        number = int(cursor.lastrowid)
        for record, score in dict(hits).items():
            execute("INSERT INTO access_log VALUES (?, ?, ?)", (number, record, score))
        return number

    def fold(self, execute: Execute) -> int:
        """Add what was read since the last time to the counts of each record; returns how many reads that were."""
        (last,) = execute("SELECT coalesce(max(id), 0) FROM broadcasts").fetchone()
        found = execute("SELECT value FROM index_state WHERE name = ?", (_FOLDED,)).fetchone()
        first = found[0] if found else 0
        cursor = execute(
            "INSERT INTO record_stats (record, place, accessed, last_accessed)"
            " SELECT a.record, r.place, count(*), max(b.at) FROM access_log AS a"
            " JOIN broadcasts AS b ON b.id = a.broadcast JOIN records AS r ON r.id = a.record"
            " WHERE a.broadcast > ? AND a.broadcast <= ? GROUP BY a.record"
            " ON CONFLICT (record) DO UPDATE SET accessed = accessed + excluded.accessed,"
            " last_accessed = max(last_accessed, excluded.last_accessed)",
            (first, last),
        )
        execute(
            "INSERT INTO index_state (name, value) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (_FOLDED, last),
        )
        return int(cursor.rowcount)

    def stats(self, records: Sequence[int]) -> dict[int, tuple[int, float]]:
        """How often each of these was read, and when last, counting what is not folded yet.

        The time is in seconds since the epoch; minus infinity where reads were counted elsewhere, nobody knows when.
        """
        marks = ", ".join("?" * len(records)) or "NULL"
        rows = self._database.query(
            f"SELECT record, sum(n), max(at) FROM ("
            f" SELECT record, accessed AS n, last_accessed AS at FROM record_stats WHERE record IN ({marks})"
            f" UNION ALL SELECT a.record, 1, b.at FROM broadcasts AS b JOIN access_log AS a ON a.broadcast = b.id"
            f" WHERE b.id > coalesce((SELECT value FROM index_state WHERE name = ?), 0) AND a.record IN ({marks})"
            f") GROUP BY record",
            (*records, _FOLDED, *records),
        )
        return {int(record): (int(n), float(at)) for record, n, at in rows}

    def of(self, record: int, limit: int = 20) -> list[dict[str, Any]]:
        """The latest reads of one record, newest first."""
        names = ("broadcast", "at", "agent", "operation", "query", "score")
        rows = self._database.query(
            "SELECT b.id, b.at, b.agent, b.operation, b.query, a.score FROM broadcasts AS b"
            " JOIN access_log AS a ON a.broadcast = b.id AND a.record = ? ORDER BY b.id DESC LIMIT ?",
            (record, limit),
        )
        return [dict(zip(names, row, strict=True)) for row in rows]
