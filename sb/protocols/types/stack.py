"""The kinds of a stack: episodes, beliefs, values and others.

Source: the stack protocol. Own fields come first, in the order in which they may be given by position.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sb.base.values.frozen import mutable
from sb.protocols.types.blocks import Context, EpochId, Meta, Privacy, Processed, Strength, Subjects, Sync


@mutable
class _Episode:
    id: str
    stack_id: str
    objective: str
    outcome: str
    outcome_type: str | None = None
    lessons: list[str] | None = None
    repeat: list[str] | None = None
    avoid: list[str] | None = None
    tags: list[str] | None = None
    created_at: datetime | None = None
    emotional_valence: float = 0.0
    emotional_arousal: float = 0.0
    emotional_tags: list[str] | None = None


@mutable
class Episode(Privacy, EpochId, Context, Processed, Strength, Meta, Sync, _Episode):
    """Something that was tried, and what came of it; valence is from -1 to 1, arousal from 0 to 1."""


@mutable
class _Belief:
    id: str
    stack_id: str
    statement: str
    belief_type: str = "fact"
    confidence: float = 0.8
    created_at: datetime | None = None


@mutable
class _BeliefState:
    supersedes: str | None = None
    superseded_by: str | None = None
    times_reinforced: int = 0
    is_active: bool = True


@mutable
class _BeliefReach:
    belief_scope: str = "world"
    source_domain: str | None = None
    cross_domain_applications: list[str] | None = None
    abstraction_level: str = "specific"


@mutable
class Belief(_BeliefReach, Processed, Privacy, EpochId, Context, Strength, _BeliefState, Meta, Sync, _Belief):
    """Something held to be true."""


@mutable
class _Value:
    id: str
    stack_id: str
    name: str
    statement: str
    priority: int = 50
    created_at: datetime | None = None


@mutable
class Value(Privacy, EpochId, Context, Strength, Meta, Sync, _Value):
    """Something that matters; priority is from 0 to 100."""

    confidence: float = 0.9
    is_protected: bool = True


@mutable
class _Goal:
    id: str
    stack_id: str
    title: str
    description: str | None = None
    goal_type: str = "task"
    priority: str = "medium"
    status: str = "active"
    created_at: datetime | None = None


@mutable
class Goal(Privacy, EpochId, Context, Strength, Meta, Sync, _Goal):
    """Something to be reached."""


@mutable
class _Note:
    id: str
    stack_id: str
    content: str
    note_type: str = "note"
    speaker: str | None = None
    reason: str | None = None
    tags: list[str] | None = None
    created_at: datetime | None = None


@mutable
class Note(Privacy, EpochId, Context, Processed, Strength, Meta, Sync, _Note):
    """Something worth writing down, kept word for word."""


@mutable
class _Drive:
    id: str
    stack_id: str
    drive_type: str
    intensity: float = 0.5
    focus_areas: list[str] | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


@mutable
class Drive(Privacy, EpochId, Context, Strength, Meta, Sync, _Drive):
    """A motivation; one of each type in a stack. Intensity is from 0 to 1."""

    is_protected: bool = True


@mutable
class _Relationship:
    id: str
    stack_id: str
    entity_name: str
    entity_type: str = "person"
    relationship_type: str = "interaction"
    notes: str | None = None
    sentiment: float = 0.0
    interaction_count: int = 0
    last_interaction: datetime | None = None
    created_at: datetime | None = None


@mutable
class Relationship(Privacy, EpochId, Context, Strength, Meta, Sync, _Relationship):
    """A relationship with an entity; one of each name in a stack. Sentiment is from -1 to 1."""


@mutable
class _RawEntry:
    id: str
    stack_id: str
    blob: str | None = None
    captured_at: datetime | None = None
    source: str = "unknown"
    processed: bool = False
    processed_into: list[str] | None = None


@mutable
class _RawTwins:
    content: str | None = None
    timestamp: datetime | None = None
    tags: list[str] | None = None
    confidence: float = 1.0
    source_type: str = "direct_experience"


@mutable
class RawEntry(Privacy, _RawTwins, Sync, _RawEntry):
    """Something captured as it came; `content` and `timestamp` are older names of `blob` and `captured_at`."""

    def __post_init__(self) -> None:
        self.blob = self.content = self.blob if self.blob is not None else self.content
        self.captured_at = self.timestamp = self.captured_at or self.timestamp


@mutable
class _Playbook:
    id: str
    stack_id: str
    name: str
    description: str
    trigger_conditions: list[str]
    steps: list[dict[str, Any]]
    failure_modes: list[str]
    recovery_steps: list[str] | None = None
    mastery_level: str = "novice"
    times_used: int = 0
    success_rate: float = 0.0
    source_episodes: list[str] | None = None
    tags: list[str] | None = None
    confidence: float = 0.8
    last_used: datetime | None = None
    created_at: datetime | None = None


@mutable
class Playbook(Sync, Privacy, Context, _Playbook):
    """A procedure: steps of `action`, `details` and `adaptations`."""


@mutable
class _Epoch:
    id: str
    stack_id: str
    epoch_number: int
    name: str
    started_at: datetime | None = None
    ended_at: datetime | None = None
    trigger_type: str = "declared"
    trigger_description: str | None = None
    summary: str | None = None
    key_belief_ids: list[str] | None = None
    key_relationship_ids: list[str] | None = None
    key_goal_ids: list[str] | None = None
    dominant_drive_ids: list[str] | None = None


@mutable
class Epoch(Privacy, Sync, _Epoch):
    """A stretch of time that belongs together; it is open while `ended_at` is None."""


@mutable
class _Summary:
    id: str
    stack_id: str
    scope: str
    period_start: str
    period_end: str
    content: str
    epoch_id: str | None = None
    key_themes: list[str] | None = None
    supersedes: list[str] | None = None
    is_protected: bool = True
    created_at: datetime | None = None
    updated_at: datetime | None = None
    cloud_synced_at: datetime | None = None
    version: int = 1
    deleted: bool = False


@mutable
class Summary(Privacy, _Summary):
    """A summary of a month, quarter, year, decade or epoch; it replaces the summaries it supersedes."""


@mutable
class _SelfNarrative:
    id: str
    stack_id: str
    content: str
    narrative_type: str = "identity"
    epoch_id: str | None = None
    key_themes: list[str] | None = None
    unresolved_tensions: list[str] | None = None
    is_active: bool = True
    supersedes: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    cloud_synced_at: datetime | None = None
    version: int = 1
    deleted: bool = False


@mutable
class SelfNarrative(Privacy, _SelfNarrative):
    """An entity's narrative of itself."""


