"""Doors to the rooms of tools, under the names that the specification gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.execution.executor import ToolExecutor as ToolExecutor
    from sb.kernel.policy.permissions import PolicyAction as PolicyAction
    from sb.kernel.policy.permissions import ToolPolicy as ToolPolicy
    from sb.kernel.registry.registry import ToolRegistry as ToolRegistry
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.execution.executor": "ToolExecutor",
            "sb.kernel.policy.permissions": "PolicyAction ToolPolicy",
            "sb.kernel.registry.registry": "ToolRegistry",
        },
    )
