"""Another stack: all memories in lists, none of the rules of `SQLiteStack`. A core must do with any stack."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from sb.errors import VersionConflictError
from sb.protocols import InferenceService, StackComponentProtocol, SyncResult
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

_TEXT = {
    "episode": "objective",
    "note": "content",
    "belief": "statement",
    "goal": "title",
    "value": "statement",
}


class ListStack:
    """A stack of this process.

    Args:
        told: what cores have called, in order. on_update: runs before each atomic update, as another writer would.
    """

    schema_version = 1

    def __init__(self, stack_id: str, color: str = "none") -> None:
        self.stack_id = stack_id
        self.color = color
        self.kept: dict[str, dict[str, Any]] = {}
        self.components: dict[str, StackComponentProtocol] = {}
        self.told: list[tuple[Any, ...]] = []
        self.on_update: Callable[[], object] = lambda: None
        self._ids = (f"id-{number}" for number in itertools.count(1))

    def location(self) -> dict[str, Any]:
        return {"color": self.color}

    def _keep(self, kind: str, record: Any) -> str:
        record.id = record.id or next(self._ids)
        self.kept.setdefault(kind, {})[record.id] = copy.deepcopy(record)
        return str(record.id)

    def _all(self, kind: str, **wanted: Any) -> list[Any]:
        given = {name: value for name, value in wanted.items() if value is not None}
        found = reversed(self.kept.get(kind, {}).values())
        return [
            copy.deepcopy(item)
            for item in found
            if getattr(item, "strength", 1) > 0
            and all(vars(item)[name] == value for name, value in given.items())
        ]

    def _one(self, kind: str, **wanted: Any) -> Any:
        return next(iter(self._all(kind, **wanted)), None)

    def _update(self, kind: str, record: Any, expected: int | None) -> bool:
        self.on_update()
        stored = self.kept.get(kind, {}).get(record.id)
        if stored is None:
            return False
        expected = record.version if expected is None else expected
        if stored.version != expected:
            raise VersionConflictError(kind, record.id, expected, stored.version)
        record.version = expected + 1
        self._keep(kind, record)
        return True

    def _change(self, kind: str, uid: str, **changes: Any) -> bool:
        stored = self.kept.get(kind, {}).get(uid)
        if stored is None:
            return False
        vars(stored).update(changes)
        return True

    def add_component(self, component: StackComponentProtocol) -> None:
        self.components[component.name] = component

    def remove_component(self, name: str) -> None:
        del self.components[name]

    def get_component(self, name: str) -> StackComponentProtocol | None:
        return self.components.get(name)

    def maintenance(self) -> dict[str, Any]:
        return {name: component.on_maintenance() for name, component in self.components.items()}

    def save_episode(self, episode: Episode) -> str:
        return self._keep("episode", episode)

    def save_belief(self, belief: Belief) -> str:
        return self._keep("belief", belief)

    def save_value(self, value: Value) -> str:
        return self._keep("value", value)

    def save_goal(self, goal: Goal) -> str:
        return self._keep("goal", goal)

    def save_note(self, note: Note) -> str:
        return self._keep("note", note)

    def save_drive(self, drive: Drive) -> str:
        return self._keep("drive", drive)

    def save_relationship(self, relationship: Relationship) -> str:
        return self._keep("relationship", relationship)

    def save_raw(self, raw: RawEntry) -> str:
        return self._keep("raw", raw)

    def save_playbook(self, playbook: Playbook) -> str:
        return self._keep("playbook", playbook)

    def save_epoch(self, epoch: Epoch) -> str:
        return self._keep("epoch", epoch)

    def save_summary(self, summary: Summary) -> str:
        return self._keep("summary", summary)

    def save_self_narrative(self, narrative: SelfNarrative) -> str:
        return self._keep("self_narrative", narrative)

    def save_suggestion(self, suggestion: MemorySuggestion) -> str:
        return self._keep("suggestion", suggestion)

    def update_drive_atomic(self, drive: Drive, expected_version: int | None = None) -> bool:
        return self._update("drive", drive, expected_version)

    def update_relationship_atomic(
        self, relationship: Relationship, expected_version: int | None = None
    ) -> bool:
        return self._update("relationship", relationship, expected_version)

    def get_suggestion(self, suggestion_id: str) -> MemorySuggestion | None:
        found: MemorySuggestion | None = self._one("suggestion", id=suggestion_id)
        return found

    def get_suggestions(
        self,
        *,
        status: str | None = None,
        memory_type: str | None = None,
        limit: int = 100,
        min_confidence: float | None = None,
        max_age_hours: float | None = None,
        source_raw_id: str | None = None,
    ) -> list[MemorySuggestion]:
        return self._all("suggestion", status=status, memory_type=memory_type)[:limit]

    def accept_suggestion(
        self, suggestion_id: str, modifications: dict[str, Any] | None = None
    ) -> str | None:
        return None

    def dismiss_suggestion(self, suggestion_id: str, reason: str | None = None) -> bool:
        return self._change("suggestion", suggestion_id, status="dismissed", resolution_reason=reason)

    def save_episodes_batch(self, episodes: list[Episode]) -> list[str]:
        return [self.save_episode(episode) for episode in episodes]

    def save_beliefs_batch(self, beliefs: list[Belief]) -> list[str]:
        return [self.save_belief(belief) for belief in beliefs]

    def save_notes_batch(self, notes: list[Note]) -> list[str]:
        return [self.save_note(note) for note in notes]

    def get_episodes(
        self,
        *,
        limit: int = 50,
        tags: list[str] | None = None,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Episode]:
        found: list[Episode] = self._all("episode", context=context)
        return [episode for episode in found if tags is None or set(tags) & set(episode.tags or ())][:limit]

    def get_beliefs(
        self,
        *,
        limit: int = 50,
        belief_type: str | None = None,
        min_confidence: float | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Belief]:
        return self._all("belief", belief_type=belief_type)[:limit]

    def get_values(
        self,
        *,
        limit: int = 50,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Value]:
        return self._all("value", context=context)[:limit]

    def get_goals(
        self,
        *,
        limit: int = 50,
        status: str | None = None,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Goal]:
        return self._all("goal", status=status, context=context)[:limit]

    def get_notes(
        self,
        *,
        limit: int = 50,
        note_type: str | None = None,
        context: str | None = None,
        include_weak: bool = False,
        include_forgotten: bool = False,
    ) -> list[Note]:
        return self._all("note", note_type=note_type, context=context)[:limit]

    def get_drive(self, drive_type: str) -> Drive | None:
        found: Drive | None = self._one("drive", drive_type=drive_type)
        return found

    def get_drives(self, *, include_expired: bool = False) -> list[Drive]:
        return self._all("drive")

    def get_relationship(self, entity_name: str) -> Relationship | None:
        found: Relationship | None = self._one("relationship", entity_name=entity_name)
        return found

    def get_relationships(
        self, *, entity_id: str | None = None, entity_type: str | None = None, min_trust: float | None = None
    ) -> list[Relationship]:
        return self._all("relationship", entity_name=entity_id, entity_type=entity_type)

    def get_raw(self, *, limit: int = 50, tags: list[str] | None = None) -> list[RawEntry]:
        return self._all("raw")[:limit]

    def get_memory(self, memory_type: str, memory_id: str) -> Any | None:
        return self.kept.get(memory_type, {}).get(memory_id)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        record_types: list[str] | None = None,
        context: str | None = None,
        min_confidence: float | None = None,
    ) -> list[SearchResult]:
        self.told.append(("search", query, limit, record_types, context))
        texts = [
            (kind, item.id, getattr(item, _TEXT[kind]))
            for kind in record_types or _TEXT
            for item in self._all(kind, context=context)
        ]
        return [SearchResult(kind, uid, text, 1.0) for kind, uid, text in texts if query in text][:limit]

    def load(self, *, token_budget: int = 8000, context: str | None = None) -> dict[str, Any]:
        self.told.append(("load", token_budget, context))
        return {
            "notes": [item.content for item in self._all("note")],
            "_meta": {"budget_total": token_budget},
        }

    def record_access(self, memory_type: str, memory_id: str) -> bool:
        return self._change(memory_type, memory_id)

    def update_memory_meta(
        self,
        memory_type: str,
        memory_id: str,
        *,
        confidence: float | None = None,
        tags: list[str] | None = None,
    ) -> bool:
        return self._change(memory_type, memory_id, confidence=confidence, tags=tags)

    def forget_memory(self, memory_type: str, memory_id: str, reason: str) -> bool:
        return self._change(memory_type, memory_id, strength=0.0)

    def recover_memory(self, memory_type: str, memory_id: str) -> bool:
        return self._change(memory_type, memory_id, strength=0.2)

    def protect_memory(self, memory_type: str, memory_id: str, protected: bool = True) -> bool:
        return self._change(memory_type, memory_id, is_protected=protected)

    def save_trust_assessment(self, assessment: TrustAssessment) -> str:
        known = self._one("trust_assessment", entity=assessment.entity)
        if known is not None:
            evidence = [*(known.evidence_episode_ids or ()), *(assessment.evidence_episode_ids or ())]
            assessment = replace(
                known,
                dimensions={**known.dimensions, **assessment.dimensions},
                evidence_episode_ids=list(dict.fromkeys(evidence)) or None,
                last_updated=assessment.last_updated,
            )
        return self._keep("trust_assessment", assessment)

    def get_trust_assessments(
        self, *, entity_id: str | None = None, domain: str | None = None
    ) -> list[TrustAssessment]:
        found: list[TrustAssessment] = self._all("trust_assessment", entity=entity_id)
        return [assessment for assessment in found if domain is None or domain in assessment.dimensions]

    def compute_trust(self, entity_id: str, domain: str | None = None) -> dict[str, Any]:
        return {"entity": entity_id, "domain": domain or "general", "score": 0.5, "source": "default"}

    def promote(self, *, context: str | None = None) -> dict[str, Any]:
        return {}

    def apply_forgetting(self, *, protect_identity: bool = True) -> dict[str, Any]:
        return {}

    def sync(self) -> SyncResult:
        return SyncResult(pushed=sum(self.get_stats().values()))

    def pull_changes(self, *, since: datetime | None = None) -> SyncResult:
        return SyncResult()

    def get_pending_sync_count(self) -> int:
        return 0

    def is_online(self) -> bool:
        return False

    def get_stats(self) -> dict[str, int]:
        return {kind: len(item) for kind, item in self.kept.items()}

    def dump(
        self, *, format: str = "markdown", include_raw: bool = True, include_forgotten: bool = False
    ) -> str:
        records = {
            kind: [asdict(replace(item)) for item in all_.values()] for kind, all_ in self.kept.items()
        }
        return json.dumps(records, default=str)

    def export(self, path: str | PathLike[str], *, format: str = "markdown") -> None:
        Path(path).write_text(self.dump(format=format), encoding="utf-8")

    def on_attach(self, core_id: str, inference: InferenceService | None = None) -> None:
        self.told.append(("on_attach", core_id, inference))

    def on_detach(self, core_id: str) -> None:
        self.told.append(("on_detach", core_id))

    def on_model_changed(self, inference: InferenceService | None = None) -> None:
        self.told.append(("on_model_changed", inference))

    def register_plugin(self, name: str) -> None:
        self.told.append(("register_plugin", name))

    def unregister_plugin(self, name: str) -> None:
        self.told.append(("unregister_plugin", name))
