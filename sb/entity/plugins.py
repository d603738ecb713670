"""Load, unload and query plugins; a plugin's failure never stops the core.

Source: the core protocol, "Plugin lifecycle".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from sb.base.discovery import PLUGINS, discover
from sb.base.secrets.redaction import redact_text
from sb.base.text import plain
from sb.base.values.frozen import mutable
from sb.entity.plugin_context import CoreContext
from sb.entity.plugin_tools import register_tools
from sb.errors import PluginError
from sb.kernel.registry.registry import ToolRegistry
from sb.protocols import (
    PROTOCOL_VERSION,
    CoreProtocol,
    PluginHealth,
    PluginInfo,
    PluginProtocol,
    StackProtocol,
)

logger = logging.getLogger("sb.entity")


@mutable
class _Loaded:
    """A plugin that is in use; `failure` is what went wrong when it was loaded, or ""."""

    plugin: PluginProtocol
    context: CoreContext
    tools: list[str] = field(default_factory=list)
    failure: str = ""


class Plugins:
    """The plugins of one core, in the order in which they were loaded.

    Args:
        registry: where their tools are registered. folder: below which each has a folder of its own.
    """

    def __init__(self, core: CoreProtocol, registry: ToolRegistry, folder: Path) -> None:
        self._core = core
        self._registry = registry
        self._folder = folder
        self._loaded: dict[str, _Loaded] = {}

    def load(
        self,
        plugin: PluginProtocol,
        subparsers: Any,
        *,
        fail_fast: bool,
        config: Mapping[str, Any],
        secrets: Mapping[str, str],
        stacks: Iterable[StackProtocol],
    ) -> None:
        """As `Entity.load_plugin` says."""
        name = plugin.name
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a plugin's name is {name!r}, must be a non-blank string")
        name.encode()  # half of a surrogate pair could be neither stored nor named
        if name in self._loaded:
            raise ValueError(f"Plugin {name!r} is already loaded: unload it first")
        _check_version(plugin)
        context = CoreContext(self._core, name, self._folder, config, secrets)
        loaded = self._loaded[name] = _Loaded(plugin, context)
        try:
            for stack in stacks:  # before it is activated, since it may remember something at once
                vouch(stack, name)
            plugin.activate(context)
        except BaseException:
            self._drop(name, stacks)
            raise
        self._register(name, loaded, subparsers)
        if loaded.failure and fail_fast:
            self.unload(name, stacks)
            raise PluginError(f"plugin {name} was not loaded: {loaded.failure}")

    def unload(self, name: str, stacks: Iterable[StackProtocol]) -> None:
        """As `Entity.unload_plugin` says."""
        loaded = self._loaded.get(name)
        if loaded is None:
            return
        try:
            _guarded(name, "deactivate", loaded.plugin.deactivate)
        finally:
            self._drop(name, stacks)

    def names(self) -> list[str]:
        return list(self._loaded)

    def infos(self) -> dict[str, PluginInfo]:
        """Describes the loaded plugins, by name."""
        found = {}
        for name, loaded in list(self._loaded.items()):
            plugin = loaded.plugin
            capabilities, _ = _guarded(name, "capabilities", plugin.capabilities)
            found[name] = PluginInfo(
                name, plugin.version, plugin.description, list(capabilities or ()), is_loaded=True
            )
        return found

    def installed(self) -> list[PluginInfo]:
        """Lists the installed plugins, loaded or not."""
        return [
            PluginInfo(
                component.name,
                component.dist_version or "unknown",
                "",
                is_loaded=component.name in self._loaded,
            )
            for component in discover(PLUGINS)
        ]

    def status(self) -> dict[str, dict[str, Any]]:
        """Version and health of each, by name."""
        return {
            name: {"version": loaded.plugin.version, "health": _health(name, loaded)}
            for name, loaded in list(self._loaded.items())
        }

    def tools(self) -> dict[str, list[str]]:
        """The ids of the tools that each has registered, by name."""
        return {name: list(loaded.tools) for name, loaded in self._loaded.items()}

    def tell(self, hook: str, document: dict[str, Any]) -> None:
        """Calls a hook of all plugins with a document they may add to."""
        for name, loaded in list(self._loaded.items()):
            _guarded(name, hook, lambda item=loaded: getattr(item.plugin, hook)(document))  # type: ignore[misc]

    def _register(self, name: str, loaded: _Loaded, subparsers: Any) -> None:
        plugin = loaded.plugin

        def tools() -> None:
            offered = plugin.register_tools()
            loaded.tools = register_tools(self._registry, name, plugin.version, offered)

        steps: list[tuple[str, Callable[[], None]]] = [("register_tools", tools)]
        if subparsers is not None:
            steps.append(("register_cli", lambda: plugin.register_cli(subparsers)))
        for hook, step in steps:
            _, failure = _guarded(name, hook, step)
            loaded.failure = loaded.failure or failure

    def _drop(self, name: str, stacks: Iterable[StackProtocol]) -> None:
        loaded = self._loaded.pop(name)
        loaded.context.end()
        for tool_id in loaded.tools:
            self._registry.unregister(tool_id)
        for stack in stacks:
            vouch(stack, name, no_longer=True)


def vouch(stack: StackProtocol, name: str, *, no_longer: bool = False) -> None:
    """Tell a stack that looks at provenance that a plugin may write to it, or may not any more."""
    tell = getattr(stack, "unregister_plugin" if no_longer else "register_plugin", None)
    if tell is not None:
        tell(name)


def _check_version(plugin: PluginProtocol) -> None:
    asked = getattr(plugin, "protocol_version", None)
    if asked is None:
        return
    whole = isinstance(asked, int) and not isinstance(asked, bool)
    if not whole:
        raise ValueError(f"Plugin '{plugin.name}' has protocol version {asked!r}, must be a whole number")
    if asked > PROTOCOL_VERSION:
        raise ValueError(
            f"Plugin '{plugin.name}' requires protocol version {asked}, "
            f"but this core supports version {PROTOCOL_VERSION}."
        )
    if asked < PROTOCOL_VERSION:
        logger.warning(
            "Plugin '%s' uses protocol version %d (current: %d).", plugin.name, asked, PROTOCOL_VERSION
        )


def _health(name: str, loaded: _Loaded) -> dict[str, Any]:
    if loaded.failure:  # what is missing since then is missing still
        return {"healthy": False, "message": loaded.failure}
    health, failure = _guarded(name, "health_check", loaded.plugin.health_check)
    if not isinstance(health, PluginHealth):
        return {"healthy": False, "message": failure or "health_check answered with no PluginHealth"}
    return {"healthy": health.healthy, "message": health.message}


def _guarded(name: str, hook: str, call: Callable[[], Any]) -> tuple[Any, str]:
    """Calls a hook; returns its answer, and "" or the failure, which is logged."""
    try:
        return call(), ""
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is its own failure
        failure = redact_text(plain(f"{hook}: {type(error).__name__}: {error}", one_line=True))
        logger.warning(
            "plugin %s failed in %s",
            name,
            failure,
            extra={"plugin": name, "hook": hook, "error_type": type(error).__name__},
        )
        return None, failure
