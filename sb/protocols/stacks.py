"""The protocols of a stack and of its components.

Source: the stack protocol.
"""

from __future__ import annotations

from datetime import datetime
from os import PathLike
from typing import Any, Protocol, runtime_checkable

from sb.protocols.envelopes import SyncResult
from sb.protocols.models import InferenceService
from sb.protocols.types import (
    Belief,
    Drive,
    Episode,
    Epoch,
    Goal,
    MemorySuggestion,
    Note,
    Playbook,
    RawEntry,
    Relationship,
    SearchResult,
    SelfNarrative,
    Summary,
    TrustAssessment,
    Value,
)


@runtime_checkable
class StackComponentProtocol(Protocol):
    """An extension of a stack. One that has `set_storage(storage)` is also given access to the stack's memories."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def required(self) -> bool:
        """True if the stack cannot do without it."""
        ...

    @property
    def needs_inference(self) -> bool: ...

    def attach(self, stack_id: str, inference: InferenceService | None = None) -> None: ...

    def detach(self) -> None: ...

    def set_inference(self, inference: InferenceService | None) -> None: ...

    def on_save(self, memory_type: str, memory_id: str, memory: Any) -> dict[str, Any] | None:
        """After a memory was saved; the fields to write to it, or None."""
        ...

    def on_search(self, query: str, results: list[SearchResult]) -> list[SearchResult]:
        """Return the results that a search answers instead of `results`."""
        ...

    def on_load(self, context: dict[str, Any]) -> None:
        """Add to what is loaded as working memory."""
        ...

    def on_maintenance(self) -> dict[str, Any]:
        """Do what is due, and say what was done."""
        ...


def _save(stack: Any, kind: str, records: list[Any]) -> list[str]:
    saved: list[str] = stack.save_records(kind, records)
    return saved


def _update(stack: Any, kind: str, record: Any, expected_version: int | None) -> bool:
    return bool(stack.update_record(kind, record, expected_version))


@runtime_checkable
class StackProtocol(Protocol):
    """A container of memories, which may be attached to one core, to many, or to none."""

    @property
    def stack_id(self) -> str: ...

    @property
    def schema_version(self) -> int: ...

    @property
    def components(self) -> dict[str, StackComponentProtocol]:
        """By name, in the order in which they were added."""
        ...

    def add_component(self, component: StackComponentProtocol) -> None: ...

    def remove_component(self, name: str) -> None: ...

    def get_component(self, name: str) -> StackComponentProtocol | None: ...

    def maintenance(self) -> dict[str, Any]:
        """Run the maintenance of each component; returns their reports, by name."""
        ...

    # Each save returns the id that the memory has from now on. A class that inherits this protocol has them all by
    # `save_records(kind, records)` and `update_record(kind, record, expected_version)`.

    def save_episode(self, episode: Episode) -> str:
        return _save(self, "episode", [episode])[0]

    def save_belief(self, belief: Belief) -> str:
        return _save(self, "belief", [belief])[0]

    def save_value(self, value: Value) -> str:
        return _save(self, "value", [value])[0]

    def save_goal(self, goal: Goal) -> str:
        return _save(self, "goal", [goal])[0]

    def save_note(self, note: Note) -> str:
        return _save(self, "note", [note])[0]

    def save_drive(self, drive: Drive) -> str:
        return _save(self, "drive", [drive])[0]

    def save_relationship(self, relationship: Relationship) -> str:
        return _save(self, "relationship", [relationship])[0]

    def save_raw(self, raw: RawEntry) -> str:
        return _save(self, "raw", [raw])[0]

    def save_playbook(self, playbook: Playbook) -> str:
        return _save(self, "playbook", [playbook])[0]

    def save_epoch(self, epoch: Epoch) -> str:
        return _save(self, "epoch", [epoch])[0]

    def save_summary(self, summary: Summary) -> str:
        return _save(self, "summary", [summary])[0]

    def save_self_narrative(self, narrative: SelfNarrative) -> str:
        return _save(self, "self_narrative", [narrative])[0]

    def save_suggestion(self, suggestion: MemorySuggestion) -> str:
        return _save(self, "suggestion", [suggestion])[0]

    def update_drive_atomic(self, drive: Drive, expected_version: int | None = None) -> bool:
        """Change a drive unless somebody else did; False if it is gone.

        Args:
            expected_version: the version it has to be at, by default the drive's own.

        Raises:
            VersionConflictError: it is at another version.
        """
        return _update(self, "drive", drive, expected_version)

    def update_relationship_atomic(
        self, relationship: Relationship, expected_version: int | None = None
    ) -> bool:
        """Change a relationship unless somebody else did; see `update_drive_atomic`."""
        return _update(self, "relationship", relationship, expected_version)

    def get_suggestion(self, suggestion_id: str) -> MemorySuggestion | None: ...

    def get_suggestions(
        self,
        *,
        status: str | None = None,
        memory_type: str | None = None,
        limit: int = 100,
        min_confidence: float | None = None,
        max_age_hours: float | None = None,
        source_raw_id: str | None = None,
    ) -> list[MemorySuggestion]: ...

    def accept_suggestion(
        self, suggestion_id: str, modifications: dict[str, Any] | None = None
    ) -> str | None:
        """Make the memory that it suggests; its id, or None if it cannot be accepted."""
        ...

    def dismiss_suggestion(self, suggestion_id: str, reason: str | None = None) -> bool: ...

    def save_episodes_batch(self, episodes: list[Episode]) -> list[str]:
        """Save all of them or, if one cannot be, none."""
        return _save(self, "episode", episodes)

    def save_beliefs_batch(self, beliefs: list[Belief]) -> list[str]:
        """Save all of them or, if one cannot be, none."""
        return _save(self, "belief", beliefs)

    def save_notes_batch(self, notes: list[Note]) -> list[str]:
        """Save all of them or, if one cannot be, none."""
        return _save(self, "note", notes)

    def get_episodes(
        self,
        *,
        limit: int = 50,
        tags: list[str] | None = None,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Episode]: ...

    def get_beliefs(
        self,
        *,
        limit: int = 50,
        belief_type: str | None = None,
        min_confidence: float | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Belief]: ...

    def get_values(
        self,
        *,
        limit: int = 50,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Value]: ...

    def get_goals(
        self,
        *,
        limit: int = 50,
        status: str | None = None,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Goal]: ...

    def get_notes(
        self,
        *,
        limit: int = 50,
        note_type: str | None = None,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Note]: ...

    def get_drive(self, drive_type: str) -> Drive | None: ...

    def get_drives(self, *, include_expired: bool = False) -> list[Drive]: ...

    def get_relationship(self, entity_name: str) -> Relationship | None: ...

    def get_relationships(
        self,
        *,
        entity_id: str | None = None,
        entity_type: str | None = None,
        min_trust: float | None = None,
    ) -> list[Relationship]: ...

    def get_raw(self, *, limit: int = 50, tags: list[str] | None = None) -> list[RawEntry]: ...

    def get_memory(self, memory_type: str, memory_id: str) -> Any | None: ...

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        record_types: list[str] | None = None,
        context: str | None = None,
        min_confidence: float | None = None,
    ) -> list[SearchResult]: ...

    def load(self, *, token_budget: int = 8000, context: str | None = None) -> dict[str, Any]:
        """The most relevant memories within a budget of tokens."""
        ...

    def record_access(self, memory_type: str, memory_id: str) -> bool: ...

    def update_memory_meta(
        self,
        memory_type: str,
        memory_id: str,
        *,
        confidence: float | None = None,
        tags: list[str] | None = None,
    ) -> bool: ...

    def forget_memory(self, memory_type: str, memory_id: str, reason: str) -> bool: ...

    def recover_memory(self, memory_type: str, memory_id: str) -> bool: ...

    def protect_memory(self, memory_type: str, memory_id: str, protected: bool = True) -> bool: ...

    def save_trust_assessment(self, assessment: TrustAssessment) -> str:
        """Add its domains and evidence to what is kept of that entity, in one step, or keep it as the first; its id."""
        ...

    def get_trust_assessments(
        self, *, entity_id: str | None = None, domain: str | None = None
    ) -> list[TrustAssessment]: ...

    def compute_trust(self, entity_id: str, domain: str | None = None) -> dict[str, Any]: ...

    def promote(self, *, context: str | None = None) -> dict[str, Any]:
        """Make beliefs of what several episodes taught."""
        ...

    def apply_forgetting(self, *, protect_identity: bool = True) -> dict[str, Any]: ...

    def sync(self) -> SyncResult: ...

    def pull_changes(self, *, since: datetime | None = None) -> SyncResult: ...

    def get_pending_sync_count(self) -> int: ...

    def is_online(self) -> bool: ...

    def get_stats(self) -> dict[str, int]: ...

    def dump(
        self, *, format: str = "markdown", include_raw: bool = True, include_forgotten: bool = False
    ) -> str: ...

    def export(self, path: str | PathLike[str], *, format: str = "markdown") -> None: ...

    def on_attach(self, core_id: str, inference: InferenceService | None = None) -> None: ...

    def on_detach(self, core_id: str) -> None: ...

    def on_model_changed(self, inference: InferenceService | None = None) -> None: ...
