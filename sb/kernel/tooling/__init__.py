"""Tools: what they promise, who may call them, and the one path by which they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.execution.executor import ToolExecutor
    from sb.kernel.policy.permissions import PolicyAction, ToolPolicy
    from sb.kernel.registry.registry import ToolRegistry
else:
    from sb.lazy import lazy_exports

    __getattr__ = lazy_exports(
        __name__,
        {
            "sb.kernel.execution.executor": ("ToolExecutor",),
            "sb.kernel.policy.permissions": ("PolicyAction", "ToolPolicy"),
            "sb.kernel.registry.registry": ("ToolRegistry",),
        },
    )

__all__ = ["PolicyAction", "ToolExecutor", "ToolPolicy", "ToolRegistry"]
