"""Discover installed and configured tools; name those that could not be loaded."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sb.base.discovery import entry_points
from sb.base.secrets.redaction import one_line
from sb.base.values.frozen import frozen
from sb.errors import ContractError
from sb.kernel.registry.registry import CONFIGURED, INSTALLED, RegisteredTool, ToolRegistry

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "sb.tools"
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@frozen
class LoadFailure:
    """Tools that could not be loaded, and why.

    Args:
        source: as `ToolRegistry.source` names it.
        message: one line.
    """

    source: str
    message: str

    def __str__(self) -> str:
        return f"tools of {self.source} were not loaded: {self.message}"


def load_third_party(registry: ToolRegistry, configured: Sequence[str]) -> list[LoadFailure]:
    """Let every installed entry point of the group `sb.tools`, then every configured function, register tools.

    Each is a callable that takes the registry. One that fails leaves no tool behind and does not keep the
    others from loading; so does one that replaces or removes a tool that was there before it.

    Args:
        configured: "module:function" names from a configuration that is trusted, since they are imported.
    """
    failures = []
    try:
        sources = _installed()
    except Exception as error:  # noqa: BLE001 - a broken installation of others must not stop ours
        failures.append(LoadFailure("entry points", _one_line(error)))
        sources = []
    sources += [(f"{CONFIGURED}{name}", partial(_configured, name)) for name in configured]
    for source, load in sources:
        message = _load_one(registry, source, load)
        if message:
            failures.append(LoadFailure(source, message))
    return failures


def _installed() -> list[tuple[str, Callable[[], Any]]]:
    found = sorted(entry_points(ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value))
    return [(f"{INSTALLED}{point.name} ({_distribution(point)})", point.load) for point in found]


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "unknown distribution"


def _configured(name: str) -> Any:
    if not _REFERENCE.fullmatch(name):
        raise ValueError("not of the form module:function")
    module, _, function = name.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in function.split("."):
        found = getattr(found, attribute)
    return found


def _load_one(registry: ToolRegistry, source: str, load: Callable[[], Any]) -> str:
    """The reason why the tools of one source were not added, or ""."""
    before = {tool_id: registry.tool(tool_id) for tool_id in registry.list_ids()}
    try:
        with registry.source(source):
            load()(registry)
        _require_untouched(registry, before)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code of others: its failure is reported, not ours
        _restore(registry, before)
        return _one_line(error)
    return ""


def _one_line(error: BaseException) -> str:
    return one_line(f"{type(error).__name__}: {error}", 300)


def _require_untouched(registry: ToolRegistry, before: dict[str, RegisteredTool | None]) -> None:
    for tool_id, tool in before.items():
        if tool and registry.tool(tool_id) is not tool:
            raise ContractError(f"it replaced or removed {tool_id}, which {tool.source} had registered")


def _restore(registry: ToolRegistry, before: dict[str, RegisteredTool | None]) -> None:
    for tool_id in registry.list_ids():
        if registry.tool(tool_id) is not before.get(tool_id):
            registry.unregister(tool_id)
    for tool_id, tool in before.items():
        if tool and tool_id not in registry:
            with registry.source(tool.source):
                registry.register(tool.spec, tool.fn)
