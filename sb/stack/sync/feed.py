"""Find what changed in this database's copy of a stack, and write it to the change log.

Whatever is new stands in `records`, whatever was changed in `record_history`, in the order of their numbers: both are only
ever added to. What was found there since the last time is stamped: written down, sealed, under the next number of the feed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sb.stack.sync.change_log import AT_ONCE, NEW, ChangeLog, StoredChange
from sb.stack.sync.changes import STANDING, Change, Relation, parts_of, united
from sb.store.records.columns import ERASED, Row
from sb.store.records.places import RESERVED, Execute

_FROM_EDGES = (
    "FROM edges AS e JOIN records AS s ON s.id = e.source JOIN records AS t ON t.id = e.target"
    " JOIN places AS p ON p.id = e.place JOIN places AS sp ON sp.id = s.place JOIN places AS tp ON tp.id = t.place"
)
_BY_SOURCE = "p.owner IN ('', sp.owner)"  # else the target tells of it, which somebody keeps for itself
TELLING = (
    f"SELECT e.id, iif({_BY_SOURCE}, e.source, e.target) AS record {_FROM_EDGES}"  # who tells of a relation
)
_STANDING = "json_each.key IN ('state', 'strength', 'protected')"


class Feed(ChangeLog):
    """The changes of one stack in one database."""

    # What was changed

    def stamp_all(self) -> None:
        """Write down all that was changed, in short transactions."""
        more = True
        while more:
            with self.space.database.write() as execute:
                more = self.stamp(execute)

    def stamp(self, execute: Execute) -> bool:
        """Write down what was changed, up to `AT_ONCE` records; returns whether there may be more."""
        found = self.position(execute)
        new = self._numbers(
            execute, "SELECT id, id FROM records WHERE id > ? ORDER BY id LIMIT +?", found.record
        )
        if new:
            self._stamp(execute, [number for number, _ in new])
            self._reached(execute, record=new[-1][0])
            return True
        changed = self._numbers(
            execute, "SELECT id, record FROM record_history WHERE id > ? ORDER BY id LIMIT +?", found.change
        )
        if changed:
            self._stamp(execute, [record for _, record in changed], found.change, changed[-1][0])
            self._reached(execute, change=changed[-1][0])
            return True
        related = self._numbers(execute, f"{TELLING} WHERE e.id > ? ORDER BY e.id LIMIT +?", found.edge)
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
        """True if a record was changed since changes were last written down."""
        found = self.position(execute)
        row = execute(
            "SELECT ? > ? OR EXISTS (SELECT 1 FROM record_history WHERE record = ? AND id > ?)",
            (record, found.record, record, found.change),
        ).fetchone()
        return bool(row[0])

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
        places = {
            number
            for number, place in self.space.places.of_stack(self.stack).items()
            if not place.owner.startswith(
                RESERVED
            )  # such as what operators say of trust, which no copy takes
        }
        rows = [row for row in self.space.records.rows(list(set(numbers))) if row["place"] in places]
        stored = self.all_stored([row["id"] for row in rows])
        moved = self._moved(execute, after, upto)
        relations = self._relations([row["id"] for row in rows])
        for row in sorted(rows, key=lambda item: int(item["id"])):
            former = stored.get(row["id"])
            change = self._changed(row, former, row["id"] in moved, relations.get(row["id"], ()))
            if change is not None:
                self.tell(execute, row["id"], change)

    def _changed(
        self, row: Row, former: StoredChange | None, moved: bool, relations: Sequence[Relation]
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

    def _gone(self, row: Row, former: StoredChange | None) -> Change | None:
        """The tombstone of a record that others were told of."""
        if former is None or (former.document and former.change.erased):
            return None
        return self.tombstone(row, former.seen)

    def _moved(self, execute: Execute, after: int, upto: int) -> set[int]:
        """The records whose presence changed between these entries of the history."""
        rows = execute(
            "SELECT DISTINCT h.record FROM record_history AS h, json_each(h.former)"
            f" WHERE h.id > ? AND h.id <= ? AND h.former IS NOT NULL AND {_STANDING}",
            (after, upto),
        )
        return {record for (record,) in rows.fetchall()}

    def _relations(self, numbers: Sequence[int]) -> dict[int, list[Relation]]:
        """Returns the relations of these records, as far as everyone who sees the records may know them."""
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
            edge = Relation(relation, other, weight, agent, at, bool(inward))
            found.setdefault(record, []).append(edge)
        return found
