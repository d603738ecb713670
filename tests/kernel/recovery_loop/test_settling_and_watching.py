"""Calls in doubt are settled once, by a person or their probe; assumptions are looked at while they matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.errors import NotFoundError, UsageError
from sb.kernel import RunContext, SafetyClass, ToolErrorCode
from sb.kernel.compensation.reversal_guard import NoReversalToken
from sb.kernel.contracts import Assumption, MutationState, ReversalClass, ReversalSpec
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.recovery_loop.loop import RuntimeDecisionRecord
from sb.kernel.recovery_loop.settling import NoVerdict, Settlement, Settling
from sb.kernel.review.log_verification import verify
from tests.kernel.recovery_loop.conftest import ADA, WINDOW_S, Shop, approve


def in_doubt(shop: Shop, tool_id: str = "pay.human", step: str = "") -> str:
    """A refund that happened, and of which nobody heard."""
    shop.refund_trouble = TimeoutError("no answer")
    ctx = RunContext.create("clerk", clock=shop.clock)
    args = {"order": 1, "amount": 5}
    result = shop.runtime.executor.execute(ctx, tool_id, args, step=step)
    shop.refund_trouble = None
    assert result.error_code is ToolErrorCode.TIMEOUT
    return result.call_id


def test_the_probe_finds_out_and_what_happened_can_be_undone(shop: Shop) -> None:
    call_id = in_doubt(shop)
    settling = Settling(shop.runtime.recovery)
    assert settling.probe(call_id) is Settlement.DONE
    assert shop.runtime.executor.in_doubt() == []
    ref = shop.runtime.recovery.mutations.for_call(call_id)
    assert ref is not None
    assert (ref.reversal_args, ref.assumption_refs) == ({"refund_id": "ref_1"}, ("order_not_shipped:1",))
    assert shop.runtime.recovery.undo(ref, ADA, "wrong").state == "reversed"
    with pytest.raises(NotFoundError, match="not in doubt"):
        settling.probe(call_id)
    assert verify(shop.runtime.log).ok


def test_the_window_of_a_call_in_doubt_began_with_the_call(shop: Shop) -> None:
    """A bank counts from the refund, not from when somebody found out about it."""
    call_id = in_doubt(shop)
    begun_at = shop.clock.time
    shop.clock.time += WINDOW_S - 1
    settling = Settling(shop.runtime.recovery)
    early = in_doubt(shop)
    settling.settle(call_id, Settlement.DONE, ADA, "the bank has it", {"refund_id": "ref_1"})
    ref = shop.runtime.recovery.mutations.for_call(call_id)
    assert ref is not None
    assert ref.window_ends_at is not None
    assert ref.window_ends_at <= (begun_at + WINDOW_S) * 1e6
    shop.clock.time += WINDOW_S
    with pytest.raises(NoReversalToken, match="is over"):
        shop.runtime.recovery.undo(ref, ADA, "wrong")
    with pytest.raises(NoReversalToken, match="is over"):
        settling.settle(early, Settlement.COMPENSATE, ADA, "wrong", {"refund_id": "ref_2"})
    assert settling.in_doubt(early).call_id == early
    assert shop.reversed_ == []


def test_the_probe_finds_that_nothing_happened(shop: Shop) -> None:
    call_id = in_doubt(shop)
    shop.refunds.clear()
    assert Settling(shop.runtime.recovery).probe(call_id) is Settlement.NOT_DONE
    assert shop.runtime.recovery.mutations.for_call(call_id) is None
    assert verify(shop.runtime.log).ok


def test_a_probe_that_cannot_tell_settles_nothing(shop: Shop) -> None:
    call_id = in_doubt(shop)
    shop.runtime.registry.unregister("pay.find")
    settling = Settling(shop.runtime.recovery)
    with pytest.raises(NoVerdict):
        settling.probe(call_id)
    assert settling.in_doubt(call_id).call_id == call_id


@pytest.mark.parametrize("verdict", [Settlement.DONE, Settlement.NOT_DONE])
def test_a_person_settles_once(shop: Shop, verdict: Settlement) -> None:
    call_id = in_doubt(shop)
    settling = Settling(shop.runtime.recovery)
    settling.settle(call_id, verdict, ADA, "the bank told me", {"refund_id": "ref_1"})
    with pytest.raises(NotFoundError):
        settling.settle(call_id, verdict, ADA, "again")
    ref = shop.runtime.recovery.mutations.for_call(call_id)
    assert (ref is not None) == (verdict is Settlement.DONE)
    assert verify(shop.runtime.log).ok


def test_compensating_says_that_it_happened_and_undoes_it(shop: Shop) -> None:
    call_id = in_doubt(shop)
    result = {"refund_id": "ref_1"}
    undone = Settling(shop.runtime.recovery).settle(call_id, Settlement.COMPENSATE, ADA, "undo it", result)
    assert (undone and undone.state, shop.reversed_) == ("reversed", ["ref_1"])


def test_compensating_without_what_the_reversal_needs_is_said(shop: Shop) -> None:
    call_id = in_doubt(shop)
    with pytest.raises(NoReversalToken, match=r"result\.refund_id"):
        Settling(shop.runtime.recovery).settle(call_id, Settlement.COMPENSATE, ADA, "undo it")
    assert [intent.call_id for intent in shop.runtime.executor.in_doubt()] == [call_id], "nothing is lost"


def test_a_dry_run_looks_only_with_tools_that_change_nothing(shop: Shop) -> None:
    register, written = shop.runtime.registry.register_fn, list[str]()
    register("pay.peek", "Peek", lambda **args: written.append("peek"), SafetyClass.NETWORK)
    way = ReversalSpec(ReversalClass.COMPENSABLE, "pay.reverse", preview_capability="pay.peek")
    register("pay.odd", "Pay", lambda: "paid", SafetyClass.NETWORK, reversal=way)
    approve(shop.runtime)
    ctx = RunContext.create("clerk", clock=shop.clock)
    done = shop.runtime.executor.execute(ctx, "pay.odd")
    plan = shop.runtime.recovery.plan(shop.ref(done.mutation_id))
    assert (plan.checked, "may change something" in plan.detail, written) == (False, True, [])


def test_a_settled_step_answers_and_one_that_did_not_happen_may_be_repeated(shop: Shop) -> None:
    shop.refund_trouble = TimeoutError("no answer")
    ctx, args = RunContext.create("clerk", clock=shop.clock), {"order": 1, "amount": 5}
    executor, settling = shop.runtime.executor, Settling(shop.runtime.recovery)
    first = executor.execute(ctx, "pay.human", args, step="one")
    second = executor.execute(ctx, "pay.human", args, step="two")
    shop.refund_trouble = None
    assert "not repeated" in executor.execute(ctx, "pay.human", args, step="one").error_message
    settling.settle(first.call_id, Settlement.DONE, ADA, "the bank told me", {"refund_id": "ref_1"})
    settling.settle(second.call_id, Settlement.NOT_DONE, ADA, "the bank told me")
    assert executor.execute(ctx, "pay.human", args, step="one").data == {"refund_id": "ref_1"}
    again = executor.execute(ctx, "pay.human", args, step="two")
    assert (again.success, again.call_id != second.call_id) == (True, True)
    assert verify(shop.runtime.log).ok


def test_a_reversal_in_doubt_is_settled_either_way(shop: Shop) -> None:
    for verdict, after in (
        (Settlement.NOT_DONE, MutationState.COMMITTED),
        (Settlement.DONE, MutationState.REVERSED),
    ):
        ref = shop.done()
        shop.trouble = TimeoutError("no answer")
        shop.runtime.recovery.undo(ref, ADA, "wrong")
        shop.trouble = None
        doubt = shop.runtime.executor.in_doubt()[0]
        Settling(shop.runtime.recovery).settle(doubt.call_id, verdict, ADA, "the bank told me")
        assert shop.ref(ref.mutation_id).state is after
        assert verify(shop.runtime.log).ok


def test_settling_a_call_answers_what_its_failure_put_before_a_person(shop: Shop) -> None:
    shop.refund_trouble = TimeoutError("no answer")
    ctx, args = RunContext.create("clerk", clock=shop.clock), {"order": 1, "amount": 5}
    failed = shop.runtime.executor.execute(ctx, "pay.human", args)
    outcome = shop.runtime.compensation.dispatch(
        ctx, tool_id="pay.human", call_id=failed.call_id, args=args, result=failed
    )
    assert (outcome.kind, len(shop.refunds)) == ("escalated", 1)
    assert [escalation.call_id for escalation in shop.runtime.recovery.escalations.page()] == [failed.call_id]
    Settling(shop.runtime.recovery).probe(failed.call_id)
    assert shop.runtime.recovery.escalations.page() == []


@pytest.mark.parametrize(("mode", "kind"), [("auto", "reversed"), ("human", "escalated")])
def test_what_failed_half_way_is_reversed_or_put_before_a_person(shop: Shop, mode: str, kind: str) -> None:
    from sb.kernel import ToolResult

    ref = shop.done(f"pay.{mode}")
    half = ToolResult.error(ref.tool_id, ToolErrorCode.UNEXPECTED, "error_kind=partial_effect: half of it")
    ctx = RunContext.create("clerk", clock=shop.clock)
    outcome = shop.runtime.compensation.dispatch(
        ctx, tool_id=ref.tool_id, call_id=ref.call_id, args={}, result=half
    )
    assert outcome.kind == kind
    assert shop.reversed_ == (["ref_1"] if mode == "auto" else [])
    assert [escalation.state for escalation in shop.runtime.recovery.escalations.page()] == (
        [] if mode == "auto" else ["waiting"]
    )


def test_settling_needs_a_reason_and_json(shop: Shop) -> None:
    call_id = in_doubt(shop)
    settling = Settling(shop.runtime.recovery)
    with pytest.raises(UsageError, match="reason"):
        settling.settle(call_id, Settlement.DONE, ADA, "")
    with pytest.raises(UsageError, match="JSON"):
        settling.settle(call_id, Settlement.DONE, ADA, "r", {"x": object()})
    assert len(shop.runtime.executor.in_doubt()) == 1


def test_a_call_that_leaves_nothing_is_never_in_doubt(shop: Shop) -> None:
    from sb.kernel import SafetyClass
    from sb.kernel.contracts import ReversalClass, ReversalSpec
    from tests.kernel.recovery_loop.conftest import approve

    def fetch() -> None:
        raise TimeoutError("no answer")

    harmless = ReversalSpec(ReversalClass.REVERSIBLE)
    shop.runtime.registry.register_fn("web.get", "Get", fetch, SafetyClass.NETWORK, reversal=harmless)
    approve(shop.runtime)
    result = shop.runtime.executor.execute(RunContext.create("clerk"), "web.get")
    assert result.error_code is ToolErrorCode.TIMEOUT
    assert "doubt" not in result.error_message
    assert shop.runtime.executor.in_doubt() == []


def test_a_look_recovers_from_what_does_not_hold_any_more_and_only_once(shop: Shop) -> None:
    ref = shop.done()
    shop.done(order=2, amount=1)
    looked, decisions = shop.runtime.watch()
    assert (looked.checked, looked.false, decisions) == (2, [], [])
    shop.orders[1] = "shipped"
    looked, decisions = shop.runtime.watch()
    assert [record.reverses_mutation_ref for record in decisions] == [ref.mutation_id]
    assert 'state is "shipped", not "open"' in decisions[0].reason
    looked, decisions = shop.runtime.watch()
    assert (looked.checked, decisions) == (1, [])


def test_what_cannot_be_asked_counts_as_holding_and_is_said(shop: Shop) -> None:
    shop.done()
    del shop.orders[1]
    looked, decisions = shop.runtime.watch()
    assert (decisions, len(looked.unclear)) == ([], 1)
    assert "orders.read" in looked.unclear[0]


def test_a_caller_can_name_a_deadline_and_a_files_digest(shop: Shop) -> None:
    import hashlib

    path = shop.files / "prices"
    path.write_text("v1", encoding="utf-8")
    digest = hashlib.sha256(b"v1").hexdigest()
    prices = Assumption("prices", "files.digest", {"path": "=prices"}, "sha256", f"={digest}")
    ctx = RunContext.create("clerk", clock=shop.clock)
    result = shop.runtime.executor.execute(
        ctx,
        "files.write",
        {"path": "offer", "content": "cheap"},
        assumptions=[prices, Assumption("answered", holds_for_ms=60_000), "somebody says so"],
    )
    assert shop.ref(result.mutation_id).assumption_refs == ("prices", "answered", "somebody says so")
    assert shop.runtime.watch()[1] == []
    path.write_text("v2", encoding="utf-8")
    assert [record.assumption_refs for record in shop.runtime.watch()[1]] == [("prices",)]
    shop.clock.time += 60
    decisions = shop.runtime.watch()[1]
    assert [record.assumption_refs for record in decisions] == [("answered",)]
    done = shop.runtime.recovery.approve(result.mutation_id, ADA, "the prices changed")
    assert (done.state, (shop.files / "offer").exists()) == ("reversed", False)
    assert Path(shop.files / "prices").read_text(encoding="utf-8") == "v2"


def turned_false(shop: Shop, ref: str = "bare", run_id: str = "") -> list[RuntimeDecisionRecord]:
    return shop.runtime.invalidate(AssumptionInvalidated(ref, run_id, "the warehouse called"))


def test_what_was_said_to_be_false_while_a_call_was_in_doubt_counts_once_it_is_settled(shop: Shop) -> None:
    ctx = RunContext.create("clerk", clock=shop.clock)
    args = {"order": 1, "amount": 5}
    turned_false(shop)  # of something else: no call relied on it yet
    shop.refund_trouble = TimeoutError("no answer")
    doubtful = shop.runtime.executor.execute(ctx, "pay.human", args, assumptions=["bare", "other"])
    shop.refund_trouble = None
    assert turned_false(shop) == turned_false(shop, "other", "run_of_somebody_else") == []
    later = shop.runtime.executor.execute(ctx, "pay.human", args, assumptions=["bare"])
    assert later.success
    assert shop.runtime.watch()[1] == []
    settling = Settling(shop.runtime.recovery)
    settling.settle(doubtful.call_id, Settlement.DONE, ADA, "the bank has it", {"refund_id": "ref_1"})
    (decision,) = shop.runtime.watch()[1]
    settled = shop.runtime.recovery.mutations.for_call(doubtful.call_id)
    assert settled is not None
    assert (decision.action, decision.reverses_mutation_ref) == ("escalated", settled.mutation_id)
    assert decision.reason == "bare turned false: the warehouse called"
    assert shop.runtime.watch()[1] == []
    assert shop.runtime.recovery.approve(decision.reverses_mutation_ref, ADA, "it has shipped").state == (
        "reversed"
    )
    assert verify(shop.runtime.log).ok


def test_what_was_said_to_be_false_while_a_call_ran_counts_once_it_is_done(shop: Shop) -> None:
    def refund(order: int, amount: float, idempotency_key: str) -> dict[str, str]:
        assert turned_false(shop) == []
        return {"refund_id": "ref_1"}

    ctx = RunContext.create("clerk", clock=shop.clock)
    args = {"order": 1, "amount": 5}
    run = shop.runtime.executor.execute
    assert run(ctx, "pay.human", args, override_fn=refund, assumptions=["bare"]).success
    (decision,) = shop.runtime.watch()[1]
    assert decision.assumption_refs == ("bare",)


def test_a_word_that_was_changed_on_the_log_recovers_nothing(shop: Shop) -> None:
    ctx = RunContext.create("clerk", clock=shop.clock)
    args = {"order": 1, "amount": 5}
    shop.runtime.executor.execute(ctx, "pay.human", args, assumptions=["bare"])
    turned_false(shop, "none")
    with shop.runtime.database.write() as execute:
        for (name,) in execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'"
        ).fetchall():
            execute(f"DROP TRIGGER {name}")
        execute("UPDATE events SET payload = replace(payload, 'none', 'bare')")
    looked, decisions = shop.runtime.watch()
    assert (decisions, len(looked.unclear)) == ([], 1)
    assert "changed after it was written" in looked.unclear[0]
