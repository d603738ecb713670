"""When the reason for a call turns false its way back is offered: by itself only where that was approved."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace

import pytest

from sb.errors import CheckFailed, NotFoundError
from sb.kernel import RunContext, SafetyClass
from sb.kernel.approvals.decisions import AlreadyDecided
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.compensation.dispatcher import CompensationDispatcher
from sb.kernel.compensation.outcome import CompensationKind
from sb.kernel.compensation.reversal_guard import NoReversalToken
from sb.kernel.contracts import Assumption, MutationRef, MutationState, RecoveryApprovalMode, ToolResult
from sb.kernel.events import AssumptionInvalidated, EventBus
from sb.kernel.recovery_loop.loop import (
    RecoveryLoop,
    RuntimeDecisionRecord,
    ask_a_person,
    registry_approval_resolver,
)
from sb.kernel.recovery_loop.settling import Settlement, Settling
from sb.kernel.review.log_verification import verify
from tests.kernel.recovery_loop.conftest import ADA, GRACE, WINDOW_S, Shop, approve

SHIPPED = AssumptionInvalidated("order_not_shipped:1", reason="it has shipped")


class Decisions:
    def __init__(self) -> None:
        self.kept: list[RuntimeDecisionRecord] = []

    def record(self, decision: RuntimeDecisionRecord) -> None:
        self.kept.append(decision)


def loop_of(shop: Shop, decisions: Decisions, ran: list[str], **more: object) -> RecoveryLoop:
    store = shop.runtime.recovery.mutations

    def run(ref: MutationRef) -> ToolResult:
        ran.append(ref.mutation_id)
        return ToolResult.ok(ref.reversal_tool)

    dispatcher = CompensationDispatcher(mutation_store=store, clock=shop.clock)
    return RecoveryLoop(
        mutation_store=store,
        dispatcher=dispatcher,
        reversal_runner=run,
        decision_store=decisions,
        **more,  # type: ignore[arg-type]
    )


def test_the_documented_loop(shop: Shop) -> None:
    ref = shop.done("pay.auto")
    decisions, ran, bus = Decisions(), list[str](), EventBus()
    resolver = registry_approval_resolver(shop.runtime.registry)
    loop_of(shop, decisions, ran, approval_resolver=resolver).subscribe(bus)
    bus.emit(AssumptionInvalidated(run_id=ref.run_id, assumption_ref="order_not_shipped:1"))
    assert ran == [ref.mutation_id]
    record = decisions.kept[0]
    assert (record.action, record.reverses_mutation_ref) == (CompensationKind.REVERSED, ref.mutation_id)
    assert record.assumption_refs == ("order_not_shipped:1",)


def test_a_documented_loop_of_ones_own_recovers_once_too(shop: Shop) -> None:
    """Two loops on one database, each told twice, with a function of their own that performs the reversal."""
    ref = shop.done("pay.auto")
    decisions, ran, bus = Decisions(), list[str](), EventBus()
    resolver = registry_approval_resolver(shop.runtime.registry)
    for _ in range(2):
        loop_of(shop, decisions, ran, approval_resolver=resolver).subscribe(bus)
    for _ in range(2):
        bus.emit(AssumptionInvalidated(run_id=ref.run_id, assumption_ref="order_not_shipped:1"))
    assert (ran, shop.ref(ref.mutation_id).state) == ([ref.mutation_id], MutationState.REVERSED)
    assert [record.action for record in decisions.kept] == [CompensationKind.REVERSED]
    assert shop.runtime.executor.in_doubt() == []
    assert verify(shop.runtime.log).ok


def test_of_two_loops_at_once_one_performs_and_the_other_is_refused(shop: Shop) -> None:
    ref, ran = shop.done("pay.auto"), list[str]()
    dispatcher = CompensationDispatcher(shop.runtime.recovery.mutations, clock=shop.clock)

    def run(token: MutationRef) -> ToolResult:
        ran.append(token.mutation_id)
        with shop.open() as other:
            second = CompensationDispatcher(other.recovery.mutations, clock=shop.clock)
            assert second.reverse(ref.call_id, run).kind is CompensationKind.REVERSAL_REFUSED
        return ToolResult.ok(token.reversal_tool)

    assert dispatcher.reverse(ref.call_id, run).kind is CompensationKind.REVERSED
    assert ran == [ref.mutation_id]


@pytest.mark.parametrize(
    ("trouble", "left"),
    [
        (ValueError("closed"), MutationState.COMMITTED),
        (TimeoutError("no answer"), MutationState.REVERSING),
        (KeyboardInterrupt(), MutationState.REVERSING),
    ],
)
def test_a_reversal_of_ones_own_that_did_not_work_can_be_tried_again_unless_it_is_in_doubt(
    shop: Shop, trouble: BaseException, left: MutationState
) -> None:
    ref = shop.done("pay.auto")
    dispatcher = CompensationDispatcher(shop.runtime.recovery.mutations, clock=shop.clock)

    def fail(token: MutationRef) -> ToolResult:
        raise trouble

    with contextlib.suppress(KeyboardInterrupt):
        assert dispatcher.reverse(ref.call_id, fail).kind is CompensationKind.ESCALATED
    assert shop.ref(ref.mutation_id).state is left
    doubtful = shop.runtime.executor.in_doubt()
    if left is MutationState.REVERSING:
        again = dispatcher.reverse(ref.call_id, lambda token: ToolResult.ok(token.reversal_tool))
        assert again.kind is CompensationKind.REVERSAL_REFUSED
        Settling(shop.runtime.recovery).settle(
            doubtful[0].call_id, Settlement.NOT_DONE, ADA, "it knows nothing"
        )
    assert dispatcher.reverse(ref.call_id, lambda token: None).kind is CompensationKind.REVERSED
    assert shop.ref(ref.mutation_id).state is MutationState.REVERSED
    assert verify(shop.runtime.log).ok


@pytest.mark.parametrize("mode", ["human", "dual_control"])
def test_only_auto_fires_by_itself(shop: Shop, mode: str) -> None:
    shop.done(f"pay.{mode}")
    decisions, ran = Decisions(), list[str]()
    resolver = registry_approval_resolver(shop.runtime.registry)
    loop_of(shop, decisions, ran, approval_resolver=resolver).handle(SHIPPED)
    assert (ran, [record.action for record in decisions.kept]) == ([], [CompensationKind.ESCALATED])


def test_without_a_resolver_a_person_is_asked(shop: Shop) -> None:
    ref = shop.done("pay.auto")
    decisions, ran = Decisions(), list[str]()
    loop_of(shop, decisions, ran).handle(SHIPPED)
    assert (ran, decisions.kept[0].mode) == ([], RecoveryApprovalMode.HUMAN)
    assert ask_a_person(ref) is RecoveryApprovalMode.HUMAN


def test_other_assumptions_runs_and_windows_are_left_alone(shop: Shop) -> None:
    ref = shop.done("pay.auto")
    shop.done("pay.auto", order=2, amount=1)
    loop = loop_of(shop, Decisions(), [])
    assert loop.handle(AssumptionInvalidated("order_not_shipped:3")) == []
    assert loop.handle(AssumptionInvalidated("order_not_shipped:1", "run_0000000000000000")) == []
    assert [record.reverses_mutation_ref for record in loop.handle(SHIPPED)] == [ref.mutation_id]
    shop.clock.time += WINDOW_S
    assert loop.handle(SHIPPED) == []


def test_a_tool_that_is_gone_or_declares_something_else_is_never_undone_without_asking(shop: Shop) -> None:
    ref = shop.done("pay.auto")
    registry = shop.runtime.registry
    assert registry_approval_resolver(registry)(ref) is RecoveryApprovalMode.AUTO
    registry.unregister("pay.auto")
    assert registry_approval_resolver(registry)(ref) is RecoveryApprovalMode.HUMAN


def test_auto_fires_only_under_the_way_back_that_an_operator_approved(shop: Shop) -> None:
    first = shop.done("pay.auto")
    assert shop.runtime.recovery.resolver()(first) is RecoveryApprovalMode.AUTO
    shop.runtime.reversals.approve({"pay.auto": ""}, ADA, "not any more")
    decisions = shop.runtime.invalidate(SHIPPED)
    assert [(record.action, record.mode) for record in decisions] == [("escalated", "human")]
    assert "sb runtime-guard show reversal pay.auto" in decisions[0].reason
    assert "declares auto" in shop.runtime.recovery.escalations.get(first.mutation_id).why
    assert shop.reversed_ == []
    approve(shop.runtime)
    assert shop.runtime.recovery.approve(first.mutation_id, ADA, "shipped").state == "reversed"


def test_an_approved_auto_reverses_and_says_so_on_the_log(shop: Shop) -> None:
    ref = shop.done("pay.auto")
    decision = shop.runtime.invalidate(SHIPPED)[0]
    assert (decision.action, shop.reversed_) == ("reversed", ["ref_1"])
    assert shop.ref(ref.mutation_id).state is MutationState.REVERSED
    kinds = [event.kind for event in shop.runtime.log.events(call_id=ref.call_id)]
    assert kinds[-1] == "recovery.decided"
    assert verify(shop.runtime.log).ok
    assert shop.runtime.invalidate(SHIPPED) == []


def test_an_auto_reversal_that_fails_goes_before_a_person(shop: Shop) -> None:
    ref = shop.done("pay.auto")
    shop.trouble = ValueError("the bank is closed")
    decision = shop.runtime.invalidate(SHIPPED)[0]
    assert (decision.action, "the bank is closed" in decision.reason) == ("escalated", True)
    assert shop.runtime.recovery.escalations.get(ref.mutation_id).state == "waiting"
    shop.trouble = None
    assert shop.runtime.recovery.approve(ref.mutation_id, ADA, "again").state == "reversed"


def test_an_escalation_is_approved_after_a_restart(shop: Shop) -> None:
    ref = shop.done()
    shop.runtime.invalidate(SHIPPED)
    with shop.open() as other:
        found = other.recovery.escalations.page()
        assert [(escalation.mutation_id, escalation.state, escalation.cause) for escalation in found] == [
            (ref.mutation_id, "waiting", "order_not_shipped:1")
        ]
        assert (found[0].expires_at or 0) == ref.window_ends_at
        done = other.recovery.approve(found[0].id, ADA, "it has shipped")
        assert (done.state, shop.reversed_) == ("reversed", ["ref_1"])
    assert shop.runtime.recovery.escalations.get(found[0].id).state == "reversed"


def test_a_reversal_that_was_approved_in_the_queue_is_performed_by_the_next_watch(shop: Shop) -> None:
    ref = shop.done()
    shop.runtime.invalidate(SHIPPED)
    waiting = shop.runtime.approvals.page()[0]
    shop.runtime.approvals.approve(waiting.id, ADA, "it has shipped")
    assert shop.runtime.recovery.escalations.get(ref.mutation_id).state == "approved"
    with shop.open() as other:
        other.watch()
        other.watch()
    assert shop.reversed_ == ["ref_1"]


def test_a_dismissed_escalation_is_not_brought_up_again_for_the_same_reason(shop: Shop) -> None:
    ref = shop.done()
    shop.runtime.invalidate(SHIPPED)
    recovery = shop.runtime.recovery
    left = recovery.dismiss(ref.mutation_id, ADA, "the customer keeps it")
    assert (left.state, left.decided_by, left.reason) == ("dismissed", "ada", "the customer keeps it")
    assert "dismissed already" in shop.runtime.invalidate(SHIPPED)[0].reason
    assert recovery.escalations.page() == []
    with pytest.raises(NoReversalToken, match="dismissed already"):
        recovery.dismiss(ref.mutation_id, ADA, "again")
    assert recovery.undo(shop.ref(ref.mutation_id), ADA, "after all").state == "reversed"


def test_what_has_no_way_back_is_put_before_a_person_once(shop: Shop) -> None:
    result = shop.runtime.executor.execute(
        RunContext.create("clerk", clock=shop.clock),
        "files.write",
        {"path": "f", "content": "x"},
        assumptions=["the sky is blue"],
    )
    shop.runtime.registry.unregister("files.restore")
    event = AssumptionInvalidated("the sky is blue", reason="it rains")
    shop.runtime.invalidate(event)
    shop.runtime.invalidate(event)
    found = shop.runtime.recovery.escalations.page()
    assert [(escalation.state, escalation.mutation_id) for escalation in found] == [
        ("no way back", result.mutation_id)
    ]
    with pytest.raises(NoReversalToken, match="not registered"):
        shop.runtime.recovery.approve(found[0].id, ADA, "do")
    left = shop.runtime.recovery.dismiss(found[0].id, ADA, "so be it")
    assert (left.state, left.decided_by, left.reason) == ("dismissed", "ada", "so be it")


def test_what_could_not_be_offered_is_once_that_is_mended(shop: Shop) -> None:
    shop.done()
    runtime = shop.runtime
    runtime.registry.unregister("pay.reverse")
    undo = runtime.registry.register_fn
    undo(
        "pay.reverse", "Reverse", shop.reverse, SafetyClass.NETWORK, description="its contract is another one"
    )
    (decision,) = runtime.invalidate(SHIPPED)
    assert "it could not be offered: the contract of pay.reverse" in decision.reason
    assert decision.reason.count("turned false") == 1
    (escalation,) = runtime.recovery.escalations.page()
    assert escalation.state == "no way back"
    plan = runtime.recovery.plan(runtime.recovery.mutations.get(escalation.mutation_id))
    assert (plan.ok, "approve-contract kernel pay.reverse" in plan.detail) == (False, True)
    refused = runtime.recovery.approve(escalation.id, ADA, "do")
    assert (refused.state, "contract" in refused.detail) == ("failed", True)
    approve(runtime)
    assert runtime.recovery.approve(escalation.id, ADA, "it has shipped").state == "reversed"
    (left,) = runtime.recovery.escalations.page(everything=True)
    assert (left.id, left.state, shop.reversed_) == (escalation.id, "reversed", ["ref_1"])


@pytest.mark.parametrize("agreed", ["before the change", "elsewhere", "not yet"])
def test_agreement_to_a_reversal_that_was_changed_since_is_asked_for_anew(shop: Shop, agreed: str) -> None:
    shop.done()
    runtime, recovery = shop.runtime, shop.runtime.recovery
    (decision,) = runtime.invalidate(SHIPPED)
    if agreed == "elsewhere":
        runtime.approvals.approve(decision.approval_id, ADA, "it has shipped")
    spec = runtime.registry.get("pay.reverse")
    assert spec is not None
    runtime.registry.unregister("pay.reverse")
    runtime.registry.register(replace(spec, description="another contract"), shop.reverse)
    if agreed == "before the change":
        assert recovery.approve(decision.approval_id, ADA, "it has shipped").state == "failed"
    approve(runtime)
    if agreed == "elsewhere":
        assert [undone.state for undone in runtime.watch()[0].performed] == ["waiting"]
    (escalation,) = recovery.escalations.page()
    assert (escalation.state, shop.reversed_) == ("waiting", [])
    assert recovery.approve(escalation.id, ADA, "it has shipped").state == "reversed"
    assert shop.reversed_ == ["ref_1"]
    assert recovery.escalations.page() == []


def test_two_reasons_for_one_reversal_are_one_request_and_each_is_brought_up_once(shop: Shop) -> None:
    ctx = RunContext.create("clerk", clock=shop.clock)
    args = {"order": 1, "amount": 5}
    shop.runtime.executor.execute(
        ctx, "pay.human", args, assumptions=[Assumption("price", holds_for_ms=1000)]
    )
    shop.clock.sleep(2)
    assert len(shop.runtime.watch()[1]) == 1
    shop.orders[1] = "shipped"
    assert len(shop.runtime.watch()[1]) == 1
    assert shop.runtime.watch()[1] == []
    escalations = shop.runtime.recovery.escalations.page()
    assert len({escalation.approval_id for escalation in escalations}) == 1
    assert {escalation.cause for escalation in escalations} == {"price", "order_not_shipped:1"}
    shop.runtime.approvals.approve(escalations[0].approval_id, ADA, "it has shipped")
    assert [undone.state for undone in shop.runtime.watch()[0].performed] == ["reversed"]
    assert shop.runtime.recovery.escalations.page() == []


def test_a_reversal_that_failed_is_tried_again_by_agreeing_again(shop: Shop) -> None:
    ref = shop.done()
    shop.runtime.invalidate(SHIPPED)
    shop.trouble = RuntimeError("the bank is closed")
    failed = shop.runtime.recovery.approve(ref.mutation_id, ADA, "it has shipped")
    assert (failed.state, "closed" in failed.detail) == ("failed", True)
    shop.trouble = None
    assert shop.runtime.recovery.approve(ref.mutation_id, ADA, "the bank is open").state == "reversed"
    assert shop.reversed_ == ["ref_1"]


def test_one_reversal_approved_in_two_places_happens_once(shop: Shop) -> None:
    shop.done()
    shop.runtime.invalidate(SHIPPED)
    escalation = shop.runtime.recovery.escalations.page()[0].id
    outcomes: list[str] = []
    runtimes = [shop.open() for _ in range(4)]
    barrier = threading.Barrier(len(runtimes))

    def decide(number: int) -> None:
        barrier.wait()
        try:
            outcomes.append(
                runtimes[number].recovery.approve(escalation, (ADA, GRACE)[number % 2], "shipped").state
            )
        except (AlreadyDecided, NoReversalToken) as error:
            outcomes.append(error.kind)

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(len(runtimes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for runtime in runtimes:
        runtime.close()
    assert (outcomes.count("reversed") >= 1, shop.reversed_) == (True, ["ref_1"])


def test_who_is_late_is_told_that_somebody_else_is_at_it(shop: Shop) -> None:
    ref = shop.done()
    shop.runtime.invalidate(SHIPPED)
    late = []

    def reverse(refund_id: str) -> dict[str, str]:
        with shop.open() as other:
            waiting = other.approvals.page(states=[ApprovalState.USED])[0]
            late.append(other.recovery._run(other.recovery.context("late"), ref, "x", waiting.id).state)
        return {"reversed": refund_id}

    spec = shop.runtime.registry.get("pay.reverse")
    assert spec is not None
    shop.runtime.registry.unregister("pay.reverse")
    shop.runtime.registry.register(spec, reverse)
    assert shop.runtime.recovery.approve(ref.mutation_id, ADA, "it has shipped").state == "reversed"
    assert late == ["under way"]


def test_two_loops_on_one_database_recover_once(shop: Shop) -> None:
    shop.done("pay.auto")
    shop.done("pay.human")
    runtimes = [shop.open() for _ in range(4)]
    barrier = threading.Barrier(len(runtimes))

    def recover(number: int) -> None:
        barrier.wait()
        runtimes[number].invalidate(SHIPPED)

    threads = [threading.Thread(target=recover, args=(number,)) for number in range(len(runtimes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for runtime in runtimes:
        runtime.close()
    assert shop.reversed_ == ["ref_1"]
    waiting = [
        escalation for escalation in shop.runtime.recovery.escalations.page() if escalation.state == "waiting"
    ]
    assert len(waiting) == len(shop.runtime.approvals.page()) == 1
    assert verify(shop.runtime.log).ok


def test_a_bus_tells_every_subscriber_and_reports_who_failed() -> None:
    bus, heard = EventBus(), list[str]()

    def fail(event: AssumptionInvalidated) -> None:
        raise CheckFailed("no")

    bus.subscribe(fail)
    bus.subscribe(lambda event: heard.append(event.assumption_ref))
    with pytest.raises(ExceptionGroup):
        bus.emit(SHIPPED)
    assert heard == ["order_not_shipped:1"]


def test_an_unknown_escalation_is_named(shop: Shop) -> None:
    with pytest.raises(NotFoundError, match="esc_nothing"):
        shop.runtime.recovery.approve("esc_nothing", ADA, "why not")
