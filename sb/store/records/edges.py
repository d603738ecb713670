"""Edges: typed, weighted relations between records, lineage included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sb.base.values.frozen import frozen
from sb.store.database import Database
from sb.store.records.places import Execute

DERIVED_FROM = "derived_from"
SUPERSEDES = "supersedes"
MERGED_INTO = "merged_into"  # from a restatement to the memory that the gate merged it into
LINEAGE = frozenset({DERIVED_FROM, SUPERSEDES})
_NEXT = (
    "1 + max((SELECT coalesce(max(id), 0) FROM edges), (SELECT coalesce(max(edge), 0) FROM sync_replicas))"
)
_AT_ONCE = 16  # records whose relations one statement reads
_LOOKED_AT = 256  # relations of one record, in one direction, of which the ends are looked up


@frozen
class Edge:
    """One relation between two records, by their numbers."""

    source: int
    relation: str
    target: int
    weight: float = 1.0


class EdgeStore:
    """The relations of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, execute: Execute, edge: Edge, *, place: int, agent: str, at: float) -> None:
        """Adds a relation; an existing one gets the larger of both weights.

        What is new, or weighs more, gets a number that no relation had when a synchronisation last looked: it finds it so.

        Args:
            place: who may see it. at: seconds since the epoch.
        """
        execute(
            "INSERT INTO edges (id, source, relation, target, weight, place, agent, created_at)"
            f" VALUES ({_NEXT}, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (source, relation, target) DO UPDATE SET weight = excluded.weight, id = excluded.id"
            " WHERE excluded.weight > weight",
            (edge.source, edge.relation, edge.target, edge.weight, place, agent, at),
        )

    def around(self, records: Sequence[int], places: Sequence[int]) -> list[Edge]:
        """The relations of any of these records with others, as far as both ends and the relation can be seen.

        Args:
            places: the places in view.
        """
        marks, seen = _marks(records), _marks(places)
        sql = " UNION ".join(
            f"SELECT e.source, e.relation, e.target, e.weight FROM edges AS e"
            f" JOIN records AS other ON other.id = e.{far}"
            f" WHERE e.{near} IN ({marks}) AND e.place IN ({seen})"
            f" AND other.place IN ({seen}) AND other.state = 'active'"
            for near, far in (("source", "target"), ("target", "source"))
        )
        once = (*records, *places, *places)
        rows = self._database.query(f"{sql} ORDER BY 1, 2, 3", once + once)
        return [Edge(*row) for row in rows]

    def strongest(self, records: Sequence[int], places: Sequence[int], each: int) -> list[Edge]:
        """The strongest relations of each of these records with others that can be seen, the strongest first.

        Args:
            places: the places in view. each: how many of one record; of a record with very many relations only the
                strongest that can be seen are looked at.
        """
        seen = _marks(places)
        of_one = " UNION ALL ".join(
            "SELECT * FROM (SELECT e.source, e.relation, e.target, e.weight FROM ("
            f" SELECT * FROM edges WHERE {near} = ? AND place IN ({seen}) ORDER BY weight DESC LIMIT +?"
            f") AS e JOIN records AS other ON other.id = e.{far} AND +other.place IN ({seen})"
            " AND other.state = 'active' ORDER BY e.weight DESC, e.id LIMIT +?)"
            for near, far in (("source", "target"), ("target", "source"))
        )
        found: dict[Edge, None] = {}
        for start in range(0, len(records), _AT_ONCE):
            some = records[start : start + _AT_ONCE]
            values = [
                value
                for record in some
                for _ in range(2)
                for value in (record, *places, _LOOKED_AT, *places, each)
            ]
            sql = " UNION ALL ".join([of_one] * len(some))
            found.update((Edge(*row), None) for row in self._database.query(sql, tuple(values)))
        return sorted(found, key=lambda edge: -edge.weight)

    def lineage(self, record: int) -> list[Edge]:
        """Returns the edges to a record's sources and derived records, whoever may see them: for operators."""
        rows = self._database.query(
            "SELECT source, relation, target, weight FROM edges"
            " WHERE (source = ? OR target = ?) AND relation IN (?, ?) ORDER BY id",
            (record, record, DERIVED_FROM, SUPERSEDES),
        )
        return [Edge(*row) for row in rows]

    def within(self, places: Sequence[int], last: int) -> Iterator[dict[str, Any]]:
        """The relations between records in these places, up to the number `last`, by the public ids of their ends."""
        marks, after = _marks(places), 0
        names = ("source", "relation", "target", "weight", "place", "agent", "created_at")
        while rows := self._database.query(
            "SELECT e.id, s.uid, e.relation, t.uid, e.weight, e.place, e.agent, e.created_at FROM edges AS e"
            " JOIN records AS s ON s.id = e.source JOIN records AS t ON t.id = e.target"
            f" WHERE e.id > ? AND e.place IN ({marks}) AND s.place IN ({marks}) AND t.place IN ({marks})"
            " AND max(s.id, t.id) <= ? AND 'quarantined' NOT IN (s.state, t.state) ORDER BY e.id LIMIT 1000",
            (after, *places, *places, *places, last),
        ):
            yield from (dict(zip(names, row[1:], strict=True)) for row in rows)
            after = rows[-1][0]

    def retract(self, execute: Execute, record: int) -> int:
        """Remove all relations of a record; returns how many these were."""
        return int(execute("DELETE FROM edges WHERE ? IN (source, target)", (record,)).rowcount)

    def remove(self, execute: Execute, edge: Edge) -> None:
        """Remove one relation."""
        execute(
            "DELETE FROM edges WHERE source = ? AND relation = ? AND target = ?",
            (edge.source, edge.relation, edge.target),
        )

    def drop_orphans(self, execute: Execute) -> int:
        """Remove the relations that `orphans` counts; returns how many these were."""
        there = "SELECT id FROM records WHERE state <> 'erased'"
        cursor = execute(f"DELETE FROM edges WHERE source NOT IN ({there}) OR target NOT IN ({there})")
        return int(cursor.rowcount)

    def count(self) -> int:
        return int(self._database.query("SELECT count(*) FROM edges")[0][0])

    def orphans(self) -> int:
        """Counts relations to missing or erased records; a sound database has none."""
        sql = (
            "SELECT count(*) FROM edges AS e LEFT JOIN records AS s ON s.id = e.source"
            " LEFT JOIN records AS t ON t.id = e.target"
            " WHERE coalesce(s.state, 'erased') = 'erased' OR coalesce(t.state, 'erased') = 'erased'"
        )
        return int(self._database.query(sql)[0][0])


def _marks(values: Sequence[int]) -> str:
    return ", ".join("?" * len(values)) or "NULL"
