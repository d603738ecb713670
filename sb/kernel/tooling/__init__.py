"""Tools: what they promise, who may call them, and the one path by which they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.tooling.executor import ToolExecutor
    from sb.kernel.tooling.permissions import PolicyAction, ToolPolicy
    from sb.kernel.tooling.registry import ToolRegistry
else:
    from sb.lazy import lazy_exports

    __getattr__ = lazy_exports(
        __name__,
        {
            "sb.kernel.tooling.executor": ("ToolExecutor",),
            "sb.kernel.tooling.permissions": ("PolicyAction", "ToolPolicy"),
            "sb.kernel.tooling.registry": ("ToolRegistry",),
        },
    )

__all__ = ["PolicyAction", "ToolExecutor", "ToolPolicy", "ToolRegistry"]
