"""Register the tools of a plugin with the kernel, each with a contract."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sb.errors import ContractError
from sb.kernel.contracts import VALUE_TYPES, SafetyClass, ToolArgSchema, ToolSpec
from sb.kernel.registry.registry import ToolRegistry
from sb.protocols import ToolDefinition

_UNDECLARED = (
    SafetyClass.NETWORK
)  # announced before it runs, its contract approved once, never repeated by itself
_OTHERS = re.compile(r"[^a-z0-9_\-]+")


def register_tools(
    registry: ToolRegistry, plugin: str, version: str, tools: Iterable[ToolDefinition]
) -> list[str]:
    """Register them as `plugin.<plugin>.<tool>`, all or none; returns their ids.

    Raises:
        ContractError: one cannot have a contract, has no handler, or has the id of a tool that is there.
    """
    registered: list[str] = []
    try:
        with registry.source(f"plugin {plugin} {version}"):
            for tool in tools:
                spec = contract_of(plugin, tool)
                if tool.handler is None:
                    raise ContractError(f"tool {spec.tool_id} has no handler")
                if spec.tool_id in registry:
                    raise ContractError(f"tool {spec.tool_id} already exists")
                registry.register(spec, tool.handler)
                registered.append(spec.tool_id)
    except BaseException:
        for tool_id in registered:
            registry.unregister(tool_id)
        raise
    return registered


def contract_of(plugin: str, tool: ToolDefinition) -> ToolSpec:
    """The contract that a definition stands for.

    Raises:
        ContractError: it is none.
    """
    return ToolSpec(
        tool_id=f"plugin.{_part(plugin)}.{_part(tool.name)}",
        name=tool.name,
        description=tool.description,
        safety_class=_UNDECLARED if tool.safety_class is None else SafetyClass(tool.safety_class),
        args_schema=_arguments(tool),
        metadata={"plugin": plugin},
    )


def _part(name: str) -> str:
    part = _OTHERS.sub("_", name.lower())
    if not part.strip("_"):
        raise ContractError(f"{name!r} cannot be part of a tool's id", "use letters, digits, _ and -")
    return part


def _arguments(tool: ToolDefinition) -> list[ToolArgSchema]:
    """The properties of the schema; none where it allows others, since a declared list refuses those."""
    schema = tool.input_schema
    if not isinstance(schema, Mapping):
        raise ContractError(f"tool {tool.name}: input_schema is not an object")
    if schema.get("additionalProperties"):
        return []
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not all(
        isinstance(item, Mapping) for item in properties.values()
    ):
        raise ContractError(f"tool {tool.name}: the properties of its input_schema are not objects")
    return [_argument(name, about, name in required) for name, about in properties.items()]


def _argument(name: str, about: Mapping[str, Any], required: bool) -> ToolArgSchema:
    kind = about.get("type")
    return ToolArgSchema(
        name,
        kind if isinstance(kind, str) and kind in VALUE_TYPES else "any",
        required,
        str(about.get("description", "")),
        sensitive=about.get("writeOnly") is True or about.get("format") == "password",
    )
