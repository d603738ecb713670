"""The kernel: contracts, run contexts, governed execution and tiered memory for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.compensation import (
        CompensationDispatcher,
        CompensationKind,
        CompensationOutcome,
        FailedCall,
        FailureNotice,
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
    from sb.kernel.durable.journal import WorkflowJournal
    from sb.kernel.error_classifier import classify
    from sb.kernel.error_kinds import ErrorKind, tool_failure
    from sb.kernel.events import (
        AssumptionInvalidated,
        EventBus,
    )
    from sb.kernel.functions.governed import (
        ToolCallFailed,
        ToolCallRefused,
        governed,
        register_governed,
    )
    from sb.kernel.harness_audit import (
        AuditReport,
        Catalogue,
        Check,
        Control,
        ControlSeverity,
        ControlStatus,
        Criterion,
        Grade,
        load_catalogue,
    )
    from sb.kernel.incident_response import (
        Impact,
        Incident,
        Incidents,
        Kill,
        KillScope,
        KillSwitch,
        Reach,
        Severity,
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
    from sb.kernel.recovery_loop import (
        RecoveryLoop,
        RuntimeDecisionRecord,
        registry_approval_resolver,
    )
    from sb.kernel.reversal_contracts import (
        Assumption,
        BlastRadius,
        MutationRef,
        MutationState,
        RecoveryApprovalMode,
        ReversalClass,
        ReversalSpec,
    )
    from sb.kernel.reversibility import (
        MutationStore,
    )
    from sb.kernel.run_context import (
        IrreversibilityBudget,
        LocaleCode,
        RiskDimension,
        RunBudget,
        RunContext,
        SafetyMode,
    )
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
                "FailureNotice",
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
            "sb.kernel.durable.journal": ("WorkflowJournal",),
            "sb.kernel.error_classifier": ("classify",),
            "sb.kernel.error_kinds": (
                "ErrorKind",
                "tool_failure",
            ),
            "sb.kernel.functions.governed": (
                "ToolCallFailed",
                "ToolCallRefused",
                "governed",
                "register_governed",
            ),
            "sb.kernel.harness_audit": (
                "AuditReport",
                "Catalogue",
                "Check",
                "Control",
                "ControlSeverity",
                "ControlStatus",
                "Criterion",
                "Grade",
                "load_catalogue",
            ),
            "sb.kernel.incident_response": (
                "Impact",
                "Incident",
                "Incidents",
                "Kill",
                "KillScope",
                "KillSwitch",
                "Reach",
                "Severity",
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
            "sb.kernel.reversal_contracts": (
                "Assumption",
                "BlastRadius",
                "MutationRef",
                "MutationState",
                "RecoveryApprovalMode",
                "ReversalClass",
                "ReversalSpec",
            ),
            "sb.kernel.reversibility": ("MutationStore",),
            "sb.kernel.events": (
                "AssumptionInvalidated",
                "EventBus",
            ),
            "sb.kernel.recovery_loop": (
                "RecoveryLoop",
                "RuntimeDecisionRecord",
                "registry_approval_resolver",
            ),
            "sb.kernel.run_context": (
                "IrreversibilityBudget",
                "LocaleCode",
                "RiskDimension",
                "RunBudget",
                "RunContext",
                "SafetyMode",
            ),
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
    "Assumption",
    "AssumptionInvalidated",
    "AuditReport",
    "BlastRadius",
    "Catalogue",
    "Check",
    "CompensationAction",
    "CompensationDispatcher",
    "CompensationKind",
    "CompensationOutcome",
    "CompiledContextItem",
    "Control",
    "ControlSeverity",
    "ControlStatus",
    "Criterion",
    "DurableMemory",
    "EpisodicMemory",
    "ErrorKind",
    "EventBus",
    "FailedCall",
    "FailureNotice",
    "Grade",
    "Impact",
    "Incident",
    "Incidents",
    "IrreversibilityBudget",
    "Kill",
    "KillScope",
    "KillSwitch",
    "LocaleCode",
    "MemoryBundle",
    "MemoryEntry",
    "MemoryProtocol",
    "MemoryStore",
    "MutationRef",
    "MutationState",
    "MutationStore",
    "NoReversalToken",
    "PolicyAction",
    "PolicyDecision",
    "Reach",
    "RecoveryApprovalMode",
    "RecoveryLoop",
    "ReversalClass",
    "ReversalSpec",
    "RiskDimension",
    "RunBudget",
    "RunContext",
    "RuntimeDecisionRecord",
    "SafetyClass",
    "SafetyMode",
    "Severity",
    "TokenStore",
    "ToolArgSchema",
    "ToolCallFailed",
    "ToolCallRefused",
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
    "WorkflowJournal",
    "WorkingMemory",
    "classify",
    "executor_dispatcher",
    "get_default_registry",
    "governed",
    "guard",
    "load_catalogue",
    "register_governed",
    "registry_approval_resolver",
    "tool_failure",
    "verdict_for",
]
