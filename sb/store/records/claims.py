"""Claims and their contradictions: what is said of one thing by several, and how that was settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from sb.store.database import Database
from sb.store.records.places import Execute

OPEN, MARKED, SUPERSEDED_BY = "open", "marked", "superseded"
RESOLVED, REVERTED, DISMISSED = "resolved", "reverted", "dismissed"
CONTRADICTION_PREFIX, _MOST = "cfl_", 50  # of ids; claims of a key that a new one is compared with


class StoredClaim(NamedTuple):
    """One claim; `record` and `place` are None for one of the ledger's own."""

    id: int
    record: int | None
    place: int | None
    key: str
    value: str
    document: str
    stands: int


class Contradiction(NamedTuple):
    """One contradiction, claims by their numbers; the views have the rest."""

    id: int
    uid: str
    at: float
    key: str
    place: int | None
    earlier: int
    later: int
    status: str
    opened_by: str
    winner: int | None
    collapses: str
    reason: str
    settled_at: float | None
    settled_by: str | None


_CLAIM = f"SELECT {', '.join('k.' + name for name in StoredClaim._fields)} FROM claims AS k"
_CONTRADICTION = f"SELECT {', '.join('c.' + name for name in Contradiction._fields)} FROM contradictions AS c"


class ClaimStore:
    """The claims and contradictions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, execute: Execute, record: int | None, place: int | None, key: str, value: str, document: Any
    ) -> int:
        """Add a claim; returns its number."""
        execute(
            "INSERT INTO claims (record, place, key, value, document) VALUES (?, ?, ?, ?, ?)",
            (record, place, key, value, orjson.dumps(document).decode()),
        )
        return int(execute("SELECT last_insert_rowid()").fetchone()[0])

    def of_key(self, key: str, place: int | None, agent: str = "") -> list[StoredClaim]:
        """The standing claims of a key, an agent's own first, then the oldest: a flood of others displaces neither."""
        if place is None:
            sql = (
                f"{_CLAIM} WHERE k.key = ? AND k.place IS NULL AND k.stands ORDER BY k.id DESC LIMIT {_MOST}"
            )
            return [StoredClaim(*row) for row in self._database.query(sql, (key,))]
        return self.of_keys(key, key, place, agent)

    def of_keys(self, first: str, last: str, place: int, agent: str = "") -> list[StoredClaim]:
        """The standing claims of memories whose keys are between two, in the same order."""
        sql = (
            f"{_CLAIM} JOIN records AS r ON r.id = k.record WHERE k.key BETWEEN ? AND ? AND k.place = ?"
            f" AND r.state = 'active' AND k.stands ORDER BY r.agent <> ?, k.id LIMIT {_MOST}"
        )
        return [StoredClaim(*row) for row in self._database.query(sql, (first, last, place, agent))]

    def claims(self, numbers: Sequence[int]) -> dict[int, StoredClaim]:
        """These claims, by number."""
        sql = f"{_CLAIM} WHERE k.id IN (SELECT value FROM json_each(?))"
        rows = self._database.query(sql, (orjson.dumps(list(numbers)).decode(),))
        return {row[0]: StoredClaim(*row) for row in rows}

    def drop(self, execute: Execute, record: int) -> None:
        """Let what a record says now stand no longer, since its text is another one."""
        execute("UPDATE claims SET stands = 0 WHERE record = ?", (record,))

    def set_standing(self, execute: Execute, claim: int, stands: bool) -> None:
        execute("UPDATE claims SET stands = ? WHERE id = ?", (int(stands), claim))

    def open(self, execute: Execute, values: dict[str, Any]) -> bool:
        """Add a contradiction by column; False if one of that key is open already."""
        marks = ", ".join("?" * len(values))
        sql = f"INSERT OR IGNORE INTO contradictions ({', '.join(values)}) VALUES ({marks})"
        execute(sql, tuple(values.values()))
        return bool(execute("SELECT changes()").fetchone()[0])

    def settle(
        self, execute: Execute, number: int, status: str, at: float | None, by: str | None, **more: Any
    ) -> None:
        """Give a contradiction another status; `more` are further columns."""
        columns = {"status": status, "settled_at": at, "settled_by": by, **more}
        named = ", ".join(f"{name} = ?" for name in columns)
        execute(f"UPDATE OR IGNORE contradictions SET {named} WHERE id = ?", (*columns.values(), number))

    def reopen(self, execute: Execute, collapse: str) -> None:
        """Open again what a collapse settled, now that it was taken back."""
        execute(
            "UPDATE OR IGNORE contradictions SET status = 'open', winner = NULL, settled_at = NULL, settled_by = NULL"
            " WHERE status IN ('superseded', 'resolved') AND instr(collapses, ?)",
            (collapse,),
        )

    def find(self, uid: str) -> Contradiction | None:
        """The contradiction of an id, or of how it begins if only one does."""
        rows = self._database.query(
            f"{_CONTRADICTION} WHERE c.uid >= ? AND c.uid < ? ORDER BY c.uid LIMIT 2",
            (uid, uid + "\U0010ffff"),
        )
        exact = [row for row in rows if row[1] == uid]
        return Contradiction(*(exact or rows)[0]) if exact or len(rows) == 1 else None

    def listed(
        self, statuses: Sequence[str] = (), places: Sequence[int] | None = None
    ) -> list[Contradiction]:
        """The contradictions of these statuses, in these places or of the ledger, the newest first."""
        sql = (
            f"{_CONTRADICTION} WHERE (json_array_length(?1) = 0 OR c.status IN (SELECT value FROM json_each(?1)))"
            " AND (c.place IS NULL OR ?2 IS NULL OR c.place IN (SELECT value FROM json_each(?2))) ORDER BY c.id DESC"
        )
        where = None if places is None else orjson.dumps(list(places)).decode()
        return [
            Contradiction(*row)
            for row in self._database.query(sql, (orjson.dumps(list(statuses)).decode(), where))
        ]

    def opened_by(self, agent: str) -> int:
        """Count the open contradictions that an agent opened."""
        sql = "SELECT count(*) FROM contradictions WHERE status = 'open' AND opened_by = ?"
        return int(self._database.query(sql, (agent,))[0][0])

    def contested(self, record: int) -> str:
        """The id of the newest contradiction that a record is a side of, or ""."""
        rows = self._database.query(
            "SELECT max(uid) FROM (SELECT c.uid FROM claims AS k JOIN contradictions AS c"
            " ON c.status = 'open' AND c.key = k.key AND coalesce(c.place, 0) = coalesce(k.place, 0)"
            " WHERE k.record = ?1 AND k.key <> '' AND k.stands UNION ALL SELECT c.uid FROM claims AS k JOIN contradictions AS c"
            " ON c.status = 'marked' AND k.id IN (c.earlier, c.later) WHERE k.record = ?1)",
            (record,),
        )
        return str(rows[0][0] or "")
