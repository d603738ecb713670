"""Merge an entity with the relationship of the same name into one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import orjson

from sb.protocols.types import EntityRecord, Relationship

ONE: Mapping[str, str] = {"entity": "relationship", "relationship": "entity"}  # kinds that stand for the same
_BETWEEN = "; "


def added(known: Relationship, new: EntityRecord) -> Relationship:
    """The relationship that is there with what an entity of its name says.

    A relationship has no place for properties, which become notes, nor for when what an entity tells was.
    """
    notes = [text for observation in new.observations for text in observation.split(_BETWEEN)]
    notes += [
        f"{name}: {value if isinstance(value, str) else orjson.dumps(value).decode()}"
        for name, value in new.properties.items()
    ]
    before = known.notes.split(_BETWEEN) if known.notes else []
    tags = list(dict.fromkeys([*(known.context_tags or ()), *(new.tags or ())]))
    return replace(
        known,
        entity_type=new.entity_type,
        notes=_BETWEEN.join(dict.fromkeys([*before, *notes])) or None,
        confidence=new.confidence,
        is_protected=new.is_protected or known.is_protected,
        source_entity=new.source_entity or known.source_entity,
        derived_from=known.derived_from if new.derived_from is None else new.derived_from,
        context_tags=tags or known.context_tags,
    )
