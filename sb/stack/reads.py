"""Read the memories of a stack, kind by kind.

Source: the stack protocol, "Read operations". Strong and fading memories are given, the newest first unless said otherwise;
`include_weak` adds the weak ones, `include_forgotten` everything.
"""

from __future__ import annotations

from sb.protocols.types import Belief, Drive, Episode, Goal, Note, RawEntry, Relationship, Value
from sb.protocols.types.vocabulary import BELIEF_TYPES, GOAL_STATUSES, NOTE_TYPES, WEAK
from sb.stack.checks import check_text, check_word, checked_share
from sb.stack.queries import StackReader

_SENTIMENT = (
    "coalesce(json_extract(r.fields, '$.sentiment'), json_extract(r.fields, '$.standing.sentiment'), 0)"
)


class Reads:
    """The reading half of a stack."""

    _reader: StackReader

    def get_episodes(
        self,
        *,
        limit: int = 50,
        tags: list[str] | None = None,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Episode]:
        """Episodes, with any of these tags if some are given."""
        query = self._reader.query(
            "episode",
            tags=tags,
            context=context,
            include_weak=include_weak,
            include_forgotten=include_forgotten,
        )
        return self._reader.read(query, limit=limit)

    def get_beliefs(
        self,
        *,
        limit: int = 50,
        belief_type: str | None = None,
        min_confidence: float | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Belief]:
        """Beliefs that are still held, at least so sure if that is asked for."""
        query = self._reader.query("belief", include_weak=include_weak, include_forgotten=include_forgotten)
        if belief_type is not None:
            check_word("belief_type", belief_type, BELIEF_TYPES)
            others = BELIEF_TYPES if belief_type == "fact" else frozenset({belief_type})
            query.add(
                "(r.category = ? OR r.kind = 'fact' AND r.category "
                + ("NOT IN" if belief_type == "fact" else "IN")
                + f" ({', '.join('?' * len(others))}))",
                belief_type,
                *sorted(others),
            )
        if min_confidence is not None:
            query.add("r.confidence >= ?", checked_share("min_confidence", min_confidence))
        return self._reader.read(query, limit=limit)

    def get_values(
        self,
        *,
        limit: int = 50,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Value]:
        """Values, the most important first."""
        query = self._reader.query(
            "value", context=context, include_weak=include_weak, include_forgotten=include_forgotten
        )
        return self._reader.read(
            query, limit=limit, order="json_extract(r.fields, '$.priority') DESC, r.id DESC"
        )

    def get_goals(
        self,
        *,
        limit: int = 50,
        status: str | None = None,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Goal]:
        """Goals of a status, or of any."""
        if status is not None:
            check_word("status", status, GOAL_STATUSES)
        query = self._reader.query(
            "goal", context=context, include_weak=include_weak, include_forgotten=include_forgotten
        )
        return self._reader.read(query.equal("status", status), limit=limit)

    def get_notes(
        self,
        *,
        limit: int = 50,
        note_type: str | None = None,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Note]:
        """Notes of a type, or of any."""
        query = self._reader.query(
            "note", context=context, include_weak=include_weak, include_forgotten=include_forgotten
        )
        if note_type is not None:
            check_word("note_type", note_type, NOTE_TYPES)
            query.add("(r.category = ? OR r.kind = 'decision' AND ? = 'decision')", note_type, note_type)
        return self._reader.read(query, limit=limit)

    def get_drive(self, drive_type: str) -> Drive | None:
        """The drive of a type."""
        return self._reader.keyed("drive", drive_type)

    def get_drives(self, *, include_expired: bool = False) -> list[Drive]:
        """Drives, and those that have faded if asked for."""
        query = self._reader.query("drive", include_weak=True, include_forgotten=include_expired)
        if not include_expired:
            query.add("r.strength > ?", WEAK)
        return self._reader.read(query, limit=None)

    def get_relationship(self, entity_name: str) -> Relationship | None:
        """The relationship with somebody or something of that name."""
        check_text("entity_name", entity_name)
        return self._reader.keyed("relationship", entity_name)

    def get_relationships(
        self, *, entity_id: str | None = None, entity_type: str | None = None, min_trust: float | None = None
    ) -> list[Relationship]:
        """Relationships: with one name, of one type of entity, or with at least so much trust, from 0 to 1."""
        query = self._reader.query("relationship")
        if entity_id is not None:
            query.add(
                "coalesce(json_extract(r.fields, '$.entity_name'), json_extract(r.fields, '$.name')) = ?",
                entity_id,
            )
        if entity_type is not None:
            query.add("r.category = ?", entity_type)
        if min_trust is not None:
            least = checked_share("min_trust", min_trust)
            query.add(f"({_SENTIMENT} + 1) / 2 >= ?", least - 1e-9)  # 2t - 1 and back again is not quite t
        return self._reader.read(query, limit=None)

    def get_raw(self, *, limit: int = 50, tags: list[str] | None = None) -> list[RawEntry]:
        """Raw entries, the latest first."""
        return self._reader.read(self._reader.query("raw", tags=tags), limit=limit)
