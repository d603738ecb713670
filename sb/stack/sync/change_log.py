"""The numbered, sealed changes that one database tells other copies of a stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import orjson

from sb.base.values.frozen import frozen
from sb.memory.space import Space
from sb.stack.sync.changes import Change, Dot, Seen, damaged, parse, together
from sb.stack.sync.seals import Sealer
from sb.store.records.columns import Row
from sb.store.records.places import Execute

AT_ONCE = 50  # records in a transaction: others wait for some 50 ms
_COLUMNS = "record, seq, peer, at, seen, document, seal"
NEW: Dot = ("", -1)  # the change that is being written down


@frozen
class StoredChange:
    """A change as it stands in a database.

    Args:
        record: its number. seq: the place in the feed. peer: which database has it just so, or "".
        at: when it was written here, in seconds since the epoch. seen: which changes went into it, as is known by now.
        document: empty for what was erased and not stamped since.
    """

    record: int
    seq: int
    peer: str
    at: float
    seen: Seen
    document: bytes
    seal: bytes

    @cached_property
    def change(self) -> Change:
        """The parsed document; raises CheckFailed if it is damaged."""
        return parse(self.document)

    @property
    def now(self) -> Change:
        """The change with everything learned about it since."""
        return replace(self.change, seen=self.seen)


@frozen
class Position:
    """The replica's name, and how far stamping has come."""

    replica: str
    head: int
    record: int
    change: int
    edge: int


