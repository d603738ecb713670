"""What may a plugin do with the core that loaded it? Remember in its own name, look things up, and keep files of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.entity.folders import path_part, private_folder
from sb.entity.routing import PLUGIN
from sb.errors import NoActiveStackError, PluginError
from sb.protocols import StackProtocol
from sb.types import Goal, Relationship, SearchResult, TrustAssessment

if TYPE_CHECKING:
    from sb.entity.core import Entity


class CoreContext:
    """The `PluginContext` of one plugin; it ends with the plugin.

    Args:
        config, secrets: what `get_config` and `get_secret` answer.
    """

    def __init__(
        self,
        core: Entity,
        plugin_name: str,
        folder: Path,
        config: Mapping[str, Any],
        secrets: Mapping[str, str],
    ) -> None:
        self._core = core
        self._plugin_name = plugin_name
        self._folder = folder
        self._config = dict(config)
        self._secrets = dict(secrets)
        self._ended = False

    @property
    def core_id(self) -> str:
        return self._core.core_id

    @property
    def active_stack_id(self) -> str | None:
        stack = self._core.active_stack
        return None if stack is None else stack.stack_id

    @property
    def plugin_name(self) -> str:
        return self._plugin_name

    def episode(
        self,
        objective: str,
        outcome: str,
        *,
        lessons: list[str] | None = None,
        repeat: list[str] | None = None,
        avoid: list[str] | None = None,
        tags: list[str] | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None:
        return self._write(
            self._core.episode,
            objective,
            outcome,
            lessons=lessons,
            repeat=repeat,
            avoid=avoid,
            tags=tags,
            derived_from=derived_from,
            context=context,
            context_tags=context_tags,
        )

    def belief(
        self,
        statement: str,
        *,
        belief_type: str = "fact",
        confidence: float = 0.8,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None:
        return self._write(
            self._core.belief,
            statement,
            type=belief_type,
            confidence=confidence,
            derived_from=derived_from,
            context=context,
            context_tags=context_tags,
        )

    def value(
        self,
        name: str,
        statement: str,
        *,
        priority: int = 50,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None:
        return self._write(
            self._core.value,
            name,
            statement,
            priority=priority,
            derived_from=derived_from,
            context=context,
            context_tags=context_tags,
        )

    def goal(
        self,
        title: str,
        *,
        description: str | None = None,
        goal_type: str = "task",
        priority: str = "medium",
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None:
        return self._write(
            self._core.goal,
            title,
            description=description,
            goal_type=goal_type,
            priority=priority,
            derived_from=derived_from,
            context=context,
            context_tags=context_tags,
        )

    def note(
        self,
        content: str,
        *,
        note_type: str = "note",
        speaker: str | None = None,
        reason: str | None = None,
        tags: list[str] | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None:
        return self._write(
            self._core.note,
            content,
            type=note_type,
            speaker=speaker,
            reason=reason,
            tags=tags,
            derived_from=derived_from,
            context=context,
            context_tags=context_tags,
        )

    def drive(
        self,
        drive_type: str,
        *,
        intensity: float | None = None,
        focus_areas: list[str] | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None:
        return self._write(
            self._core.drive,
            drive_type,
            intensity=intensity,
            focus_areas=focus_areas,
            derived_from=derived_from,
            context=context,
            context_tags=context_tags,
        )

    def relationship(
        self,
        other_entity_id: str,
        *,
        trust_level: float | None = None,
        notes: str | None = None,
        interaction_type: str | None = None,
        entity_type: str | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None:
        return self._write(
            self._core.relationship,
            other_entity_id,
            trust_level=trust_level,
            notes=notes,
            interaction_type=interaction_type,
            entity_type=entity_type,
            derived_from=derived_from,
            context=context,
            context_tags=context_tags,
        )

    def raw(self, content: str) -> str | None:
        return self._write(self._core.raw, content)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        record_types: list[str] | None = None,
        context: str | None = None,
    ) -> list[SearchResult]:
        stack = self._stack()
        if stack is None:
            return []
        return stack.search(query, limit=limit, record_types=record_types, context=context)

    def get_relationships(
        self,
        *,
        entity_id: str | None = None,
        entity_type: str | None = None,
        min_trust: float | None = None,
    ) -> list[Relationship]:
        stack = self._stack()
        if stack is None:
            return []
        return stack.get_relationships(entity_id=entity_id, entity_type=entity_type, min_trust=min_trust)

    def get_goals(
        self, *, limit: int = 50, status: str | None = None, context: str | None = None
    ) -> list[Goal]:
        stack = self._stack()
        return [] if stack is None else stack.get_goals(limit=limit, status=status, context=context)

    def trust_set(self, entity: str, domain: str, score: float, *, evidence: str | None = None) -> str | None:
        if self._stack() is None:
            return None
        return self._core.trust_set(entity, domain, score, evidence=evidence)

    def trust_get(self, entity: str, *, domain: str | None = None) -> list[TrustAssessment]:
        return [] if self._stack() is None else self._core.trust_get(entity, domain=domain)

    def get_data_dir(self) -> Path:
        return private_folder(self._folder / "plugins" / path_part(self._plugin_name) / "data")

    def get_config(self, key: str, default: Any = None) -> Any:
        return self._config.get(key, default)

    def get_secret(self, key: str) -> str | None:
        return self._secrets.get(key)

    def end(self) -> None:
        """Be of no more use: the plugin is no longer loaded, and speaks for the core no more."""
        self._ended = True
        self._secrets.clear()

    def _stack(self) -> StackProtocol | None:
        if self._ended:
            raise PluginError(f"plugin {self._plugin_name} is not loaded any more")
        return self._core.active_stack

    def _write(self, operation: Callable[..., str], *said: Any, **more: Any) -> str | None:
        if self._stack() is None:
            return None
        try:
            return operation(*said, source=PLUGIN + self._plugin_name, **more)
        except NoActiveStackError:  # detached by another thread
            return None
