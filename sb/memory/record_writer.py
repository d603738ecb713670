"""Write records with their index: words counted, key looked up, sources related, vectors made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sb.errors import DeniedError
from sb.memory.access import WRITE
from sb.memory.decay import recovered
from sb.memory.entities import ONE, added
from sb.memory.masking import Labels, masked_row, masked_rows, masked_text
from sb.memory.quarantine.holding import Holding
from sb.memory.ranking.encoding import NOTHING, encoded
from sb.memory.space import Space
from sb.memory.trust.scores import believed
from sb.store.records.columns import CONTENT, FORGOTTEN, QUARANTINED, Row
from sb.store.records.consent import inherited
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.edges import DERIVED_FROM, Edge
from sb.store.records.places import Execute

Pair = tuple[Row, Any]  # a row, and the record that it was made of


class RecordWriter:
    """Writes records of any kind for one agent, within a transaction of whoever calls it.

    Args:
        door: the source type of everything that comes this way, whatever it says of itself; see `Holding`.
    """

    def __init__(self, space: Space, agent: str, door: str = "") -> None:
        self.space = space
        self.agent = agent
        self.masked: Labels = {}  # what it met of secrets
        self.held: dict[str, str] = {}  # why what a `Writer` wrote last is quarantined, by id
        self.is_person = False  # whether it is believed that a user wrote something
        self.holding = Holding(space, door)
        self.is_operator = False  # who may change whatever anybody wrote

    def pairs(self, records: Sequence[Any]) -> list[Pair]:
        """New records with their rows, but for place and session.

        Raises:
            ValueError: a field has a value that it cannot have.
        """
        rows = zip(masked_rows(records, self.masked), records, strict=True)
        return [(self.completed(row, record), record) for row, record in rows]

    def completed(self, row: Row, record: Any) -> Row:
        """The row of a new record with what the record itself does not say."""
        # As fine as a datetime, so that what is said again changes nothing.
        now = round(self.space.clock.now(), 6)
        row["uid"] = row["uid"] or self.space.new_id(now)
        row["agent"] = self.agent
        for name in ("created_at", "updated_at", "happened_at"):
            if row.get(name) is None:
                row[name] = now
        count_words(row)
        return row

    def believe(self, record: Any) -> None:
        """Lower what only a person may say of a record."""
        if hasattr(record, "source_type"):
            record.source_type = believed(record.source_type, is_person=self.is_person)

    def keep(self, execute: Execute, pairs: Sequence[Pair]) -> None:
        """Insert what is new, update what is there, and make the vectors of both; rows get their `id`."""
        new: list[Pair] = []
        known: set[tuple[str, str]] = set()
        quoting: list[int] = []
        for row, record in pairs:
            names = [("", row["uid"]), *([(row["kind"], row["key"])] if row["key"] else ())]
            if not known.isdisjoint(names):  # two of one key, or of one id, are one record
                self._inserted(execute, new)
                new, known = [], set()
            changed = self._updated(execute, row, record)
            if changed is not None:
                quoting += changed
            else:
                new.append((row, record))
                known.update(names)
        self._inserted(execute, new)
        self.space.embed(execute, list(dict.fromkeys([*(row["id"] for row, _ in pairs), *quoting])))

    def check_right(self, place: int, right: str = WRITE) -> None:
        """Refuse what this agent has no right to in a place.

        Raises:
            DeniedError: it has none.
        """
        if self.space.rights and not self.is_operator:
            self.space.rights.check(self.agent, right, self.space.places.numbered(place).scope)

    def check_trusted(self, former: Row) -> None:
        """Refuse to let this agent change what one wrote that is trusted more.

        Raises:
            DeniedError: it is trusted less.
        """
        if not self.agent or self.is_operator:
            return
        stack = self.space.places.numbered(former["place"]).stack
        if self.space.trust.is_lower(stack, self.agent, former["agent"]):
            raise DeniedError(
                f"{self.agent} is trusted less than {former['agent'] or 'who'} wrote {former['uid']}, and cannot change it",
                "save what differs as a memory of its own; sb trust list has the scores",
            )

    def change(
        self, execute: Execute, row: Row, changes: Mapping[str, Any], operation: str, reason: str
    ) -> None:
        """Change something of a record that is not its content, and say why in its history."""
        self.space.records.update(
            execute,
            row["id"],
            changes,
            actor=self.agent,
            operation=operation,
            reason=masked_text(reason, self.masked),
        )
        if changes.get("state", row["state"]) != row["state"]:
            self.reindex(execute, row["id"])

    def reindex(self, execute: Execute, number: int) -> None:
        """Make the vectors of a record anew, and of those that quote it, since its state is another one."""
        self.space.embed(execute, [number, *self.space.vectors.drop(execute, number)])

    def former(self, row: Row, record: Any) -> Row | None:
        """The record that a new one takes the place of: the one of its key, or that stands for the same."""
        if not row["key"]:
            return None
        return self.space.records.keyed(row["place"], row["kind"], row["key"]) or self.twin(row, record)

    def twin(self, row: Row, record: Any) -> Row | None:
        """The relationship of an entity's name, or the other way round."""
        kind = ONE.get(row["kind"])
        if kind is None:
            return None
        name = getattr(record, DESCRIPTORS[row["kind"]].key or "")
        keys = dict.fromkeys((DESCRIPTORS[kind].normal(name), row["key"]))
        found = (self.space.records.keyed(row["place"], kind, key) for key in keys)
        return next((item for item in found if item is not None), None)

    def update(self, execute: Execute, row: Row, former: Row, record: Any) -> None:
        """Updates an existing record with what a new one says."""
        known = self.space.record(former)
        about = DESCRIPTORS[row["kind"]]
        both = about.merged(known, record) if former["kind"] == row["kind"] else added(known, record)
        both = replace(both, **inherited([former, row], former["agent"]))
        merged = masked_row(both, self.masked, former)
        count_words(merged)
        changes = {name: merged[name] for name in (*CONTENT, "terms", "length")}
        if former["state"] == FORGOTTEN:  # what an operator took out otherwise stays out
            changes |= recovered(self.space.records.history(former["id"]))
        if row.get("state") == QUARANTINED:
            changes["state"] = QUARANTINED
        self.space.records.update(execute, former["id"], changes, actor=row["agent"])

    def _updated(self, execute: Execute, row: Row, record: Any) -> list[int] | None:
        """Update such a record, if there is one; returns those that quote what it said before."""
        former = self.former(row, record)
        if former is None:
            return None
        self.check_trusted(former)
        self.update(execute, row, former, record)
        row.update(uid=former["uid"], id=former["id"])
        now = self.space.records.row(former["id"])
        if now is None or (now["text"], now["state"]) == (former["text"], former["state"]):
            return []
        return self.space.vectors.drop(execute, former["id"])

    def _inserted(self, execute: Execute, new: Sequence[Pair]) -> None:
        numbers = self.space.records.insert(execute, [row for row, _ in new])
        for number, (row, record) in zip(numbers, new, strict=True):
            row["id"] = number
            self._derived(execute, number, row, record)

    def sees(self, row: Row, other: Row) -> bool:
        """True if who wrote one record sees another: not in another stack, nor what somebody else keeps for itself."""
        here, there = (self.space.places.numbered(item["place"]) for item in (row, other))
        return here.stack == there.stack and there.owner in ("", row["agent"])

    def _derived(self, execute: Execute, number: int, row: Row, record: Any) -> None:
        """Edges to what the record was made from, as far as that is here and whoever wrote it sees it."""
        for reference in getattr(record, "derived_from", None) or ():
            source = self.space.records.find(reference.rpartition(":")[2])
            if source is not None and source["id"] != number and self.sees(row, source):
                edge = Edge(number, DERIVED_FROM, source["id"])
                self.space.edges.add(
                    execute, edge, place=row["place"], agent=row["agent"], at=row["created_at"]
                )


def count_words(row: Row) -> None:
    """Put into a row what ranking counts in its text."""
    row["terms"] = encoded(row["text"])
    row["length"] = (len(row["terms"]) - len(NOTHING)) // 4
