"""What is there to know of a kind of record? One descriptor each; everything else is derived from it.

Source: the memory whitepaper, "memory typology"; the stack protocol; the decay classes are ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_type_hints

from sb import types
from sb.types import vocabulary as words

Range = tuple[float, float]
_SHARE: Range = (0.0, 1.0)
_SIGNED: Range = (-1.0, 1.0)

# Attribute to column, for whatever kind has the attribute. What is in neither table stands in `fields`.
_COLUMNS = {
    "id": "uid",
    "version": "version",
    "confidence": "confidence",
    "strength": "strength",
    "is_protected": "protected",
    "source_type": "source_type",
    "speaker": "speaker",
    "tags": "tags",
}
_OF_BRAINS = {
    "agent_id": "agent",
    "evidence_n": "evidence_n",
    "happened_at": "happened_at",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
_OF_STACKS = {"created_at": "happened_at", "local_updated_at": "updated_at"}
PLACED = frozenset({"stack_id", "scope", "private"})  # of brains' records: what the place says
_RANGES: Mapping[str, Range] = {
    "confidence": _SHARE,
    "strength": _SHARE,
    "emotional_valence": _SIGNED,
    "emotional_arousal": _SHARE,
    "sentiment": _SIGNED,
    "intensity": _SHARE,
    "success_rate": _SHARE,
    "valence": _SIGNED,
    "arousal": _SIGNED,
    "dominance": _SIGNED,
}


_KEPT = frozenset({"id", "created_at", "version", "strength"})  # of the record that an update finds


def _folded(name: str) -> str:
    return name.strip().casefold()


@dataclass(frozen=True)
class Descriptor:
    """One kind of record.

    Args:
        type: its dataclass.
        text: the attributes that it is found by, in the order in which they are read.
        category: the attribute that says which of several it is.
        key: the attribute of which there is one in each place; saving it again updates the one that is there.
        normal: how keys are compared.
        united: lists that an update adds to.
        sources: the kinds that it may be derived from in a stack.
        half_life_days: after how long without use half of its strength is left.
        words: attribute to the words that it may be.
        columns: attribute to column, where this kind differs from all others.
        twins: attributes that only repeat others, so that they need not be kept.
    """

    kind: str
    type: type[Any]
    text: tuple[str, ...]
    category: str | None = None
    key: str | None = None
    normal: Callable[[str], str] = str
    united: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    half_life_days: float = 30.0
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    twins: tuple[str, ...] = ()

    @cached_property
    def of_a_brain(self) -> bool:
        return issubclass(self.type, types.Remembered)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        return tuple(one.name for one in dataclasses.fields(self.type))

    @cached_property
    def column_of(self) -> Mapping[str, str]:
        """Attribute to column."""
        mapped = _COLUMNS | (_OF_BRAINS if self.of_a_brain else _OF_STACKS) | dict(self.columns)
        if self.category:
            mapped[self.category] = "category"
        return {name: mapped[name] for name in self.attributes if name in mapped}

    @cached_property
    def in_fields(self) -> tuple[str, ...]:
        """The attributes that stand in `fields`."""
        elsewhere = {*self.column_of, *self.twins, *(PLACED if self.of_a_brain else ("stack_id",))}
        return tuple(name for name in self.attributes if name not in elsewhere)

    @cached_property
    def times(self) -> frozenset[str]:
        """The attributes that are times."""
        hints = get_type_hints(self.type)
        return frozenset(name for name in self.attributes if "datetime" in str(hints[name]))

    @cached_property
    def optional(self) -> frozenset[str]:
        """The attributes that are None unless they are given."""
        return frozenset(one.name for one in dataclasses.fields(self.type) if one.default is None)

    @cached_property
    def ranges(self) -> Mapping[str, Range]:
        return {name: limits for name, limits in _RANGES.items() if name in self.attributes}

    @cached_property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        sources = {"source_type": words.SOURCES} if "source_type" in self.attributes else {}
        return {**sources, **self.words}

    def merged(self, former: Any, new: Any) -> Any:
        """The record that is there with what a new one of the same key says."""
        united = {name: _united(getattr(former, name), getattr(new, name)) for name in self.united}
        kept = {name: getattr(former, name) for name in _KEPT & set(self.attributes)}
        return dataclasses.replace(new, **united, **kept)


def _united(former: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return {**former, **new}
    return list(dict.fromkeys([*(former or ()), *(new or ())])) or new


_ALL = (
    Descriptor(
        "event",
        types.Event,
        ("summary",),
        "event_type",
        words={"event_type": words.EVENT_TYPES},
        half_life_days=14,
    ),
    Descriptor(
        "fact", types.Fact, ("content",), "category", words={"category": words.CATEGORIES}, half_life_days=60
    ),
    Descriptor("decision", types.Decision, ("title", "rationale"), half_life_days=180),
    Descriptor(
        "entity",
        types.EntityRecord,
        ("name", "observations", "properties"),
        "entity_type",
        key="name",
        normal=_folded,
        united=("observations", "properties", "tags"),
        words={"entity_type": words.ENTITY_TYPES},
        half_life_days=180,
    ),
    Descriptor("affect", types.Affect, ("about",), half_life_days=14),
    Descriptor(
        "trigger",
        types.Trigger,
        ("precondition", "action"),
        "status",
        words={"status": words.TRIGGER_STATUSES},
    ),
    Descriptor("lesson", types.Lesson, ("content", "cause"), half_life_days=180),
    Descriptor("handoff", types.Handoff, ("goal", "current_state", "open_loops", "next_step"), "status"),
    Descriptor(
        "episode",
        types.Episode,
        ("objective", "outcome", "lessons"),
        sources=("raw",),
    ),
    Descriptor(
        "belief",
        types.Belief,
        ("statement",),
        "belief_type",
        sources=("episode", "note"),
        words={
            "belief_type": words.BELIEF_TYPES,
            "belief_scope": words.BELIEF_SCOPES,
            "abstraction_level": words.ABSTRACTION_LEVELS,
        },
    ),
    Descriptor("value", types.Value, ("name", "statement"), sources=("belief",), half_life_days=365),
    Descriptor(
        "goal",
        types.Goal,
        ("title", "description"),
        "goal_type",
        sources=("episode", "belief"),
        words={"goal_type": words.GOAL_TYPES, "status": words.GOAL_STATUSES},
    ),
    Descriptor(
        "note", types.Note, ("content",), "note_type", sources=("raw",), words={"note_type": words.NOTE_TYPES}
    ),
    Descriptor(
        "drive",
        types.Drive,
        ("drive_type", "focus_areas"),
        "drive_type",
        key="drive_type",
        sources=("episode", "belief"),
        words={"drive_type": words.DRIVE_TYPES},
        half_life_days=365,
    ),
    Descriptor(
        "relationship",
        types.Relationship,
        ("entity_name", "notes"),
        "entity_type",
        key="entity_name",
        sources=("episode",),
    ),
    Descriptor(
        "raw",
        types.RawEntry,
        ("blob",),
        columns={"captured_at": "happened_at"},
        twins=("content", "timestamp"),
    ),
    Descriptor(
        "playbook",
        types.Playbook,
        ("name", "description", "trigger_conditions"),
        "mastery_level",
        words={"mastery_level": words.MASTERY_LEVELS},
        half_life_days=180,
    ),
    Descriptor(
        "epoch",
        types.Epoch,
        ("name", "summary"),
        "trigger_type",
        words={"trigger_type": words.EPOCH_TRIGGERS},
        columns={"started_at": "happened_at"},
        half_life_days=365,
    ),
    Descriptor(
        "summary",
        types.Summary,
        ("content",),
        "scope",
        words={"scope": words.SUMMARY_SCOPES},
        half_life_days=365,
    ),
    Descriptor(
        "self_narrative",
        types.SelfNarrative,
        ("content",),
        "narrative_type",
        words={"narrative_type": words.NARRATIVE_TYPES},
        half_life_days=365,
    ),
    Descriptor(
        "suggestion",
        types.MemorySuggestion,
        ("content",),
        "status",
        words={"status": words.SUGGESTION_STATUSES, "memory_type": words.SUGGESTION_MEMORY_TYPES},
    ),
    Descriptor("trust_assessment", types.TrustAssessment, ("entity",), key="entity"),
    Descriptor(
        "relationship_history", types.RelationshipHistoryEntry, ("entity_name", "notes"), "event_type"
    ),
    Descriptor("entity_model", types.EntityModel, ("entity_name", "observation"), "model_type"),
)
DESCRIPTORS: Mapping[str, Descriptor] = {one.kind: one for one in _ALL}
KIND_OF: Mapping[type[Any], str] = {one.type: one.kind for one in _ALL}
