"""Every snippet of the survival layer's sections 1 and 2, as it is written there."""

from __future__ import annotations

import inspect
from pathlib import Path

from sb.kernel import RunContext, ToolErrorCode, ToolExecutor, ToolRegistry, ToolResult
from sb.kernel.compensation.dispatcher import CompensationDispatcher
from sb.kernel.contracts import (
    BlastRadius,
    MutationRef,
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
    SafetyClass,
    ToolSpec,
)
from sb.kernel.error_classifier.verdicts import verdict_for
from sb.kernel.events import AssumptionInvalidated, EventBus
from sb.kernel.recovery_loop.loop import RecoveryLoop, RuntimeDecisionRecord, registry_approval_resolver
from sb.kernel.reversibility.mutations import MutationStore
from sb.kernel.run_context import IrreversibilityBudget
from sb.log.event_log import EventLog
from sb.store.database import open_database

SPEC = ToolSpec(
    tool_id="payments.issue_refund",
    name="Issue refund",
    safety_class=SafetyClass.NETWORK,
    reversal=ReversalSpec(
        reversal_class=ReversalClass.COMPENSABLE,
        compensation_capability="payments.reverse_refund",
        recovery_approval_mode=RecoveryApprovalMode.HUMAN,
        reversal_window_ms=3_600_000,
        blast_radius=BlastRadius(max_calls_per_run=1, max_value_per_run=5000),
    ),
    metadata={"risk_dimension": "money", "value_arg": "amount"},
)


def test_section_1_a_tool_declares_how_it_is_undone() -> None:
    assert SPEC.reversal is not None
    assert SPEC.resolved_reversal() is SPEC.reversal
    assert {str(reversal_class) for reversal_class in ReversalClass} == {
        "reversible",
        "compensable",
        "irreversible",
    }
    assert {str(mode) for mode in RecoveryApprovalMode} == {"auto", "human", "dual_control"}
    without = ToolSpec(tool_id=SPEC.tool_id, name=SPEC.name, safety_class=SPEC.safety_class)
    assert without.contract_fingerprint() == SPEC.contract_fingerprint()
    assert without.resolved_reversal().reversal_class is ReversalClass.COMPENSABLE
    assert "reversibility" in inspect.signature(ToolExecutor).parameters


class Decisions:
    def __init__(self) -> None:
        self.records: list[RuntimeDecisionRecord] = []

    def record(self, decision: RuntimeDecisionRecord) -> None:
        self.records.append(decision)


def test_section_1_and_2_from_a_commit_to_its_recovery(tmp_path: Path) -> None:
    registry = ToolRegistry()
    registry.register(SPEC, lambda amount, order: {"refund": 1})
    log = EventLog(open_database(tmp_path / "brain.db"))
    executor = ToolExecutor(registry, event_log=log, reversibility="enforce")
    ctx = RunContext.create(agent_name="support")
    args = {"amount": 500, "order": 7}
    committed = executor.execute(ctx, "payments.issue_refund", args, assumptions=["order_not_shipped"])
    assert committed.success
    run_id = ctx.run_id

    store = MutationStore(log)
    ref = store.for_call(committed.call_id)
    assert isinstance(ref, MutationRef)
    assert ref.assumption_refs == ("order_not_shipped",)
    assert isinstance(ctx.irreversibility, IrreversibilityBudget)
    assert ctx.irreversibility.debt == {
        "money": 50.0,
        "comms": 0,
        "commitments": 0,
        "exposure": 0,
        "regulatory": 0,
    }
    again = executor.execute(ctx, "payments.issue_refund", args)
    assert again.error_code is ToolErrorCode.BUDGET_EXCEEDED

    dispatcher = CompensationDispatcher(mutation_store=store)
    failed_result = ToolResult.error("payments.issue_refund", ToolErrorCode.PERMISSION_DENIED, "not you")
    outcome = dispatcher.dispatch(
        ctx,
        tool_id="payments.issue_refund",
        call_id=committed.call_id,
        args=args,
        result=failed_result,
    )
    assert outcome.kind == "escalated"
    assert verdict_for(failed_result).kind == "policy_denied"
    assert verdict_for(TimeoutError("late")).action == "retry_with_backoff"

    decision_store, reversed_ = Decisions(), list[MutationRef]()

    def run_compensation(token: MutationRef) -> ToolResult:
        reversed_.append(token)
        return ToolResult.ok(token.reversal_tool)

    bus = EventBus()
    loop = RecoveryLoop(
        mutation_store=store,
        dispatcher=dispatcher,
        reversal_runner=run_compensation,
        approval_resolver=registry_approval_resolver(registry),
        decision_store=decision_store,
    )
    loop.subscribe(bus)
    bus.emit(AssumptionInvalidated(run_id=run_id, assumption_ref="order_not_shipped"))
    record = decision_store.records[0]
    assert (record.action, record.reverses_mutation_ref) == ("escalated", ref.mutation_id)
    assert record.assumption_refs == ("order_not_shipped",)
    assert reversed_ == []
    assert dispatcher.reverse("call_that_never_was", run_compensation).kind == "reversal_refused"
    log.close()


def test_everything_is_re_exported() -> None:
    import sb.kernel

    for name in [
        "ReversalSpec",
        "ReversalClass",
        "BlastRadius",
        "RecoveryApprovalMode",
        "MutationRef",
        "MutationStore",
        "IrreversibilityBudget",
        "CompensationDispatcher",
        "verdict_for",
        "PLAYBOOK",
        "ErrorKind",
        "CompensationAction",
        "RecoveryLoop",
        "registry_approval_resolver",
        "RuntimeDecisionRecord",
        "EventBus",
        "AssumptionInvalidated",
        "SEVERITY_MATRIX",
        "severity_of",
        "runbook",
        "KillSwitch",
        "WorkflowJournal",
        "StepInDoubt",
        "ReplayMismatch",
    ]:
        assert getattr(sb.kernel, name)
