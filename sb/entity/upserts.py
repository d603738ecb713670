"""Upsert drives by their type and relationships by their name.

Source: the core protocol, "Upsert semantics". The version that was read is the one that is expected when it is written, so of
two that change the same, one is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

from sb.entity.routing import Origin, Routing, clamped, non_blank, normal_word
from sb.protocols.types import Drive, Relationship
from sb.protocols.types.vocabulary import DRIVE_TYPES

_NEW_DRIVE: Mapping[str, Any] = {"intensity": 0.5}
_NEW_RELATIONSHIP: Mapping[str, Any] = {"entity_type": "person", "relationship_type": "interaction"}


class Upserts(Routing):
    """Writes the kinds that have a key. Only what is given is changed; id, `created_at` and the chain of versions stay.

    Raises:
        VersionConflictError: somebody else changed it since it was read: call again. Otherwise as `RoutedWrites`.
    """

    def drive(
        self,
        drive_type: str,
        *,
        intensity: float | None = None,
        focus_areas: list[str] | None = None,
        **origin: Unpack[Origin],
    ) -> str:
        """Save or update the drive of a type.

        Args:
            intensity: from 0 to 1, 0.5 for a new one; what is beyond counts as the nearest.
        """

        def touched(drive: Drive | None) -> dict[str, Any]:
            return {"updated_at": self._now()}

        self._required_stack()
        share = None if intensity is None else clamped("intensity", intensity)
        key = {"drive_type": normal_word("drive_type", drive_type, DRIVE_TYPES)}
        changes = {"intensity": share, "focus_areas": focus_areas}
        return self._upsert("drive", key, changes, origin, touched, _NEW_DRIVE)

    def relationship(
        self,
        other_stack_id: str,
        *,
        trust_level: float | None = None,
        notes: str | None = None,
        interaction_type: str | None = None,
        entity_type: str | None = None,
        **origin: Unpack[Origin],
    ) -> str:
        """Save or update the relationship with somebody or something; each call counts as an interaction.

        Args:
            other_stack_id: their name.
            trust_level: from 0 to 1, kept as a sentiment from -1 to 1; what is beyond counts as the nearest.
        """

        def touched(known: Relationship | None) -> dict[str, Any]:
            count = 1 if known is None else known.interaction_count + 1
            return {"interaction_count": count, "last_interaction": self._now()}

        self._required_stack()
        changes = {
            "sentiment": None if trust_level is None else 2 * clamped("trust_level", trust_level) - 1,
            "notes": notes,
            "relationship_type": interaction_type,
            "entity_type": entity_type,
        }
        key = {"entity_name": non_blank("other_stack_id", other_stack_id)}
        return self._upsert("relationship", key, changes, origin, touched, _NEW_RELATIONSHIP)

    def _upsert(
        self,
        kind: str,
        key: Mapping[str, str],
        changes: Mapping[str, Any],
        origin: Origin,
        touched: Callable[[Any], dict[str, Any]],
        new: Mapping[str, Any],
    ) -> str:
        """Updates the record of a key, or saves a new one where there is none or it went away meanwhile; returns its id.

        Args:
            changes: attributes to set, unless they are None. touched: attributes that every call sets.
            new: attributes of a new record, unless `changes` sets them.
        """
        stack = self._required_stack()
        given = {name: value for name, value in changes.items() if value is not None}
        found = getattr(stack, f"get_{kind}")(*key.values())
        if found is not None:
            vars(found).update(given | self._given(**origin) | touched(found))
            if getattr(stack, f"update_{kind}_atomic")(found):
                return str(found.id)
        return self._save(kind, origin, **{**key, **new, **given, **touched(None)})