@mutable
class _MemorySuggestion:
    id: str
    stack_id: str
    memory_type: str
    content: dict[str, Any]
    confidence: float
    source_raw_ids: list[str]
    status: str = "pending"
    created_at: datetime | None = None
    resolved_at: datetime | None = None
    resolution_reason: str | None = None
    promoted_to: str | None = None


@mutable
class MemorySuggestion(Privacy, Sync, _MemorySuggestion):
    """A memory that somebody may want to have; `promoted_to` is `type:id`."""


@mutable
class _TrustAssessment:
    id: str
    stack_id: str
    entity: str
    dimensions: dict[str, dict[str, Any]]
    authority: list[dict[str, Any]] | None = None
    evidence_episode_ids: list[str] | None = None
    last_updated: datetime | None = None
    created_at: datetime | None = None


@mutable
class TrustAssessment(Subjects, Sync, _TrustAssessment):
    """The trust in an entity: domain to `{"score": 0 to 1}`; one for each entity in a stack, which counts for everybody."""


@mutable
class _RelationshipHistoryEntry:
    id: str
    stack_id: str
    relationship_id: str
    entity_name: str
    event_type: str
    old_value: str | None = None
    new_value: str | None = None
    episode_id: str | None = None
    notes: str | None = None
    created_at: datetime | None = None


@mutable
class RelationshipHistoryEntry(Subjects, Sync, _RelationshipHistoryEntry):
    """A change of a relationship; the values are JSON."""


@mutable
class _EntityModel:
    id: str
    stack_id: str
    entity_name: str
    model_type: str
    observation: str
    confidence: float = 0.7
    source_episodes: list[str] | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


@mutable
class EntityModel(Sync, Privacy, _EntityModel):
    """An observation of an entity's behaviour, preferences or capabilities."""
