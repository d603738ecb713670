"""Closure of a revision: the records that no longer rest on anything once some have fallen.

Source: the memory whitepaper, "belief revision (AGM)". A record rests on each of the records that it was derived from: one that
stands is enough. Records that only rest on each other, in a circle, rest on nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import orjson

from sb.memory.space import Space
from sb.store.records.columns import ACTIVE, FORGOTTEN, SUPERSEDED, Row
from sb.store.records.edges import DERIVED_FROM

# What is claimed. What happened, was said, or is a thing stands by itself, whatever it was made from.
CLAIMS = (
    "fact", "decision", "lesson", "belief", "value", "goal", "note", "playbook", "summary", "self_narrative",
    "entity_model",
)  # fmt: skip
STANDS = (ACTIVE, FORGOTTEN)  # what is forgotten was not said to be false
_ANNOTATIONS = frozenset({"context", "sb", "kernle"})  # references that name no source


def ungrounded(supports: Mapping[int, Collection[int]], grounded: Iterable[int]) -> set[int]:
    """The records that rest on nothing: neither grounded, nor supported by one that is, in any number of steps.

    Args:
        supports: the records that each rests on, as far as these are among them.
        grounded: those that rest on something elsewhere, too.
    """
    bears: dict[int, list[int]] = {}
    for record, sources in supports.items():
        for source in sources:
            bears.setdefault(source, []).append(record)
    supported = {record for record in grounded if record in supports}
    frontier = list(supported)
    while frontier:
        frontier = [
            record
            for source in frontier
            for record in bears.get(source, ())
            if record in supports and record not in supported
        ]
        supported.update(frontier)
    return supports.keys() - supported


class Lineage:
    """Reads what rests on what in one database."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def below(self, records: Sequence[int], states: Sequence[str] = STANDS) -> list[int]:
        """The claims derived from these records in any number of steps, those in these states alone."""
        kinds, known = (", ".join("?" * len(some)) for some in (CLAIMS, states))
        sql = (
            "WITH RECURSIVE down (id) AS (SELECT value FROM json_each(?) UNION SELECT e.source FROM down"
            f" CROSS JOIN edges AS e ON e.target = down.id AND e.relation = '{DERIVED_FROM}'"
            f" CROSS JOIN records AS r ON r.id = e.source AND r.kind IN ({kinds}) AND r.state IN ({known}))"
            " SELECT id FROM down ORDER BY id"
        )
        listed = orjson.dumps(list(records)).decode()
        found = self._space.database.query(sql, (listed, *CLAIMS, *states))
        return [number for (number,) in found if number not in records]

    def falling(self, losers: Sequence[int], keep: Collection[int] = ()) -> tuple[list[Row], list[int]]:
        """The records that fall with some, and the numbers of those that rest on what falls, and stand.

        Args:
            keep: records that stand whatever they were made from.
        """
        affected = [number for number in self.below(losers) if number not in keep]
        rows = {row["id"]: row for row in self._space.records.rows(affected)}
        supports, grounded = self.supports(list(rows.values()), {*losers})
        fallen = ungrounded(supports, grounded)
        above = {*losers, *fallen}
        resting = [number for number in affected if number not in fallen and above & supports[number]]
        return [rows[number] for number in sorted(fallen)], resting

    def supports(
        self, rows: Sequence[Row], fallen: Collection[int] = ()
    ) -> tuple[dict[int, set[int]], set[int]]:
        """The sources of these records among them, and those records that also rest on something elsewhere.

        Args:
            fallen: records that no longer stand; they are named as sources, and ground nothing.
        """
        numbers = {row["id"] for row in rows}
        sources: dict[int, dict[str, tuple[int, str]]] = {number: {} for number in numbers}
        listed = orjson.dumps(sorted(numbers)).decode()
        for source, target, uid, state in self._space.database.query(
            "SELECT e.source, e.target, t.uid, t.state FROM json_each(?) AS j CROSS JOIN edges AS e ON e.source = j.value"
            f" AND e.relation = '{DERIVED_FROM}' JOIN records AS t ON t.id = e.target",
            (listed,),
        ):
            sources[source][uid] = (target, state)
        supports, grounded = dict[int, set[int]](), set[int]()
        for row in rows:
            known = sources[row["id"]]
            within = {target for target, _ in known.values() if target in numbers or target in fallen}
            supports[row["id"]] = within
            stands = any(state in STANDS for target, state in known.values() if target not in within)
            if stands or self.rests_elsewhere(row, known):
                grounded.add(row["id"])
        return supports, grounded

    def missing(self, row: Row) -> str:
        """The id of a superseded record without which this one rests on nothing, or ""."""
        if row["id"] in self.supports([row])[1]:
            return ""
        sources = [
            edge.target
            for edge in self._space.edges.lineage(row["id"])
            if (edge.source, edge.relation) == (row["id"], DERIVED_FROM)
        ]
        states = self._space.records.rows(sources, ("uid", "state"))
        return next((source["uid"] for source in states if source["state"] == SUPERSEDED), "")

    def rests_elsewhere(self, row: Row, known: Collection[str]) -> bool:
        """True if a record names a source beyond its relations: a call, a document, a record that cannot be related."""
        references = orjson.loads(row["fields"]).get("derived_from") or ()
        named = [(str(item).partition(":")[0], str(item).rpartition(":")[2]) for item in references]
        others = [uid for kind, uid in named if uid not in known and kind not in _ANNOTATIONS]
        if not others:
            return not known  # it was made from nothing
        here = self._space.records.known(others)
        return any(uid not in here or here[uid]["state"] in STANDS for uid in others)


def sources_of(space: Space, records: Sequence[int]) -> list[Row]:
    """The records that these were directly derived from."""
    targets = {
        edge.target
        for number in records
        for edge in space.edges.lineage(number)
        if edge.source == number and edge.relation == DERIVED_FROM
    }
    return [row for row in space.records.rows(sorted(targets)) if row["state"] != SUPERSEDED]
