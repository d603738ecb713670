"""The kernel: contracts, run contexts, governed execution and tiered memory for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.agent_charter import GRACE_DAYS as GRACE_DAYS
    from sb.kernel.agent_charter import UNSTATED as UNSTATED
    from sb.kernel.agent_charter import AgentCharter as AgentCharter
    from sb.kernel.agent_charter import CharterEntry as CharterEntry
    from sb.kernel.agent_charter import CharterFiles as CharterFiles
    from sb.kernel.agent_charter import Charters as Charters
    from sb.kernel.agent_charter import CharterState as CharterState
    from sb.kernel.autonomy import RUNGS as RUNGS
    from sb.kernel.autonomy import AutonomyCaps as AutonomyCaps
    from sb.kernel.autonomy import AutonomyDecision as AutonomyDecision
    from sb.kernel.autonomy import AutonomyMode as AutonomyMode
    from sb.kernel.autonomy import AutonomySignals as AutonomySignals
    from sb.kernel.autonomy import AutonomyState as AutonomyState
    from sb.kernel.autonomy import compute_autonomy as compute_autonomy
    from sb.kernel.autonomy import degrade as degrade
    from sb.kernel.autonomy import reversibility_score as reversibility_score
    from sb.kernel.business_metrics import BusinessMetrics as BusinessMetrics
    from sb.kernel.business_metrics import BusinessOutcome as BusinessOutcome
    from sb.kernel.business_metrics import BusinessReport as BusinessReport
    from sb.kernel.business_metrics import Rate as Rate
    from sb.kernel.compensation.dispatcher import CompensationDispatcher as CompensationDispatcher
    from sb.kernel.compensation.outcome import CompensationKind as CompensationKind
    from sb.kernel.compensation.outcome import CompensationOutcome as CompensationOutcome
    from sb.kernel.compensation.outcome import FailedCall as FailedCall
    from sb.kernel.compensation.outcome import FailureNotice as FailureNotice
    from sb.kernel.compensation.reversal_guard import NoReversalToken as NoReversalToken
    from sb.kernel.compensation.reversal_guard import TokenStore as TokenStore
    from sb.kernel.compensation.reversal_guard import guard as guard
    from sb.kernel.compensation.wiring import executor_dispatcher as executor_dispatcher
    from sb.kernel.context_sources import SENSITIVITIES as SENSITIVITIES
    from sb.kernel.context_sources import AccessMode as AccessMode
    from sb.kernel.context_sources import ContextSource as ContextSource
    from sb.kernel.context_sources import ContextSourceRegistry as ContextSourceRegistry
    from sb.kernel.context_sources import SourceRefused as SourceRefused
    from sb.kernel.context_sources import read_sources as read_sources
    from sb.kernel.contracts import AgentCapabilities as AgentCapabilities
    from sb.kernel.contracts import CompiledContextItem as CompiledContextItem
    from sb.kernel.contracts import SafetyClass as SafetyClass
    from sb.kernel.contracts import ToolArgSchema as ToolArgSchema
    from sb.kernel.contracts import ToolError as ToolError
    from sb.kernel.contracts import ToolErrorCode as ToolErrorCode
    from sb.kernel.contracts import ToolProvenance as ToolProvenance
    from sb.kernel.contracts import ToolResult as ToolResult
    from sb.kernel.contracts import ToolReturnSchema as ToolReturnSchema
    from sb.kernel.contracts import ToolSpec as ToolSpec
    from sb.kernel.contradiction_ledger import ConflictRecord as ConflictRecord
    from sb.kernel.contradiction_ledger import ContradictionLedger as ContradictionLedger
    from sb.kernel.contradiction_ledger import LedgerClaim as LedgerClaim
    from sb.kernel.data_classification import Classification as Classification
    from sb.kernel.data_classification import Sensitivity as Sensitivity
    from sb.kernel.data_classification import may_be_sensitive as may_be_sensitive
    from sb.kernel.data_classification import redact as redact
    from sb.kernel.data_classification import redact_json as redact_json
    from sb.kernel.data_classification import redact_text as redact_text
    from sb.kernel.durable_execution import CallFailed as CallFailed
    from sb.kernel.durable_execution import LeaseLost as LeaseLost
    from sb.kernel.durable_execution import ReplayMismatch as ReplayMismatch
    from sb.kernel.durable_execution import StepInDoubt as StepInDoubt
    from sb.kernel.durable_execution import UnfinishedWorkflow as UnfinishedWorkflow
    from sb.kernel.durable_execution import Workflow as Workflow
    from sb.kernel.durable_execution import WorkflowClaimed as WorkflowClaimed
    from sb.kernel.durable_execution import WorkflowConflict as WorkflowConflict
    from sb.kernel.durable_execution import WorkflowJournal as WorkflowJournal
    from sb.kernel.error_classifier.classifier import classify as classify
    from sb.kernel.error_classifier.verdicts import PLAYBOOK as PLAYBOOK
    from sb.kernel.error_classifier.verdicts import CompensationAction as CompensationAction
    from sb.kernel.error_classifier.verdicts import Verdict as Verdict
    from sb.kernel.error_classifier.verdicts import verdict_for as verdict_for
    from sb.kernel.error_kinds import ErrorKind as ErrorKind
    from sb.kernel.error_kinds import tool_failure as tool_failure
    from sb.kernel.events import AssumptionInvalidated as AssumptionInvalidated
    from sb.kernel.events import EventBus as EventBus
    from sb.kernel.execution.executor import ToolExecutor as ToolExecutor
    from sb.kernel.functions.governed import ToolCallFailed as ToolCallFailed
    from sb.kernel.functions.governed import ToolCallRefused as ToolCallRefused
    from sb.kernel.functions.governed import governed as governed
    from sb.kernel.functions.governed import register_governed as register_governed
    from sb.kernel.harness_audit import AuditReport as AuditReport
    from sb.kernel.harness_audit import Catalogue as Catalogue
    from sb.kernel.harness_audit import Check as Check
    from sb.kernel.harness_audit import Control as Control
    from sb.kernel.harness_audit import ControlSeverity as ControlSeverity
    from sb.kernel.harness_audit import ControlStatus as ControlStatus
    from sb.kernel.harness_audit import Criterion as Criterion
    from sb.kernel.harness_audit import Grade as Grade
    from sb.kernel.harness_audit import load_catalogue as load_catalogue
    from sb.kernel.incident_response import SEVERITY_MATRIX as SEVERITY_MATRIX
    from sb.kernel.incident_response import AlreadyClosed as AlreadyClosed
    from sb.kernel.incident_response import Impact as Impact
    from sb.kernel.incident_response import Incident as Incident
    from sb.kernel.incident_response import Incidents as Incidents
    from sb.kernel.incident_response import Kill as Kill
    from sb.kernel.incident_response import KillScope as KillScope
    from sb.kernel.incident_response import KillSwitch as KillSwitch
    from sb.kernel.incident_response import Reach as Reach
    from sb.kernel.incident_response import Severity as Severity
    from sb.kernel.incident_response import Thrown as Thrown
    from sb.kernel.incident_response import parse_scope as parse_scope
    from sb.kernel.incident_response import runbook as runbook
    from sb.kernel.incident_response import severity_of as severity_of
    from sb.kernel.memory import DurableMemory as DurableMemory
    from sb.kernel.memory import EpisodicMemory as EpisodicMemory
    from sb.kernel.memory import MemoryBundle as MemoryBundle
    from sb.kernel.memory import MemoryEntry as MemoryEntry
    from sb.kernel.memory import MemoryProtocol as MemoryProtocol
    from sb.kernel.memory import MemoryStore as MemoryStore
    from sb.kernel.memory import WorkingMemory as WorkingMemory
    from sb.kernel.memory_read_policy import DeniedRead as DeniedRead
    from sb.kernel.memory_read_policy import ReadPolicy as ReadPolicy
    from sb.kernel.memory_read_policy import denied_reads as denied_reads
    from sb.kernel.policy.permissions import PolicyAction as PolicyAction
    from sb.kernel.policy.permissions import PolicyDecision as PolicyDecision
    from sb.kernel.policy.permissions import ToolPolicy as ToolPolicy
    from sb.kernel.recovery_loop.loop import DecisionStore as DecisionStore
    from sb.kernel.recovery_loop.loop import RecoveryLoop as RecoveryLoop
    from sb.kernel.recovery_loop.loop import RuntimeDecisionRecord as RuntimeDecisionRecord
    from sb.kernel.recovery_loop.loop import ask_a_person as ask_a_person
    from sb.kernel.recovery_loop.loop import registry_approval_resolver as registry_approval_resolver
    from sb.kernel.red_team import LONGEST as LONGEST
    from sb.kernel.red_team import Category as Category
    from sb.kernel.red_team import Origin as Origin
    from sb.kernel.red_team import check as check
    from sb.kernel.registry.registry import ToolRegistry as ToolRegistry
    from sb.kernel.registry.registry import get_default_registry as get_default_registry
    from sb.kernel.release_tuple import PARTS as PARTS
    from sb.kernel.release_tuple import Drift as Drift
    from sb.kernel.release_tuple import PartChange as PartChange
    from sb.kernel.release_tuple import ReleaseEntry as ReleaseEntry
    from sb.kernel.release_tuple import ReleasePart as ReleasePart
    from sb.kernel.release_tuple import Releases as Releases
    from sb.kernel.release_tuple import ReleaseTuple as ReleaseTuple
    from sb.kernel.release_tuple import diff as diff
    from sb.kernel.replay import Capture as Capture
    from sb.kernel.replay import Divergence as Divergence
    from sb.kernel.replay import MemoryCapture as MemoryCapture
    from sb.kernel.replay import Packet as Packet
    from sb.kernel.replay import PacketFile as PacketFile
    from sb.kernel.replay import PacketShelf as PacketShelf
    from sb.kernel.replay import changed_facts as changed_facts
    from sb.kernel.replay import divergences as divergences
    from sb.kernel.replay import packet_of as packet_of
    from sb.kernel.reversibility.contracts import Assumption as Assumption
    from sb.kernel.reversibility.contracts import BlastRadius as BlastRadius
    from sb.kernel.reversibility.contracts import MutationRef as MutationRef
    from sb.kernel.reversibility.contracts import MutationState as MutationState
    from sb.kernel.reversibility.contracts import RecoveryApprovalMode as RecoveryApprovalMode
    from sb.kernel.reversibility.contracts import ReversalClass as ReversalClass
    from sb.kernel.reversibility.contracts import ReversalSpec as ReversalSpec
    from sb.kernel.reversibility.mutations import MutationStore as MutationStore
    from sb.kernel.reversibility.mutations import Reversibility as Reversibility
    from sb.kernel.run_context import IrreversibilityBudget as IrreversibilityBudget
    from sb.kernel.run_context import LocaleCode as LocaleCode
    from sb.kernel.run_context import RiskDimension as RiskDimension
    from sb.kernel.run_context import RunBudget as RunBudget
    from sb.kernel.run_context import RunContext as RunContext
    from sb.kernel.run_context import SafetyMode as SafetyMode
    from sb.kernel.tokenomics import CostBreakdown as CostBreakdown
    from sb.kernel.tokenomics import OutcomeRecord as OutcomeRecord
    from sb.kernel.tokenomics import TokenomicsLedger as TokenomicsLedger
    from sb.kernel.tokenomics import TokenomicsReport as TokenomicsReport
    from sb.kernel.trajectory_eval import RecordedCall as RecordedCall
    from sb.kernel.trajectory_eval import Trajectory as Trajectory
    from sb.kernel.trajectory_eval import TrajectoryGrade as TrajectoryGrade
    from sb.kernel.trajectory_eval import TrajectoryStep as TrajectoryStep
    from sb.kernel.trajectory_eval import grade as grade
    from sb.kernel.trajectory_eval import read_trajectory as read_trajectory
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.agent_charter": (
                "GRACE_DAYS UNSTATED AgentCharter CharterEntry CharterFiles CharterState Charters"
            ),
            "sb.kernel.autonomy": (
                "RUNGS AutonomyCaps AutonomyDecision AutonomyMode AutonomySignals AutonomyState compute_autonomy degrade reversibility_score"
            ),
            "sb.kernel.business_metrics": ("BusinessMetrics BusinessOutcome BusinessReport Rate"),
            "sb.kernel.tokenomics": ("CostBreakdown OutcomeRecord TokenomicsLedger TokenomicsReport"),
            "sb.kernel.reversibility.mutations": "MutationStore Reversibility",
            "sb.kernel.context_sources": (
                "SENSITIVITIES AccessMode ContextSource ContextSourceRegistry SourceRefused read_sources"
            ),
            "sb.kernel.contracts": (
                "AgentCapabilities CompiledContextItem SafetyClass ToolArgSchema ToolError ToolErrorCode "
                "ToolProvenance ToolResult ToolReturnSchema ToolSpec"
            ),
            "sb.kernel.contradiction_ledger": "ConflictRecord ContradictionLedger LedgerClaim",
            "sb.kernel.data_classification": (
                "Classification Sensitivity may_be_sensitive redact redact_json redact_text"
            ),
            "sb.kernel.durable_execution": (
                "CallFailed LeaseLost ReplayMismatch StepInDoubt UnfinishedWorkflow Workflow "
                "WorkflowClaimed WorkflowConflict WorkflowJournal"
            ),
            "sb.kernel.error_kinds": "ErrorKind tool_failure",
            "sb.kernel.events": "AssumptionInvalidated EventBus",
            "sb.kernel.execution.executor": "ToolExecutor",
            "sb.kernel.error_classifier.classifier": "classify",
            "sb.kernel.error_classifier.verdicts": "PLAYBOOK CompensationAction Verdict verdict_for",
            "sb.kernel.functions.governed": "ToolCallFailed ToolCallRefused governed register_governed",
            "sb.kernel.harness_audit": (
                "AuditReport Catalogue Check Control ControlSeverity ControlStatus Criterion Grade "
                "load_catalogue"
            ),
            "sb.kernel.incident_response": (
                "SEVERITY_MATRIX AlreadyClosed Impact Incident Incidents Kill KillScope KillSwitch Reach "
                "Severity Thrown parse_scope runbook severity_of"
            ),
            "sb.kernel.memory": (
                "DurableMemory EpisodicMemory MemoryBundle MemoryEntry MemoryProtocol MemoryStore "
                "WorkingMemory"
            ),
            "sb.kernel.memory_read_policy": "DeniedRead ReadPolicy denied_reads",
            "sb.kernel.policy.permissions": "PolicyAction PolicyDecision ToolPolicy",
            "sb.kernel.compensation.dispatcher": "CompensationDispatcher",
            "sb.kernel.compensation.outcome": (
                "CompensationKind CompensationOutcome FailedCall FailureNotice"
            ),
            "sb.kernel.compensation.wiring": "executor_dispatcher",
            "sb.kernel.recovery_loop.loop": (
                "DecisionStore RecoveryLoop RuntimeDecisionRecord ask_a_person registry_approval_resolver"
            ),
            "sb.kernel.compensation.reversal_guard": "NoReversalToken TokenStore guard",
            "sb.kernel.red_team": "LONGEST Category Origin check",
            "sb.kernel.registry.registry": "ToolRegistry get_default_registry",
            "sb.kernel.release_tuple": "PARTS Drift PartChange ReleaseEntry ReleasePart ReleaseTuple Releases diff",
            "sb.kernel.replay": (
                "Capture Divergence MemoryCapture Packet "
                "PacketFile PacketShelf changed_facts divergences packet_of"
            ),
            "sb.kernel.reversibility.contracts": (
                "Assumption BlastRadius MutationRef MutationState RecoveryApprovalMode ReversalClass "
                "ReversalSpec"
            ),
            "sb.kernel.run_context": (
                "IrreversibilityBudget LocaleCode RiskDimension RunBudget RunContext SafetyMode"
            ),
            "sb.kernel.trajectory_eval": (
                "RecordedCall Trajectory TrajectoryGrade TrajectoryStep grade read_trajectory"
            ),
        },
    )
