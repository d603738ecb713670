"""The kernel: contracts, run contexts, governed execution and tiered memory for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.contracts import (
        AgentCapabilities,
        CompiledContextItem,
        SafetyClass,
        ToolArgSchema,
        ToolError,
        ToolErrorCode,
        ToolProvenance,
        ToolResult,
        ToolReturnSchema,
        ToolSpec,
    )
    from sb.kernel.memory import (
        DurableMemory,
        EpisodicMemory,
        MemoryBundle,
        MemoryEntry,
        MemoryProtocol,
        MemoryStore,
        WorkingMemory,
    )
    from sb.kernel.run_context import LocaleCode, RunBudget, RunContext, SafetyMode
    from sb.kernel.tooling.executor import ToolExecutor
    from sb.kernel.tooling.permissions import PolicyAction, PolicyDecision, ToolPolicy
    from sb.kernel.tooling.registry import ToolRegistry, get_default_registry
else:
    from sb.lazy import lazy_exports

    __getattr__ = lazy_exports(
        __name__,
        {
            "sb.kernel.contracts": (
                "AgentCapabilities",
                "CompiledContextItem",
                "SafetyClass",
                "ToolArgSchema",
                "ToolError",
                "ToolErrorCode",
                "ToolProvenance",
                "ToolResult",
                "ToolReturnSchema",
                "ToolSpec",
            ),
            "sb.kernel.memory": (
                "DurableMemory",
                "EpisodicMemory",
                "MemoryBundle",
                "MemoryEntry",
                "MemoryProtocol",
                "MemoryStore",
                "WorkingMemory",
            ),
            "sb.kernel.run_context": ("LocaleCode", "RunBudget", "RunContext", "SafetyMode"),
            "sb.kernel.tooling.executor": ("ToolExecutor",),
            "sb.kernel.tooling.permissions": ("PolicyAction", "PolicyDecision", "ToolPolicy"),
            "sb.kernel.tooling.registry": ("ToolRegistry", "get_default_registry"),
        },
    )

__all__ = [
    "AgentCapabilities",
    "CompiledContextItem",
    "DurableMemory",
    "EpisodicMemory",
    "LocaleCode",
    "MemoryBundle",
    "MemoryEntry",
    "MemoryProtocol",
    "MemoryStore",
    "PolicyAction",
    "PolicyDecision",
    "RunBudget",
    "RunContext",
    "SafetyClass",
    "SafetyMode",
    "ToolArgSchema",
    "ToolError",
    "ToolErrorCode",
    "ToolExecutor",
    "ToolPolicy",
    "ToolProvenance",
    "ToolRegistry",
    "ToolResult",
    "ToolReturnSchema",
    "ToolSpec",
    "WorkingMemory",
    "get_default_registry",
]
