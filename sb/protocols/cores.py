"""The protocol of a core.

Source: the core protocol.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from sb.protocols.envelopes import Binding, PluginInfo, StackInfo
from sb.protocols.models import ModelProtocol
from sb.protocols.plugins import PluginProtocol
from sb.protocols.stacks import StackProtocol
from sb.protocols.types import SearchResult, TrustAssessment


@runtime_checkable
class CoreProtocol(Protocol):
    """The core: holds stacks, plugins and a model together, under an id that outlives them."""

    @property
    def core_id(self) -> str: ...

    @property
    def model(self) -> ModelProtocol | None: ...

    @property
    def active_stack(self) -> StackProtocol | None: ...

    @property
    def stacks(self) -> dict[str, StackInfo]: ...

    @property
    def plugins(self) -> dict[str, PluginInfo]: ...

    def set_model(self, model: ModelProtocol | None) -> None: ...

    def attach_stack(
        self, stack: StackProtocol, *, alias: str | None = None, set_active: bool = True
    ) -> str: ...

    def detach_stack(self, stack_id: str) -> None: ...

    def set_active_stack(self, stack_id: str) -> None: ...

    def load_plugin(self, plugin: PluginProtocol) -> None: ...

    def unload_plugin(self, name: str) -> None: ...

    def discover_plugins(self) -> list[PluginInfo]: ...

    # What is remembered goes to the active stack, with where it comes from; each returns the memory's id.

    def episode(
        self,
        objective: str,
        outcome: str,
        *,
        lessons: list[str] | None = None,
        tags: list[str] | None = None,
        source: str | None = None,
        context: str | None = None,
    ) -> str: ...

    def belief(
        self,
        statement: str,
        *,
        type: str = "fact",
        confidence: float = 0.8,
        foundational: bool = False,
        source: str | None = None,
    ) -> str: ...

    def value(
        self,
        name: str,
        statement: str,
        *,
        priority: int = 50,
        type: str = "core_value",
        foundational: bool = False,
    ) -> str: ...

    def goal(
        self,
        title: str,
        *,
        description: str | None = None,
        goal_type: str = "task",
        priority: str = "medium",
    ) -> str: ...

    def note(
        self,
        content: str,
        *,
        type: str = "note",
        speaker: str | None = None,
        tags: list[str] | None = None,
        protect: bool = False,
        source: str | None = None,
    ) -> str: ...

    def drive(
        self, drive_type: str, *, intensity: float | None = None, focus_areas: list[str] | None = None
    ) -> str: ...

    def relationship(
        self,
        other_stack_id: str,
        *,
        trust_level: float | None = None,
        notes: str | None = None,
        entity_type: str | None = None,
    ) -> str: ...

    def raw(self, blob: str, *, source: str | None = None) -> str: ...

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        record_types: list[str] | None = None,
        context: str | None = None,
    ) -> list[SearchResult]: ...

    def load(self, *, token_budget: int = 8000, context: str | None = None) -> dict[str, Any]: ...

    def status(self) -> dict[str, Any]: ...

    def trust_set(self, entity: str, domain: str, score: float, *, evidence: str | None = None) -> str: ...

    def trust_get(self, entity: str, *, domain: str | None = None) -> list[TrustAssessment]: ...

    def trust_list(
        self, *, domain: str | None = None, min_score: float | None = None
    ) -> list[TrustAssessment]: ...

    def checkpoint(self, message: str = "") -> str: ...

    @classmethod
    def from_checkpoint(cls, path: Path) -> Self: ...

    def get_binding(self) -> Binding: ...
