"""Views of a Brain's records in a stack: fact as belief, decision as note, event as episode, entity as relationship.

What is changed through such a view is changed in the record itself, as far as that has a place for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from sb.base.text import with_article
from sb.base.values.frozen import frozen
from sb.protocols.types import (
    Belief,
    Decision,
    EntityRecord,
    Episode,
    Event,
    Fact,
    Note,
    Relationship,
    Remembered,
)
from sb.protocols.types.blocks import parse_datetime
from sb.protocols.types.vocabulary import BELIEF_TYPES, SOURCES_OF_BRAINS
from sb.store.records.consent import PEOPLE
from sb.store.records.descriptors import DESCRIPTORS, KIND_OF

_SHARED = {
    "confidence": "confidence",
    "strength": "strength",
    "is_protected": "is_protected",
    "derived_from": "derived_from",
    "source_entity": "source_entity",
    "source_type": "source_type",
    "tags": "tags",
    "speaker": "speaker",
    "created_at": "happened_at",
    **{name: name for name in PEOPLE},
}
_COUNTED = {"version", "local_updated_at", "times_accessed", "last_accessed", "stack_id", "id"}
_OF_RELATIONSHIPS = (
    frozenset(field.name for field in fields(Relationship)) - _COUNTED - {*PEOPLE}
)  # a newer version may know more
CORE = "core:"  # before the id of the core, or agent, that something came from


@frozen
class _View:
    """The mapping of one Brain kind to a stack kind.

    Args:
        kind: what it is shown as. homes: attribute there to attribute here.
    """

    kind: str
    homes: Mapping[str, str]


VIEWS: Mapping[str, _View] = {
    "fact": _View("belief", {**_SHARED, "statement": "content"}),
    "decision": _View("note", {**_SHARED, "content": "title", "reason": "rationale"}),
    "event": _View("episode", {**_SHARED, "objective": "summary"}),
    "entity": _View("relationship", {**_SHARED, "entity_name": "name", "entity_type": "entity_type"}),
}


def kinds_viewed_as(kind: str) -> tuple[str, ...]:
    """The kinds of record that a stack shows as this one."""
    return (kind, *(own for own, view in VIEWS.items() if view.kind == kind))


def to_view(record: Any) -> Any:
    """Returns a record as the stack shows it; records of a stack's own kinds stay as they are."""
    if not isinstance(record, Remembered):
        return record
    common: dict[str, Any] = {
        "id": record.id,
        "stack_id": record.stack_id,
        "created_at": record.happened_at or record.created_at,
        "local_updated_at": record.updated_at,
        "version": record.version,
        "confidence": record.confidence,
        "source_type": SOURCES_OF_BRAINS.get(record.source_type, record.source_type),
        "source_entity": record.source_entity or (CORE + record.agent_id if record.agent_id else None),
        "derived_from": record.derived_from,
        "strength": record.strength,
        "times_accessed": record.times_accessed,
        "last_accessed": record.last_accessed,
        "is_protected": record.is_protected,
        "context": None if record.scope == "global" else record.scope,
        **{name: getattr(record, name) for name in PEOPLE},
    }
    match record:
        case Fact():
            kind = record.category if record.category in BELIEF_TYPES else "fact"
            return Belief(statement=record.content, belief_type=kind, **common)
        case Decision():
            return Note(
                content=record.title,
                reason=record.rationale,
                note_type="decision",
                tags=record.tags,
                **common,
            )
        case Event():
            tags = record.tags
            return Episode(objective=record.summary, outcome="", tags=tags, **common)
        case EntityRecord():
            common |= {"entity_name": record.name, "entity_type": record.entity_type}
            common["notes"] = "; ".join(record.observations) or None
            standing = {
                name: item for name, item in (record.standing or {}).items() if name in _OF_RELATIONSHIPS
            }
            if "last_interaction" in standing:
                standing["last_interaction"] = parse_datetime(standing["last_interaction"])
            return Relationship(**common | standing)
    raise TypeError(f"a stack shows no {type(record).__name__}")


def from_view(view: Any, former: Remembered) -> Remembered:
    """Returns the record that a changed view stands for.

    Raises:
        ValueError: the view says something that the record has no place for.
    """
    kind = KIND_OF[type(former)]
    homes, before = VIEWS[kind].homes, to_view(former)
    changes: dict[str, Any] = {}
    standing = dict(getattr(former, "standing", None) or {})
    for field in fields(view):
        value = getattr(view, field.name)
        if field.name in _COUNTED or value == getattr(before, field.name):
            continue
        home = homes.get(field.name)
        if field.name == "notes":
            changes["observations"] = [value] if value else []
        elif home is not None and home in DESCRIPTORS[kind].attributes:
            changes[home] = value
        elif kind == "entity":
            standing[field.name] = value.isoformat() if isinstance(value, datetime) else value
        else:
            raise ValueError(f"{former.id} is {with_article(kind)}, which has no {field.name}")
    if standing:
        changes["standing"] = standing
    return replace(former, **changes)
