"""The kernel: contracts, run contexts, governed execution and tiered memory for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.compensation import (
        CompensationDispatcher,
        CompensationKind,
        CompensationOutcome,
        Escalation,
        FailedCall,
        NoReversalToken,
        TokenStore,
        guard,
    )
    from sb.kernel.compensation_wiring import executor_dispatcher
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
    from sb.kernel.error_classifier import classify
    from sb.kernel.error_kinds import ErrorKind, tool_failure
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
    from sb.kernel.verdicts import PLAYBOOK, CompensationAction, Verdict, verdict_for
else:
    from sb.lazy import lazy_exports

    __getattr__ = lazy_exports(
        __name__,
        {
            "sb.kernel.compensation": (
                "CompensationDispatcher",
                "CompensationKind",
                "CompensationOutcome",
                "Escalation",
                "FailedCall",
                "NoReversalToken",
                "TokenStore",
                "guard",
            ),
            "sb.kernel.compensation_wiring": ("executor_dispatcher",),
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
            "sb.kernel.error_classifier": ("classify",),
            "sb.kernel.error_kinds": (
                "ErrorKind",
                "tool_failure",
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
            "sb.kernel.verdicts": (
                "PLAYBOOK",
                "CompensationAction",
                "Verdict",
                "verdict_for",
            ),
        },
    )

__all__ = [
    "PLAYBOOK",
    "AgentCapabilities",
    "CompensationAction",
    "CompensationDispatcher",
    "CompensationKind",
    "CompensationOutcome",
    "CompiledContextItem",
    "DurableMemory",
    "EpisodicMemory",
    "ErrorKind",
    "Escalation",
    "FailedCall",
    "LocaleCode",
    "MemoryBundle",
    "MemoryEntry",
    "MemoryProtocol",
    "MemoryStore",
    "NoReversalToken",
    "PolicyAction",
    "PolicyDecision",
    "RunBudget",
    "RunContext",
    "SafetyClass",
    "SafetyMode",
    "TokenStore",
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
    "Verdict",
    "WorkingMemory",
    "classify",
    "executor_dispatcher",
    "get_default_registry",
    "guard",
    "tool_failure",
    "verdict_for",
]
