"""What has changed in this database's copy of a stack, as others are told of it?

Whatever is new stands in `records`, whatever was changed in `record_history`, in the order of their numbers: both are only
ever added to. What was found there since the last time is stamped: written down, sealed, under the next number of the feed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson

from sb.memory.space import Space
from sb.stack.syncing.changes import (
    STANDING,
    Change,
    Dot,
    Relation,
    Seen,
    damaged,
    parse,
    parts_of,
    together,
    united,
)
from sb.stack.syncing.seals import Sealer
from sb.store.records.places import Execute
from sb.store.records.store import ERASED, Row

AT_ONCE = 50  # records in a transaction: others wait for some 50 ms
_COLUMNS = "record, seq, peer, at, seen, document, seal"
_FROM_EDGES = (
    "FROM edges AS e JOIN records AS s ON s.id = e.source JOIN records AS t ON t.id = e.target"
    " JOIN places AS p ON p.id = e.place JOIN places AS sp ON sp.id = s.place JOIN places AS tp ON tp.id = t.place"
)
_BY_SOURCE = "p.owner IN ('', sp.owner)"  # else the target tells of it, which somebody keeps for itself
TELLING = (
    f"SELECT e.id, iif({_BY_SOURCE}, e.source, e.target) AS record {_FROM_EDGES}"  # who tells of a relation
)
_STANDING = "json_each.key IN ('state', 'strength', 'protected')"


@dataclass(frozen=True)
class Kept:
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
        """What the document says; raises CheckFailed if it is damaged."""
        return parse(self.document)

    @property
    def now(self) -> Change:
        """The same with what was learnt of it since."""
        return replace(self.change, seen=self.seen)


@dataclass(frozen=True)
class _Found:
    """Who this database is, and where stamping has come to."""

    replica: str
    head: int
    record: int
    change: int
    edge: int


class Feed:
    """The changes of one stack in one database."""

    def __init__(self, space: Space, stack: str, sealer: Sealer) -> None:
        self.space = space
        self.stack = stack
        self.sealer = sealer

    # Who this database is

    @property
    def replica(self) -> str:
        """What this database is called among the copies of the stack; "" before its first synchronisation."""
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
        former = self._found(execute).replica
        name = self.space.ids.token(8)
        execute("UPDATE sync_replicas SET replica = ? WHERE stack = ?", (name, self.stack))
        if not self.ours:
            return
        twice = [
            one.record for one in self.after(0, execute) if one.document and one.seen.get(former, 0) > since
        ]
        for start in range(0, len(twice), AT_ONCE):
            for record, kept in self.all_kept(twice[start : start + AT_ONCE]).items():
                change = kept.now
                dots = {
                    part: NEW if dot[0] == former and dot[1] > since else dot
                    for part, dot in change.dots.items()
                }
                self.tell(execute, record, replace(change, seen={**change.seen, former: since}, dots=dots))

    @property
    def ours(self) -> bool:
        """Whether this home may speak for it."""
        return self.home == self.sealer.home

    # What was changed

    def stamp_all(self) -> None:
        """Write down all that was changed, in short transactions."""
        more = True
        while more:
            with self.space.database.write() as execute:
                more = self.stamp(execute)

    def stamp(self, execute: Execute) -> bool:
        """Write down what was changed, up to `AT_ONCE` records; returns whether there may be more."""
        found = self._found(execute)
        new = self._numbers(
            execute, "SELECT id, id FROM records WHERE id > ? ORDER BY id LIMIT ?", found.record
        )
        if new:
            self._stamp(execute, [number for number, _ in new])
            self._reached(execute, record=new[-1][0])
            return True
        changed = self._numbers(
            execute, "SELECT id, record FROM record_history WHERE id > ? ORDER BY id LIMIT ?", found.change
        )
        if changed:
            self._stamp(execute, [record for _, record in changed], found.change, changed[-1][0])
            self._reached(execute, change=changed[-1][0])
            return True
        related = self._numbers(execute, f"{TELLING} WHERE e.id > ? ORDER BY e.id LIMIT ?", found.edge)
        if related:
            self._stamp(execute, [record for _, record in related])
            self._reached(execute, edge=related[-1][0])
        return bool(related)

    def stamp_rest(self, execute: Execute) -> None:
        """Write down all that was changed, within a transaction."""
        while self.stamp(execute):
            pass

    def skip(self, execute: Execute) -> None:
        """Take all that is in this transaction as told of; what changed before it was stamped in it."""
        (heads,) = execute(
            "SELECT (SELECT coalesce(max(id), 0) FROM records), (SELECT coalesce(max(id), 0) FROM record_history),"
            " (SELECT coalesce(max(id), 0) FROM edges)"
        ).fetchall()
        self._reached(execute, record=heads[0], change=heads[1], edge=heads[2])

    def unstamped(self, execute: Execute, record: int) -> bool:
        """Whether a record was changed since changes were last written down."""
        found = self._found(execute)
        row = execute(
            "SELECT ? > ? OR EXISTS (SELECT 1 FROM record_history WHERE record = ? AND id > ?)",
            (record, found.record, record, found.change),
        ).fetchone()
        return bool(row[0])

    def _found(self, execute: Execute) -> _Found:
        row = execute(
            "SELECT replica, head, record, change, edge FROM sync_replicas WHERE stack = ?", (self.stack,)
        ).fetchone()
        return _Found(*row)

    def _numbers(self, execute: Execute, sql: str, after: int) -> list[tuple[int, int]]:
        return list(execute(sql, (after, AT_ONCE)).fetchall())

    def _reached(self, execute: Execute, **positions: int) -> None:
        sets = ", ".join(f"{name} = ?" for name in positions)
        execute(f"UPDATE sync_replicas SET {sets} WHERE stack = ?", (*positions.values(), self.stack))

    def _stamp(self, execute: Execute, numbers: Sequence[int], after: int = 0, upto: int = 0) -> None:
        """Write down those of these records that are this stack's and say something new.

        Args:
            after, upto: the numbers in the history between which a person may have changed how present they are.
        """
        places = self.space.places.of_stack(self.stack)
        rows = [row for row in self.space.records.rows(list(set(numbers))) if row["place"] in places]
        kept = self.all_kept([row["id"] for row in rows])
        moved = self._moved(execute, after, upto)
        relations = self._relations([row["id"] for row in rows])
        for row in sorted(rows, key=lambda one: int(one["id"])):
            former = kept.get(row["id"])
            change = self._changed(row, former, row["id"] in moved, relations.get(row["id"], ()))
            if change is not None:
                self.tell(execute, row["id"], change)

    def _changed(
        self, row: Row, former: Kept | None, moved: bool, relations: Sequence[Relation]
    ) -> Change | None:
        """A record as it is now, but for its next number; None if there is nothing new to tell."""
        if row["state"] == ERASED:
            return self._gone(row, former)
        parts = parts_of(row)
        if former is None:
            return self._first(row, parts, tuple(relations))
        before = former.now
        if before.erased:
            return None
        if not moved:
            parts[STANDING] = before.parts[STANDING]
        changed = {
            name for name in parts.keys() | before.parts.keys() if parts.get(name) != before.parts.get(name)
        }
        known = united(before.relations, relations)
        if not changed and known == before.relations:
            return None
        return replace(
            before, parts=parts, dots={**before.dots, **dict.fromkeys(changed, NEW)}, relations=known
        )

    def _first(self, row: Row, parts: Mapping[str, Any], relations: tuple[Relation, ...]) -> Change:
        session = self.space.sessions.numbered(row["session"]) if row["session"] is not None else None
        return Change(
            row["uid"],
            row["kind"],
            self.space.places.numbered(row["place"]),
            row["agent"],
            row["created_at"],
            {},
            parts,
            dict.fromkeys(parts, NEW),
            relations,
            session,
        )

    def _gone(self, row: Row, former: Kept | None) -> Change | None:
        """The tombstone of a record that others were told of."""
        if former is None or (former.document and former.change.erased):
            return None
        return self._tombstone(row, former.seen)

    def _tombstone(self, row: Row, seen: Seen) -> Change:
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

    def _moved(self, execute: Execute, after: int, upto: int) -> set[int]:
        """The records of which the history says, between these entries, that they were made more or less present."""
        rows = execute(
            "SELECT DISTINCT h.record FROM record_history AS h, json_each(h.former)"
            f" WHERE h.id > ? AND h.id <= ? AND h.former IS NOT NULL AND {_STANDING}",
            (after, upto),
        )
        return {record for (record,) in rows.fetchall()}

    def _relations(self, numbers: Sequence[int]) -> dict[int, list[Relation]]:
        """What these records have to do with others, as far as everybody who may see them may know it."""
        marks = ", ".join("?" * len(numbers)) or "NULL"
        rows = self.space.database.query(
            f"SELECT e.source, e.id, e.relation, t.uid, e.weight, e.agent, e.created_at, 0 {_FROM_EDGES}"
            f" WHERE e.source IN ({marks}) AND {_BY_SOURCE} AND t.state <> 'erased' AND tp.stack = sp.stack"
            " UNION ALL "
            f"SELECT e.target, e.id, e.relation, s.uid, e.weight, e.agent, e.created_at, 1 {_FROM_EDGES}"
            f" WHERE e.target IN ({marks}) AND NOT {_BY_SOURCE} AND p.owner = tp.owner AND s.state <> 'erased'"
            " AND tp.stack = sp.stack ORDER BY 2",
            (*numbers, *numbers),
        )
        found: dict[int, list[Relation]] = {}
        for record, _, relation, other, weight, agent, at, inward in rows:
            one = Relation(relation, other, weight, agent, at, bool(inward))
            found.setdefault(record, []).append(one)
        return found

    # What others are told

    def tell(self, execute: Execute, record: int, change: Change) -> None:
        """Write down a change of this database's own, under its next number; `NEW` stands for it in the dots."""
        replica, number = self._next(execute)
        dot: Dot = (replica, number)
        seen = {**change.seen, replica: number}
        dots = {part: dot if old == NEW else old for part, old in change.dots.items()}
        document = replace(change, seen=seen, dots=dots).document()
        kept = Kept(record, number, "", self.space.clock.now(), seen, document, self.sealer.seal(document))
        self._write(execute, kept, change.erased)

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
        kept = Kept(record, number, peer, self.space.clock.now(), seen, document, seal)
        self._write(execute, kept, erased)

    def _next(self, execute: Execute) -> tuple[str, int]:
        """What this database is called, and the next number of its feed."""
        rows = execute(
            "UPDATE sync_replicas SET head = head + 1 WHERE stack = ? RETURNING replica, head", (self.stack,)
        ).fetchall()
        return str(rows[0][0]), int(rows[0][1])

    def _write(self, execute: Execute, kept: Kept, erased: bool) -> None:
        execute(
            f"INSERT OR REPLACE INTO sync_changes (stack, {_COLUMNS}, erased) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.stack,
                kept.record,
                kept.seq,
                kept.peer,
                kept.at,
                orjson.dumps(kept.seen).decode(),
                kept.document.decode(),
                kept.seal.decode(),
                int(erased),
            ),
        )

    def learn(self, execute: Execute, record: int, seen: Seen) -> None:
        """Note that a record already has what these changes made of it."""
        kept = self.kept(record)
        if kept is not None:
            values = (orjson.dumps(together(kept.seen, seen)).decode(), record)
            execute("UPDATE sync_changes SET seen = ? WHERE record = ?", values)

    def again(self, execute: Execute, kept: Kept) -> None:
        """Tell of a change once more, since somebody has not got it."""
        erased = not kept.document or kept.change.erased
        self.put(execute, kept.record, kept.seen, kept.document, kept.seal, erased=erased)

    def tell_erased(self, execute: Execute, row: Row) -> None:
        """Tell of a record that was erased before anybody was told of it: somebody has it."""
        self.tell(execute, row["id"], self._tombstone(row, {}))

    def sign(self) -> None:
        """Let whoever signs now sign what this home told unsigned, and tell it again."""
        if not self.sealer.signs:
            return
        unsigned = [one.record for one in self.after(0) if one.document and self.sealer.unsigned(one.seal)]
        for start in range(0, len(unsigned), AT_ONCE):
            with self.space.database.write() as execute:
                for kept in self.all_kept(unsigned[start : start + AT_ONCE]).values():
                    if kept.document and self.sealer.unsigned(kept.seal):
                        self.again(execute, replace(kept, seal=self.sealer.seal(kept.document)))

    def kept(self, record: int) -> Kept | None:
        """What is told of a record."""
        return self.all_kept([record]).get(record)

    def all_kept(self, records: Sequence[int]) -> dict[int, Kept]:
        """What is told of these records, by their numbers."""
        marks = ", ".join("?" * len(records)) or "NULL"
        rows = self.space.database.query(
            f"SELECT {_COLUMNS} FROM sync_changes WHERE record IN ({marks})", tuple(records)
        )
        return {row[0]: _kept(row) for row in rows}

    def after(
        self, seq: int, execute: Execute | None = None, *, since: float = 0.0, erased: bool = False
    ) -> Iterator[Kept]:
        """The changes after a number, in their order.

        Args:
            execute: reads, by default from the database as it is by then. since: only what was written by then or later.
            erased: only what is erased.
        """
        which = " AND erased = 1" if erased else ""
        while True:
            sql = f"SELECT {_COLUMNS} FROM sync_changes WHERE stack = ? AND seq > ? AND at >= ?{which} ORDER BY seq LIMIT ?"
            values = (self.stack, seq, since, AT_ONCE)
            rows = execute(sql, values).fetchall() if execute else self.space.database.query(sql, values)
            yield from map(_kept, rows)
            if len(rows) < AT_ONCE:
                return
            seq = rows[-1][1]


NEW: Dot = ("", -1)  # the change that is being written down


def _kept(row: tuple[Any, ...]) -> Kept:
    record, seq, peer, at, seen, document, seal = row
    return Kept(record, seq, peer, at, _seen(seen), document.encode(), seal.encode())


def _seen(text: str) -> Seen:
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise damaged(str(error)) from None
    return said if isinstance(said, dict) else {}
