"""The parts of a Brain that its operations share, and the record that a call names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sb.base.secrets.redaction import one_line
from sb.base.values.references import full_one, is_prefix
from sb.config import Config
from sb.errors import DeniedError, NotFoundError
from sb.memory.gate.confidence import first
from sb.memory.gate.incoming import Gate
from sb.memory.lazy import lazy
from sb.memory.search import Searcher
from sb.memory.session_writer import SessionWriter
from sb.memory.space import ID_PREFIX, Space
from sb.memory.trust.scores import believed
from sb.protocols.types import Fact
from sb.protocols.types.brain import FactFields
from sb.store.records.columns import ACTIVE, QUARANTINED, Row
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import Place


class Operations:
    """The shared base of a Brain's operations."""

    config: Config
    agent_id: str
    stack: str
    space: Space
    writer: SessionWriter
    searcher: Searcher

    @lazy
    def gate(self) -> Gate:
        """The gate that decides what `remember` saves as a memory of its own."""
        return Gate(self.space, self.writer.record_writer)

    def superseded_by(self, record: str) -> str:
        """The id of the memory that corrected one that this agent saved; "" if none did."""
        row = self.space.records.find(record)
        return "" if row is None or row["agent"] != self.agent_id else self.space.superseded_by(row)

    def _place(self, project: str | None, scope: str | None, private: bool) -> Place:
        return Place(self.stack, self.writer.chosen(project, scope), self.agent_id if private else "")

    def _fact(self, content: str, category: str, place: Place, more: FactFields) -> Fact:
        """A fact, as sure as its source and category make it where nobody says how sure."""
        if "source_type" in more:
            more["source_type"] = believed(more["source_type"], is_person=self.writer.record_writer.is_person)
        if "confidence" not in more and "evidence_n" not in more:
            source = more.get("source_type", "agent-written")
            more = {**more, **first(source, self.gate.settings(place, category).confidence)}
        return Fact(content=content, category=category, **more)

    def _visible_row(self, record: str, states: Iterable[str] | None = (ACTIVE,)) -> Row:
        """The row of a record that this agent sees: by its id, or the entity of that name.

        Args:
            states: that it may be in; None for all but quarantined.
        """
        places = self.writer.places()
        row = self.space.records.find(record) or self._beginning(record, places)
        own = row is not None and record.startswith(ID_PREFIX)  # others may be an entity's name
        rows = [*([] if own else self._entities(record, places)), *([row] if row else [])]
        seen = [entry for entry in rows if entry["place"] in places]
        for item in seen:
            if item["state"] in states if states else item["state"] != QUARANTINED:
                return item
        for each in (entry for entry in rows if entry["place"] not in places):
            self.space.reader.note_closed(each)
        self.space.reader.note_denied()
        if seen:
            from sb.memory.beliefs.revision import not_active

            raise not_active(self.space, seen[0])
        problem = f"no memory {one_line(record, 80)!r}, or not visible to you"
        raise NotFoundError(problem, "sb memory search finds ids")

    def _changeable_row(self, record: str, states: Iterable[str] = (ACTIVE,)) -> Row:
        """The row of a record that this agent sees and may read, to change how it stands.

        Raises:
            DeniedError: it is withheld; that was put on record.
        """
        row = self._visible_row(record, states)
        if reason := self.space.reader.refusal(row):
            self.space.reader.note_denied()
            raise DeniedError(f"memory {row['uid']} is withheld: {reason}", "ask an operator to change it")
        return row

    def _beginning(self, prefix: str, places: Sequence[int]) -> Row | None:
        """The only record in these places whose id begins so; raises UsageError for several."""
        if not (prefix.startswith(ID_PREFIX) and is_prefix(prefix)):
            return None
        marks = ", ".join("?" * len(places))
        condition = f"r.uid >= ? AND r.uid < ? AND r.place IN ({marks})"
        rows = list(self.space.records.select(condition, (prefix, prefix + "\U0010ffff", *places), limit=8))
        meant = full_one(prefix, (row["uid"] for row in rows))
        return next((row for row in rows if row["uid"] == meant), None)

    def _entities(self, name: str, places: Sequence[int]) -> list[Row]:
        """The entities of a name, the one of the nearest scope first."""
        folded = DESCRIPTORS["entity"].normal(name)
        keys = dict.fromkeys((("entity", folded), ("relationship", name), ("relationship", folded)))
        found = (self.space.records.keyed(place, *key) for place in places for key in keys)
        return [row for row in found if row is not None]
