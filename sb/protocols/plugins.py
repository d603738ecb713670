"""The protocols of a plugin and of its context.

Source: the core protocol, "Plugin lifecycle".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sb.protocols.envelopes import PluginHealth, ToolDefinition
from sb.protocols.types import Goal, Relationship, SearchResult, TrustAssessment

PROTOCOL_VERSION = 1  # a plugin that asks for a newer one is refused


@runtime_checkable
class PluginContext(Protocol):
    """A plugin's access to the core. Each memory that it writes is attributed to `plugin:<name>`.

    Without an active stack, what writes returns None and what reads an empty list.
    """

    @property
    def core_id(self) -> str: ...

    @property
    def active_stack_id(self) -> str | None: ...

    @property
    def plugin_name(self) -> str: ...

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
    ) -> str | None: ...

    def belief(
        self,
        statement: str,
        *,
        belief_type: str = "fact",
        confidence: float = 0.8,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None: ...

    def value(
        self,
        name: str,
        statement: str,
        *,
        priority: int = 50,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None: ...

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
    ) -> str | None: ...

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
    ) -> str | None: ...

    def drive(
        self,
        drive_type: str,
        *,
        intensity: float | None = None,
        focus_areas: list[str] | None = None,
        derived_from: list[str] | None = None,
        context: str | None = None,
        context_tags: list[str] | None = None,
    ) -> str | None: ...

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
    ) -> str | None: ...

    def raw(self, content: str) -> str | None: ...

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        record_types: list[str] | None = None,
        context: str | None = None,
    ) -> list[SearchResult]: ...

    def get_relationships(
        self,
        *,
        entity_id: str | None = None,
        entity_type: str | None = None,
        min_trust: float | None = None,
    ) -> list[Relationship]: ...

    def get_goals(
        self, *, limit: int = 50, status: str | None = None, context: str | None = None
    ) -> list[Goal]: ...

    def trust_set(
        self, entity: str, domain: str, score: float, *, evidence: str | None = None
    ) -> str | None: ...

    def trust_get(self, entity: str, *, domain: str | None = None) -> list[TrustAssessment]: ...

    def get_data_dir(self) -> Path:
        """A folder of the plugin's own, made when it is asked for."""
        ...

    def get_config(self, key: str, default: Any = None) -> Any: ...

    def get_secret(self, key: str) -> str | None:
        """A secret for this plugin alone; it is held in memory only."""
        ...


@runtime_checkable
class PluginProtocol(Protocol):
    """Something that extends a core: with tools, commands, and by what it does with memories."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def protocol_version(self) -> int: ...

    @property
    def description(self) -> str: ...

    def capabilities(self) -> list[str]: ...

    def activate(self, context: PluginContext) -> None: ...

    def deactivate(self) -> None: ...

    def register_cli(self, subparsers: Any) -> None: ...

    def register_tools(self) -> Sequence[ToolDefinition]: ...

    def on_load(self, context: dict[str, Any]) -> None:
        """Add to what is loaded as working memory."""
        ...

    def on_status(self, status: dict[str, Any]) -> None:
        """Add to what the core says of itself."""
        ...

    def health_check(self) -> PluginHealth: ...

    def handle_cli(self, args: Any, k: Any) -> None:
        """Run one of the commands that register_cli added; `k` is the core."""
        ...

    def cli_commands(self) -> list[str]: ...
