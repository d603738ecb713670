"""Door to `sb.kernel.registry.registry`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.registry.registry import RegisteredTool, ToolRegistry, get_default_registry

__all__ = ["RegisteredTool", "ToolRegistry", "get_default_registry"]
