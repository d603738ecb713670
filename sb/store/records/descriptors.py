"""All record kinds, one descriptor each; add a kind here.

Source: the memory whitepaper, "memory typology"; the stack protocol, "Working memory" and "Provenance". How fast
facts, decisions and the other kinds of a Brain fade is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sb.protocols import types
from sb.protocols.types import vocabulary as words
from sb.store.records.descriptor import Descriptor


def _folded(name: str) -> str:
    return name.strip().casefold()


_OF_BRAINS = (
    Descriptor(
        "event",
        types.Event,
        ("summary",),
        category="event_type",
        words={"event_type": words.EVENT_TYPES},
        half_life_days=14,
    ),
    Descriptor(
        "fact",
        types.Fact,
        ("content",),
        category="category",
        words={"category": words.CATEGORIES},
        half_life_days=60,
        half_lives={
            "convention": 180,
            "decision": 180,
            "environment": 30,  # machines, versions and settings change soonest
            "identity": 365,
            "lesson": 180,
            "preference": 180,
            "user": 365,
        },
    ),
    Descriptor("decision", types.Decision, ("title", "rationale"), half_life_days=180),
    Descriptor(
        "entity",
        types.EntityRecord,
        ("name", "observations", "properties"),
        category="entity_type",
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
        category="status",
        words={"status": words.TRIGGER_STATUSES},
    ),
    Descriptor(
        "lesson",
        types.Lesson,
        ("content", "cause"),
        category="status",
        words={"status": words.LESSON_STATUSES},
        half_life_days=180,
    ),
    Descriptor(
        "handoff",
        types.Handoff,
        ("goal", "current_state", "open_loops", "next_step"),
        category="status",
        half_life_days=30,
    ),
)
_OF_STACKS = (
    Descriptor(
        "episode",
        types.Episode,
        ("objective", "outcome"),
        also=("lessons",),
        sources=("raw",),
        half_life_days=30,
        priority=0.4,
    ),
    Descriptor(
        "belief",
        types.Belief,
        ("statement",),
        category="belief_type",
        sources=("episode", "note"),
        words={
            "belief_type": words.BELIEF_TYPES,
            "belief_scope": words.BELIEF_SCOPES,
            "abstraction_level": words.ABSTRACTION_LEVELS,
        },
        half_life_days=30,
        priority=0.7,
        bonus=("confidence", 0.1),
    ),
    Descriptor(
        "value",
        types.Value,
        ("name", "statement"),
        sources=("belief",),
        priority=0.9,
        bonus=("priority", 0.001),
    ),
    Descriptor(
        "goal",
        types.Goal,
        ("title", "description"),
        category="goal_type",
        sources=("episode", "belief"),
        words={"goal_type": words.GOAL_TYPES, "status": words.GOAL_STATUSES},
        half_life_days=30,
        half_lives={"aspiration": 180, "commitment": 365},
        priority=0.65,
    ),
    Descriptor(
        "note",
        types.Note,
        ("content",),
        category="note_type",
        sources=("raw",),
        words={"note_type": words.NOTE_TYPES},
        half_life_days=30,
        priority=0.35,
    ),
    Descriptor(
        "drive",
        types.Drive,
        ("drive_type", "focus_areas"),
        category="drive_type",
        key="drive_type",
        sources=("episode", "belief"),
        words={"drive_type": words.DRIVE_TYPES},
        priority=0.6,
        bonus=("intensity", 0.1),
    ),
    Descriptor(
        "relationship",
        types.Relationship,
        ("entity_name", "notes"),
        category="entity_type",
        key="entity_name",
        sources=("episode",),
        half_life_days=30,
        priority=0.3,
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
        ("name", "description"),
        also=("trigger_conditions",),
        category="mastery_level",
        words={"mastery_level": words.MASTERY_LEVELS},
    ),
    Descriptor(
        "epoch",
        types.Epoch,
        ("name", "summary"),
        category="trigger_type",
        words={"trigger_type": words.EPOCH_TRIGGERS},
        columns={"started_at": "happened_at"},
    ),
    Descriptor(
        "summary",
        types.Summary,
        ("content",),
        category="scope",
        words={"scope": words.SUMMARY_SCOPES},
        priorities={"decade": 0.95, "epoch": 0.85, "year": 0.8, "quarter": 0.5, "month": 0.35},
    ),
    Descriptor(
        "self_narrative",
        types.SelfNarrative,
        ("content",),
        category="narrative_type",
        words={"narrative_type": words.NARRATIVE_TYPES},
        priority=0.9,
    ),
    Descriptor(  # of any memory_type: what cannot become a memory is refused when somebody accepts it
        "suggestion",
        types.MemorySuggestion,
        ("content",),
        category="status",
        words={"status": words.SUGGESTION_STATUSES},
        aside=True,
    ),
    Descriptor(
        "trust_assessment",
        types.TrustAssessment,
        ("entity",),
        key="entity",
        united=("dimensions", "evidence_episode_ids"),
        aside=True,
    ),
    Descriptor(
        "relationship_history",
        types.RelationshipHistoryEntry,
        ("entity_name", "notes"),
        category="event_type",
        words={"event_type": words.RELATIONSHIP_EVENTS},
        aside=True,
    ),
    Descriptor(
        "entity_model",
        types.EntityModel,
        ("entity_name", "observation"),
        category="model_type",
        words={"model_type": words.MODEL_TYPES},
    ),
)
DESCRIPTORS: Mapping[str, Descriptor] = {
    descriptor.kind: descriptor for descriptor in (*_OF_BRAINS, *_OF_STACKS)
}
ASIDE = tuple(descriptor.kind for descriptor in DESCRIPTORS.values() if descriptor.aside)
MEMORIES = "r.kind NOT IN ({})".format(
    ", ".join(f"'{kind}'" for kind in ASIDE)
)  # over `r`, the table of records
KIND_OF: Mapping[type[Any], str] = {descriptor.type: descriptor.kind for descriptor in DESCRIPTORS.values()}
