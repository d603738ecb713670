"""The context of a plugin: writes attributed to it, reads, and a data folder of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from sb.entity.folders import path_part, private_folder
from sb.entity.routing import PLUGIN
from sb.errors import NoActiveStackError, PluginError
from sb.protocols import CoreProtocol, PluginContext, StackProtocol
from sb.protocols.types import Goal, Relationship, SearchResult, TrustAssessment

Given = ParamSpec("Given")


def _attributed(write: Callable[Given, str | None], **renamed: str) -> Callable[Given, str | None]:
    """Makes the core's write of the same name one that is attributed to the plugin.

    Args:
        write: the method of `PluginContext` that lists the keywords a plugin may pass.
        renamed: keyword there to keyword of the core, where they differ.
    """
    signature = inspect.signature(write)

    @wraps(write)
    def routed(*given: Given.args, **named: Given.kwargs) -> str | None:
        arguments = dict(signature.bind(*given, **named).arguments)
        context: CoreContext = arguments.pop("self")
        return context._write(write.__name__, {renamed.get(key, key): arguments[key] for key in arguments})

    return routed


class CoreContext(PluginContext):
    """The `PluginContext` of one plugin; it ends with the plugin.

    Args:
        config, secrets: what `get_config` and `get_secret` answer.
    """

    def __init__(
        self,
        core: CoreProtocol,
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

    episode = _attributed(PluginContext.episode)
    belief = _attributed(PluginContext.belief, belief_type="type")
    value = _attributed(PluginContext.value)
    goal = _attributed(PluginContext.goal)
    note = _attributed(PluginContext.note, note_type="type")
    drive = _attributed(PluginContext.drive)
    relationship = _attributed(PluginContext.relationship, other_entity_id="other_stack_id")
    raw = _attributed(PluginContext.raw, content="blob")

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
        """End the context: the plugin is unloaded, and speaks for the core no more."""
        self._ended = True
        self._secrets.clear()

    def _stack(self) -> StackProtocol | None:
        if self._ended:
            raise PluginError(f"plugin {self._plugin_name} is no longer loaded")
        return self._core.active_stack

    def _write(self, kind: str, arguments: Mapping[str, Any]) -> str | None:
        if self._stack() is None:
            return None
        try:
            written: str = getattr(self._core, kind)(source=PLUGIN + self._plugin_name, **arguments)
            return written
        except NoActiveStackError:  # detached by another thread
            return None
