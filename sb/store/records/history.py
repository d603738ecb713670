"""The history of records: who changed what, why, and what it was before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

import orjson

from sb.base.sources import iso
from sb.store.database import Database
from sb.store.records.columns import Row
from sb.store.records.places import Execute

RESTATE = "restate"  # the operation of a text that was merged into a memory
_FOLDED = "history_folded"  # in index_state: the last change that was looked at


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

    def changed_by_others(self, actor: str, most: int) -> dict[int, int]:
        """Returns the records of so many latest changes by anybody else, each with its latest, the newest first."""
        sql = (
            "SELECT record, max(id) FROM (SELECT id, record FROM record_history WHERE actor <> ? AND operation <> ?"
            " ORDER BY id DESC LIMIT +?) GROUP BY record ORDER BY 2 DESC"
        )
        return dict(self.database.query(sql, (actor, RESTATE, most)))

    def changes_after(self, changes: Mapping[int, int]) -> dict[int, list[tuple[str, Row]]]:
        """Returns who changed records after these changes, by record, and what each replaced, oldest first."""
        sql = (
            "SELECT h.record, h.actor, h.former FROM json_each(?) AS j CROSS JOIN record_history AS h"
            " ON h.record = j.value ->> 0 AND h.id > j.value ->> 1 WHERE h.operation <> ? ORDER BY h.id"
        )
        found: dict[int, list[tuple[str, Row]]] = {}
        listed = orjson.dumps(list(changes.items())).decode()
        for record, actor, former in self.database.query(sql, (listed, RESTATE)):
            found.setdefault(record, []).append((actor, orjson.loads(former) if former else {}))
        return found

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

    def fold_history(self, execute: Execute, before: float, most: int) -> int:
        """Fold the next restatements from before a time into the first of each record and agent among them.

        Returns:
            How many changes were looked at.
        """
        execute("INSERT INTO index_state (name, value) VALUES (?, 0) ON CONFLICT DO NOTHING", (_FOLDED,))
        rows = execute(
            "SELECT id, at, record, actor, operation FROM record_history"
            " WHERE id > (SELECT value FROM index_state WHERE name = ?) ORDER BY id LIMIT ?",
            (_FOLDED, most),
        ).fetchall()
        old = list(takewhile(lambda row: row[1] < before, rows))
        groups: dict[tuple[int, str], list[tuple[int, float]]] = {}
        for number, at, record, actor, operation in old:
            if operation == RESTATE:
                groups.setdefault((record, actor), []).append((number, at))
        for (first, _), *others in (group for group in groups.values() if len(group) > 1):
            self.database.write_each("DELETE FROM record_history WHERE id = ?", [(it[0],) for it in others])
            reason = f"restated, {len(others) + 1} times until {iso(others[-1][1])[:10]}"
            execute("UPDATE record_history SET reason = ? WHERE id = ?", (reason, first))
        if old:
            execute("UPDATE index_state SET value = ? WHERE name = ?", (old[-1][0], _FOLDED))
        return len(old)

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
