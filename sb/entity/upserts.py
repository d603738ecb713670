"""What does a core have one of each? Drives by their type and relationships by their name: found and changed, or made.

Source: the core protocol, "Upsert semantics". The version that was read is the one that is expected when it is written, so of
two that change the same, one is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sb.entity.routing import Routing, checked_sources, clamped, normal_source_type, normal_word, said
from sb.types import Drive, Relationship, SourceType
from sb.types.vocabulary import DRIVE_TYPES

_INTENSITY = 0.5
_ENTITY_TYPE, _RELATIONSHIP_TYPE = "person", "interaction"
Kept = TypeVar("Kept", Drive, Relationship)


class Upserts(Routing):
    """Writes what there is one of. Only what is given is changed; id, `created_at` and the chain of versions stay.

    Raises:
        VersionConflictError: somebody else changed it since it was read: call again. Otherwise as `RoutedWrites`.
    """

    def drive(
        self,
        drive_type: str,
        *,
        intensity: float | None = None,
        focus_areas: list[str] | None = None,
        source: str | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
        source_type: SourceType | str | None = None,
    ) -> str:
        """What pushes.

        Args:
            intensity: from 0 to 1, 0.5 for a new one; what is beyond counts as the nearest.
        """
        stack = self._required_stack()
        kind = normal_word("drive_type", drive_type, DRIVE_TYPES)
        changes = self._given(source, source_type, derived_from, context, context_tags)
        if intensity is not None:
            changes["intensity"] = clamped("intensity", intensity)
        if focus_areas is not None:
            changes["focus_areas"] = focus_areas

        def changed(drive: Drive) -> bool:
            vars(drive).update(changes, updated_at=self._now())
            return stack.update_drive_atomic(drive)

        def made() -> str:
            origin = self._origin(stack, source, source_type, derived_from, context, context_tags)
            drive = Drive(drive_type=kind, updated_at=origin["created_at"], intensity=_INTENSITY, **origin)
            vars(drive).update(changes)
            return stack.save_drive(drive)

        return _upserted(stack.get_drive(kind), changed, made)

    def relationship(
        self,
        other_stack_id: str,
        *,
        trust_level: float | None = None,
        notes: str | None = None,
        interaction_type: str | None = None,
        entity_type: str | None = None,
        source: str | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
        source_type: SourceType | str | None = None,
    ) -> str:
        """How it stands with somebody or something; each call counts as an interaction.

        Args:
            other_stack_id: their name.
            trust_level: from 0 to 1, kept as a sentiment from -1 to 1; what is beyond counts as the nearest.
        """
        stack = self._required_stack()
        said("other_stack_id", other_stack_id)
        changes = self._given(source, source_type, derived_from, context, context_tags)
        if trust_level is not None:
            changes["sentiment"] = 2 * clamped("trust_level", trust_level) - 1
        told = {"notes": notes, "relationship_type": interaction_type, "entity_type": entity_type}
        changes |= {name: value for name, value in told.items() if value is not None}

        def changed(known: Relationship) -> bool:
            vars(known).update(changes, last_interaction=self._now())
            known.interaction_count += 1
            return stack.update_relationship_atomic(known)

        def made() -> str:
            origin = self._origin(stack, source, source_type, derived_from, context, context_tags)
            new = Relationship(
                entity_name=other_stack_id,
                entity_type=_ENTITY_TYPE,
                relationship_type=_RELATIONSHIP_TYPE,
                interaction_count=1,
                last_interaction=origin["created_at"],
                **origin,
            )
            vars(new).update(changes)
            return stack.save_relationship(new)

        return _upserted(stack.get_relationship(other_stack_id), changed, made)

    def _given(
        self,
        source: str | None,
        source_type: SourceType | str | None,
        derived_from: list[str] | None,
        context: str | None,
        context_tags: list[str] | None,
    ) -> dict[str, Any]:
        """Of where it comes from, what the caller says."""
        given = {
            "source_entity": None if source is None else self._source(source),
            "source_type": None if source_type is None else normal_source_type(source_type),
            "derived_from": checked_sources(derived_from),
            "context": context,
            "context_tags": context_tags,
        }
        return {name: value for name, value in given.items() if value is not None}


def _upserted(found: Kept | None, changed: Callable[[Kept], bool], made: Callable[[], str]) -> str:
    """The id of what was found and changed; of a new one where there is none, or where it went away meanwhile."""
    return found.id if found is not None and changed(found) else made()