class ChangeLog:
    """The changes of one stack in one database, by their numbers."""

    def __init__(self, space: Space, stack: str, sealer: Sealer) -> None:
        self.space = space
        self.stack = stack
        self.sealer = sealer

    # Who this database is

    @property
    def replica(self) -> str:
        """The name of this database among the copies of the stack; "" before its first synchronization."""
        return str(self._said("replica", ""))

    @property
    def home(self) -> str:
        """Whose seal its changes get; "" before its first synchronisation."""
        return str(self._said("home", ""))

    @property
    def head(self) -> int:
        """The number of its last change."""
        return int(self._said("head", 0))

    def _said(self, column: str, default: Any) -> Any:
        rows = self.space.database.query(f"SELECT {column} FROM sync_replicas WHERE stack = ?", (self.stack,))
        return rows[0][0] if rows else default

    def begin(self) -> None:
        """Give this database a name, unless it has one; from then on it is this home's."""
        if self.replica:
            return
        with self.space.database.write() as execute:
            execute(
                "INSERT INTO sync_replicas (stack, replica, home) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (self.stack, self.space.ids.token(8), self.sealer.home),
            )

    def rename(self, execute: Execute, since: int) -> None:
        """Take another name, since this is an older copy of itself: what it counted meanwhile was counted before.

        What it told under those numbers is told again, and as knowing nothing of what was told under them before.

        Args:
            since: the last number that surely stands for one change.
        """
        former = self.position(execute).replica
        name = self.space.ids.token(8)
        execute("UPDATE sync_replicas SET replica = ? WHERE stack = ?", (name, self.stack))
        if not self.ours:
            return
        twice = [
            entry.record
            for entry in self.after(0, execute)
            if entry.document and entry.seen.get(former, 0) > since
        ]
        for start in range(0, len(twice), AT_ONCE):
            for record, item in self.all_stored(twice[start : start + AT_ONCE]).items():
                change = item.now
                dots = {
                    part: NEW if dot[0] == former and dot[1] > since else dot
                    for part, dot in change.dots.items()
                }
                self.tell(execute, record, replace(change, seen={**change.seen, former: since}, dots=dots))

    @property
    def ours(self) -> bool:
        """True if this home may speak for it."""
        return self.home == self.sealer.home

    def position(self, execute: Execute) -> Position:
        row = execute(
            "SELECT replica, head, record, change, edge FROM sync_replicas WHERE stack = ?", (self.stack,)
        ).fetchone()
        return Position(*row)

    # What others are told

    def tell(self, execute: Execute, record: int, change: Change) -> None:
        """Write down a change of this database's own, under its next number; `NEW` stands for it in the dots."""
        replica, number = self._next(execute)
        dot: Dot = (replica, number)
        seen = {**change.seen, replica: number}
        dots = {part: dot if old == NEW else old for part, old in change.dots.items()}
        document = replace(change, seen=seen, dots=dots).document()
        change_row = StoredChange(
            record, number, "", self.space.clock.now(), seen, document, self.sealer.seal(document)
        )
        self._write(execute, change_row, change.erased)

    def put(
        self,
        execute: Execute,
        record: int,
        seen: Seen,
        document: bytes,
        seal: bytes,
        *,
        peer: str = "",
        erased: bool = False,
    ) -> None:
        """Write down a change, whoever sealed it, under the next number.

        Args:
            peer: which database has it just so.
        """
        _, number = self._next(execute)
        change = StoredChange(record, number, peer, self.space.clock.now(), seen, document, seal)
        self._write(execute, change, erased)

    def _next(self, execute: Execute) -> tuple[str, int]:
        """Returns the replica's name and the next number of its feed."""
        rows = execute(
            "UPDATE sync_replicas SET head = head + 1 WHERE stack = ? RETURNING replica, head", (self.stack,)
        ).fetchall()
        return str(rows[0][0]), int(rows[0][1])

    def _write(self, execute: Execute, change: StoredChange, erased: bool) -> None:
        execute(
            f"INSERT OR REPLACE INTO sync_changes (stack, {_COLUMNS}, erased) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.stack,
                change.record,
                change.seq,
                change.peer,
                change.at,
                orjson.dumps(change.seen).decode(),
                change.document.decode(),
                change.seal.decode(),
                int(erased),
            ),
        )

    def learn(self, execute: Execute, record: int, seen: Seen) -> None:
        """Note that a record already has what these changes made of it."""
        change = self.stored(record)
        if change is not None:
            values = (orjson.dumps(together(change.seen, seen)).decode(), record)
            execute("UPDATE sync_changes SET seen = ? WHERE record = ?", values)

    def again(self, execute: Execute, stored: StoredChange) -> None:
        """Tell of a change once more, since somebody has not got it."""
        erased = not stored.document or stored.change.erased
        self.put(execute, stored.record, stored.seen, stored.document, stored.seal, erased=erased)

    def tell_erased(self, execute: Execute, row: Row) -> None:
        """Tell of a record that was erased before anybody was told of it: somebody has it."""
        self.tell(execute, row["id"], self.tombstone(row, {}))

    def tombstone(self, row: Row, seen: Seen) -> Change:
        """The change that tells of an erased record."""
        (entry,) = self.space.records.history(row["id"])[-1:] or ({"actor": ""},)
        place = self.space.places.numbered(row["place"])
        return Change(
            row["uid"],
            row["kind"],
            place,
            row["agent"],
            row["created_at"],
            seen,
            erased_by=entry["actor"],
        )

    def sign(self) -> None:
        """Signs the unsigned changes of this home, and tells them again."""
        if not self.sealer.signs:
            return
        unsigned = [
            item.record for item in self.after(0) if item.document and self.sealer.unsigned(item.seal)
        ]
        for start in range(0, len(unsigned), AT_ONCE):
            with self.space.database.write() as execute:
                for change in self.all_stored(unsigned[start : start + AT_ONCE]).values():
                    if change.document and self.sealer.unsigned(change.seal):
                        self.again(execute, replace(change, seal=self.sealer.seal(change.document)))

    def stored(self, record: int) -> StoredChange | None:
        """Returns the stored change of a record."""
        return self.all_stored([record]).get(record)

    def all_stored(self, records: Sequence[int]) -> dict[int, StoredChange]:
        """Returns the stored changes of these records, by number."""
        marks = ", ".join("?" * len(records)) or "NULL"
        rows = self.space.database.query(
            f"SELECT {_COLUMNS} FROM sync_changes WHERE record IN ({marks})", tuple(records)
        )
        return {row[0]: _stored(row) for row in rows}

    def after(
        self, seq: int, execute: Execute | None = None, *, since: float = 0.0, erased: bool = False
    ) -> Iterator[StoredChange]:
        """The changes after a number, in their order.

        Args:
            execute: reads, by default from the database as it is by then. since: only what was written by then or later.
            erased: only what is erased.
        """
        which = " AND erased = 1" if erased else ""
        while True:
            sql = f"SELECT {_COLUMNS} FROM sync_changes WHERE stack = ? AND seq > ? AND at >= ?{which} ORDER BY seq LIMIT +?"
            values = (self.stack, seq, since, AT_ONCE)
            rows = execute(sql, values).fetchall() if execute else self.space.database.query(sql, values)
            yield from map(_stored, rows)
            if len(rows) < AT_ONCE:
                return
            seq = rows[-1][1]


def _stored(row: tuple[Any, ...]) -> StoredChange:
    record, seq, peer, at, seen, document, seal = row
    return StoredChange(record, seq, peer, at, _seen(seen), document.encode(), seal.encode())


def _seen(text: str) -> Seen:
    try:
        seen = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise damaged(str(error)) from None
    return seen if isinstance(seen, dict) else {}
