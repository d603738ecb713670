"""The history of records: who changed what, why, and what it was before."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from sb.store.database import Database
from sb.store.records.columns import Row
from sb.store.records.places import Execute


class RecordHistory:
    """Reads and writes the history of the records of one database."""

    database: Database

    def add_history(
        self,
        execute: Execute,
        number: int,
        at: float,
        actor: str,
        operation: str,
        reason: str,
        version: int,
        former: Row | None,
    ) -> None:
        execute(
            "INSERT INTO record_history (record, at, actor, operation, reason, version, former)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                at,
                actor,
                operation,
                reason,
                version,
                None if former is None else orjson.dumps(former).decode(),
            ),
        )

    def reasons(self) -> Iterator[tuple[int, str]]:
        """The number and the reason of every change for which one was given."""
        after = 0
        while rows := self.database.query(
            "SELECT id, reason FROM record_history WHERE id > ? AND reason <> '' ORDER BY id LIMIT 1000",
            (after,),
        ):
            yield from rows
            after = rows[-1][0]

    def blank_reason(self, execute: Execute, change: int) -> None:
        """Remove a reason, since it says what was erased."""
        execute("UPDATE record_history SET reason = '' WHERE id = ?", (change,))

    def history(self, number: int) -> list[Row]:
        """Lists the changes of a record, oldest first; `former` holds what each replaced."""
        names = ("at", "actor", "operation", "reason", "version", "former")
        rows = self.database.query(
            f"SELECT {', '.join(names)} FROM record_history WHERE record = ? ORDER BY id", (number,)
        )
        return [
            dict(zip(names, (*row[:-1], orjson.loads(row[-1]) if row[-1] else None), strict=True))
            for row in rows
        ]
