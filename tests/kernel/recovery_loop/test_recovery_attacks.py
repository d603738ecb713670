"""Attacks on undo and recovery: agents that name their own reasons, and forged rows in the database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sb.errors import SBError
from sb.kernel import RunContext, SafetyClass, ToolErrorCode
from sb.kernel.contracts import (
    Assumption,
    MutationState,
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
)
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.recovery_loop.settling import Settlement, Settling
from sb.kernel.review.log_verification import verify
from sb.kernel.run_context import IrreversibilityBudget, RiskDimension
from tests.kernel.recovery_loop.conftest import ADA, Shop, approve
from tests.rows import rows

REVERSE = "pay.reverse"


def forge(shop: Shop, sql: str, *parameters: Any) -> None:
    """Write to the database as somebody does who can, and takes its guards away."""
    with shop.runtime.database.write() as execute:
        for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            execute(f"DROP TRIGGER {name}")
        execute(sql, parameters)


def refund(shop: Shop, tool_id: str = "pay.human", **more: Any) -> Any:
    ctx = RunContext.create("clerk", clock=shop.clock)
    return shop.runtime.executor.execute(ctx, tool_id, {"order": 1, "amount": 5}, **more)


def problem(shop: Shop) -> str:
    return "; ".join(verify(shop.runtime.log).problems)


# --- limits of consequence


def test_a_huge_amount_that_was_not_done_takes_no_debt_with_it() -> None:
    budget, money = IrreversibilityBudget(), RiskDimension.MONEY
    budget.charge(money, 40, ReversalClass.IRREVERSIBLE, 100)
    for _ in range(3):
        share, crossed = budget.charge(money, 1e300, ReversalClass.IRREVERSIBLE, 100)
        assert crossed
        budget.give_back(money, share)
    assert budget.debt[money] == 40
    shares = [budget.charge(money, 1.7e308, ReversalClass.IRREVERSIBLE, 100)[0] for _ in range(2)]
    for share in shares:
        budget.give_back(money, share)
    assert budget.debt[money] == 40


def test_many_tiny_amounts_are_not_nothing() -> None:
    budget, money = IrreversibilityBudget(), RiskDimension.MONEY
    for _ in range(10):
        budget.charge(money, 1.9e-6, ReversalClass.IRREVERSIBLE, None)
    assert budget.debt[money] >= 10 * 1.9e-6
    assert IrreversibilityBudget(debt={money: 1.1}).debt[money] == 1.1


# --- what agents and callers name as their reasons


def test_a_reason_that_is_looked_at_with_a_tool_that_writes_is_refused(shop: Shop) -> None:
    path = shop.files / "f"
    path.write_text("mine", encoding="utf-8")
    args = {"path": "=f", "content": "=theirs"}
    refused = refund(shop, assumptions=[Assumption("x", "files.write", args, "path")])
    assert (refused.error_code, shop.refunds) == (ToolErrorCode.VALIDATION_ERROR, {})
    ref = shop.done()
    question = '{"tool_id":"files.write","args":{"path":"f","content":"theirs"},"path":"","equals":null}'
    forge(shop, "UPDATE assumptions SET watch = ?", question)
    assert ref.mutation_id
    looked, decisions = shop.runtime.watch()
    assert (path.read_text(encoding="utf-8"), decisions) == ("mine", [])
    assert "only reads" in looked.unclear[0]


def test_a_reason_that_the_caller_may_not_look_at_is_refused(shop: Shop) -> None:
    refused = refund(
        shop, assumptions=[Assumption("x", "files.restorable", {"path": "=f", "kept": "=k"}, "ok")]
    )
    assert (refused.error_code, shop.refunds) == (ToolErrorCode.PERMISSION_DENIED, {})


def test_a_caller_cannot_take_a_declared_reason_away(shop: Shop) -> None:
    made = refund(shop, assumptions=["order_not_shipped:1", *(f"junk {n}" for n in range(60))])
    shop.orders[1] = "shipped"
    decisions = shop.runtime.watch()[1]
    assert [record.reverses_mutation_ref for record in decisions] == [made.mutation_id]


def test_a_callers_reason_that_cannot_be_named_takes_no_way_back_away(shop: Shop) -> None:
    made = refund(shop, assumptions=[Assumption("x:{args.nothing}")])
    ref = shop.ref(made.mutation_id)
    assert (ref.reversal_tool, ref.assumption_refs) == (REVERSE, ("order_not_shipped:1", "x:{args.nothing}"))


def test_reasons_with_long_names_are_told_apart_and_found(shop: Shop) -> None:
    assumption, other = "x" * 300 + "1", "x" * 300 + "2"
    first, second = refund(shop, assumptions=[assumption]), refund(shop, assumptions=[other])
    assert first.success
    decisions = shop.runtime.invalidate(AssumptionInvalidated(other))
    assert [found.reverses_mutation_ref for found in decisions] == [second.mutation_id]


def test_a_deadline_ends_for_the_call_that_it_was_given_with_and_for_no_other(shop: Shop) -> None:
    price = Assumption("price", holds_for_ms=60_000)
    ctx = RunContext.create("clerk", clock=shop.clock)
    args = {"order": 1, "amount": 5}
    call = shop.runtime.executor.execute
    first = call(ctx, "pay.auto", args, assumptions=[price])
    shop.clock.time += 59
    second = call(ctx, "pay.auto", args, assumptions=[price])
    shop.clock.time += 1
    shop.runtime.watch()
    states = [shop.ref(made.mutation_id).state for made in (first, second)]
    assert states == [MutationState.REVERSED, MutationState.COMMITTED]


@rows("forever", [0, -1, True, 1.5, 10**30])
def test_a_deadline_that_is_no_time_is_refused_when_it_is_declared(forever: Any) -> None:
    with pytest.raises(SBError, match="holds_for_ms"):
        Assumption("price", holds_for_ms=forever)


# --- who agreed to what


def by_order(shop: Shop, mode: RecoveryApprovalMode, tool_id: str, **reversal_tool: Any) -> list[int]:
    """A tool whose reversals have the same arguments for every refund of an order; what they did."""
    undone: list[int] = []

    def reverse(order: int) -> Any:
        undone.append(order)
        if shop.trouble is not None:
            raise shop.trouble
        return shop.orders.get(-1, {"order": order})

    spec = ReversalSpec(
        ReversalClass.COMPENSABLE,
        f"{tool_id}.reverse",
        mode,
        reversal_args={"order": "args.order"},
        assumptions=(Assumption("x"),),
    )
    register = shop.runtime.registry.register_fn
    register(tool_id, "Pay", lambda order: {"order": order}, SafetyClass.NETWORK, reversal=spec)
    register(
        f"{tool_id}.reverse",
        "Reverse",
        reverse,
        reversal_tool.pop("safety_class", SafetyClass.NETWORK),
        **reversal_tool,
    )
    approve(shop.runtime)
    return undone


def test_agreement_to_one_reversal_is_none_to_another_with_the_same_arguments(shop: Shop) -> None:
    undone = by_order(shop, RecoveryApprovalMode.HUMAN, "a.pay")
    first, second = shop.done("a.pay", order=1), shop.done("a.pay", order=1)
    recovery = shop.runtime.recovery
    recovery.escalate(first, AssumptionInvalidated("x"), "x turned false")
    waiting = recovery.escalations.get(first.mutation_id).approval_id
    shop.runtime.approvals.approve(waiting, ADA, "the first one")
    recovery.escalate(second, AssumptionInvalidated("x"), "x turned false")
    assert undone == []
    assert recovery.escalations.get(second.mutation_id).state == "waiting"
    forge(shop, "UPDATE escalations SET approval_id = ? WHERE call_id = ?", waiting, second.call_id)
    with pytest.raises(SBError, match="is not what the log says"):
        recovery.approve(second.mutation_id, ADA, "this one too")
    assert (undone, shop.ref(second.mutation_id).state) == ([], MutationState.COMMITTED)


def test_one_persons_agreement_is_not_enough_once_two_have_to_agree(shop: Shop) -> None:
    undone = by_order(shop, RecoveryApprovalMode.HUMAN, "a.pay")
    ref, recovery = shop.done("a.pay", order=1), shop.runtime.recovery
    recovery.escalate(ref, AssumptionInvalidated("x"), "x turned false")
    waiting = recovery.escalations.get(ref.mutation_id).approval_id
    shop.runtime.approvals.approve(waiting, ADA, "right")
    spec = shop.runtime.registry.get("a.pay")
    assert spec is not None
    assert spec.reversal is not None
    spec.reversal = replace(spec.reversal, recovery_approval_mode=RecoveryApprovalMode.DUAL_CONTROL)
    recovery.perform_approved()
    assert undone == []
    recovery.escalate(ref, AssumptionInvalidated("y"), "y turned false")
    assert (undone, recovery.escalations.get(ref.mutation_id).people) == ([], 2)


def test_a_reversal_that_an_older_version_asked_about_is_asked_for_anew(shop: Shop) -> None:
    """Its request does not say what is displayed, so nobody can approve it, and no agent asks again."""
    undone = by_order(shop, RecoveryApprovalMode.HUMAN, "a.pay")
    ref, recovery = shop.done("a.pay", order=1), shop.runtime.recovery
    recovery.escalate(ref, AssumptionInvalidated("x"), "x turned false")
    old = recovery.escalations.get(ref.mutation_id).approval_id
    forge(
        shop,
        "UPDATE events SET payload = json_remove(payload, '$.shown') WHERE call_id = ? AND kind = 'approval.requested'",
        old,
    )
    approvals = shop.runtime.approvals
    assert "older version" in approvals.disclose(approvals.get(old)).problem
    assert recovery.approve(ref.mutation_id, ADA, "right").state == "reversed"
    assert undone == [1]


def test_approving_a_reversal_approves_no_call_of_an_agent(shop: Shop) -> None:
    ref, recovery = shop.done(), shop.runtime.recovery
    recovery.escalate(ref, AssumptionInvalidated("x"), "x turned false")
    wanted = shop.call("shell.run", argv=["rm", "-rf", "/"])
    asked = (wanted.data or {}).get("approval_id") or shop.call(
        "files.write", path="f", content="x", keep=False
    ).data["approval_id"]
    forge(shop, "UPDATE escalations SET approval_id = ?", asked)
    for decide in (recovery.approve, recovery.dismiss):
        with pytest.raises(SBError, match="is not what the log says"):
            decide(ref.mutation_id, ADA, "take the refund back")
    assert shop.runtime.approvals.get(asked).state == "waiting"


def test_what_a_reversal_answers_is_not_taken_for_a_request(shop: Shop) -> None:
    asked = shop.call("files.write", path="f", content="x", keep=False).data["approval_id"]
    for answer in ({"approval_id": asked}, ["done"]):
        shop.orders[-1] = answer  # type: ignore[assignment]
        name = f"a.{len(str(answer))}"
        undone = by_order(shop, RecoveryApprovalMode.HUMAN, name)
        ref, recovery = shop.done(name, order=1), shop.runtime.recovery
        recovery.escalate(ref, AssumptionInvalidated("x"), "x turned false")
        waiting = recovery.escalations.get(ref.mutation_id).approval_id
        shop.runtime.approvals.approve(waiting, ADA, "right")
        assert recovery.undo(ref, ADA, "wrong").state == "reversed"
        assert undone == [1]
    assert shop.runtime.approvals.get(asked).state == "waiting"


def test_a_grant_lets_no_reversal_fire_by_itself(shop: Shop) -> None:
    undone = by_order(shop, RecoveryApprovalMode.HUMAN, "a.pay")
    first, second = shop.done("a.pay", order=1), shop.done("a.pay", order=2)
    recovery = shop.runtime.recovery
    recovery.escalate(first, AssumptionInvalidated("x"), "x turned false")
    waiting = recovery.escalations.get(first.mutation_id).approval_id
    with pytest.raises(SBError, match="by itself"):
        shop.runtime.approvals.grant(waiting, ADA, "all", lasting_s=600, args={"order": "*"})
    recovery.escalate(second, AssumptionInvalidated("x"), "x turned false")
    assert undone == []


def test_what_asks_a_person_cannot_be_fired(shop: Shop) -> None:
    ref = shop.done()
    assert not shop.runtime.recovery.fire(ref).success
    assert (shop.reversed_, shop.ref(ref.mutation_id).state) == ([], MutationState.COMMITTED)


def test_a_reference_that_was_tampered_with_reverses_nothing(shop: Shop) -> None:
    ref, other = shop.done("pay.auto"), shop.done("pay.auto", order=2, amount=1)
    shop.runtime.recovery.fire(replace(ref, reversal_args=other.reversal_args))
    shop.runtime.recovery.undo(replace(ref, reversal_args=other.reversal_args), ADA, "wrong")
    assert "ref_2" not in shop.reversed_


@pytest.mark.parametrize("harmless", [SafetyClass.READ_ONLY, SafetyClass.NETWORK])
def test_a_reversal_is_on_record_whatever_its_tool_says_of_itself(shop: Shop, harmless: SafetyClass) -> None:
    nothing = {"safety_class": harmless, "reversal": ReversalSpec(ReversalClass.REVERSIBLE)}
    undone = by_order(shop, RecoveryApprovalMode.AUTO, "a.pay", **nothing)
    ref = shop.done("a.pay", order=1)
    shop.trouble = TimeoutError("no answer")
    for _ in range(3):
        shop.runtime.invalidate(AssumptionInvalidated("x"))
    assert (undone, shop.ref(ref.mutation_id).state) == ([1], MutationState.REVERSING)
    assert len(shop.runtime.executor.in_doubt()) == 1
    shop.trouble, again = None, shop.done("a.pay", order=2)
    for _ in range(3):
        shop.runtime.invalidate(AssumptionInvalidated("x"))
    assert (undone, shop.ref(again.mutation_id).state) == ([1, 2], MutationState.REVERSED)


# --- rows that somebody put into the database


def test_a_deadline_that_was_put_into_the_database_fires_nothing(shop: Shop) -> None:
    ref = shop.done("pay.auto")
    forge(shop, "UPDATE assumptions SET holds_until = 1")
    decision = shop.runtime.watch()[1][0]
    assert (decision.action, shop.reversed_) == ("escalated", [])
    number = shop.runtime.recovery.mutations.number(ref.mutation_id)
    forge(shop, "INSERT INTO assumptions VALUES ('invented', ?, ?, 1, '')", number, ref.run_id)
    shop.runtime.watch()
    shop.runtime.invalidate(AssumptionInvalidated("invented"))
    assert (shop.reversed_, shop.ref(ref.mutation_id).state) == ([], MutationState.COMMITTED)


def test_another_calls_way_back_does_not_fit(shop: Shop) -> None:
    ref, other = shop.done("pay.auto"), shop.done("pay.auto", order=2, amount=1)
    store = shop.runtime.recovery.mutations
    target, two = store.number(ref.mutation_id), store.number(other.mutation_id)
    forge(
        shop, "UPDATE mutations SET ref = (SELECT ref FROM mutations WHERE id = ?) WHERE id = ?", two, target
    )
    bound = "json_extract((SELECT payload FROM events WHERE id = ?), '$.mutation_digest')"
    forge(
        shop,
        f"UPDATE events SET payload = json_set(payload, '$.mutation_digest', {bound}) WHERE id = ?",
        two,
        target,
    )
    shop.runtime.recovery.fire(shop.ref(ref.mutation_id))
    assert shop.reversed_ == []


def doubtful(shop: Shop, tool_id: str = "pay.auto") -> str:
    shop.refund_trouble = TimeoutError("no answer")
    call_id = str(refund(shop, tool_id).call_id)
    shop.refund_trouble = None
    return call_id


@pytest.mark.parametrize(
    "forgery",
    [
        "idempotency_key = 'idem_of_another'",
        "reversal = replace(reversal, '\"order\":1', '\"order\":2')",
        "reverses = 1",
        "tool_id = 'pay.human'",
        "agent = 'somebody'",
    ],
)
def test_a_call_in_doubt_that_was_changed_in_the_database_is_not_settled(shop: Shop, forgery: str) -> None:
    call_id = doubtful(shop)
    forge(shop, f"UPDATE intents SET {forgery}")
    assert call_id in problem(shop)
    settling = Settling(shop.runtime.recovery)
    for settle in (
        lambda: settling.probe(call_id),
        lambda: settling.settle(call_id, Settlement.DONE, ADA, "it happened", {"refund_id": "ref_1"}),
    ):
        with pytest.raises(SBError, match="changed in the database"):
            settle()
    assert shop.runtime.recovery.mutations.newest() == []


def test_a_call_in_doubt_whose_announcement_was_pruned_is_settled_without_a_way_back(shop: Shop) -> None:
    from sb.kernel.review.log_pruning import prune

    call_id = doubtful(shop)
    prune(shop.runtime.log, before=shop.clock.now() + 1, reason="old")
    Settling(shop.runtime.recovery).settle(
        call_id, Settlement.DONE, ADA, "it happened", {"refund_id": "ref_1"}
    )
    assert (shop.runtime.executor.in_doubt(), shop.runtime.recovery.mutations.newest()) == ([], [])


def test_an_edited_way_back_is_no_whole_log(shop: Shop) -> None:
    shop.done()
    forge(shop, "UPDATE mutations SET ref = replace(ref, 'ref_1', 'ref_2')")
    assert "is not what was bound" in problem(shop)


def test_an_edited_reason_is_no_whole_log(shop: Shop) -> None:
    shop.done()
    forge(shop, "UPDATE assumptions SET holds_until = 1")
    assert "is not what was bound" in problem(shop)


def test_a_way_back_that_was_blocked_is_no_whole_log(shop: Shop) -> None:
    shop.done()
    forge(shop, "UPDATE mutations SET state = 'reversing'")
    assert "is reversing, and the log says committed" in problem(shop)


def test_a_way_back_that_was_invented_after_pruning_is_no_whole_log(shop: Shop) -> None:
    from sb.kernel.review.log_pruning import prune

    shop.done()
    shop.clock.time += 10
    prune(shop.runtime.log, before=shop.clock.now() - 5, reason="old")
    assert verify(shop.runtime.log).ok
    last = shop.runtime.log.first_id + shop.runtime.log.head().seq
    forge(shop, "INSERT INTO mutations VALUES (?, 'call_x', 'committed', '{}')", last)
    assert "has an undo record that the log does not know" in problem(shop)


def test_an_escalation_that_was_put_aside_in_the_database_is_no_whole_log(shop: Shop) -> None:
    ref = shop.done()
    shop.runtime.invalidate(AssumptionInvalidated("order_not_shipped:1"))
    assert verify(shop.runtime.log).ok
    forge(shop, "UPDATE escalations SET state = 'dismissed'")
    assert ref.call_id in problem(shop)
    forge(shop, "DELETE FROM escalations")
    assert ref.call_id in problem(shop)


# --- what a person gets to see


def test_old_escalations_stay_in_sight_behind_many_settled_ones(shop: Shop) -> None:
    old = shop.done()
    recovery = shop.runtime.recovery
    recovery.escalate(old, AssumptionInvalidated("x"), "x turned false")
    for _ in range(5):
        assert recovery.undo(shop.done(order=2, amount=1), ADA, "wrong").state == "reversed"
    assert [escalation.call_id for escalation in recovery.escalations.page(limit=3)] == [old.call_id]
    assert [escalation.call_id for escalation in recovery.escalations.page(agent=old.agent)] == [old.call_id]
    assert recovery.escalations.page(agent="stranger") == []


def test_one_damaged_way_back_keeps_no_other_from_being_recovered(shop: Shop) -> None:
    damaged, ref = shop.done("pay.auto"), shop.done("pay.auto")
    number = shop.runtime.recovery.mutations.number(damaged.mutation_id)
    forge(shop, "UPDATE mutations SET ref = '[' WHERE id = ?", number)
    shop.orders[1] = "shipped"
    looked, decisions = shop.runtime.watch()
    assert [record.reverses_mutation_ref for record in decisions] == [ref.mutation_id]
    assert damaged.mutation_id in looked.unclear[0]
    shop.runtime.invalidate(AssumptionInvalidated("order_not_shipped:1"))
    assert shop.reversed_ == ["ref_2"]


def test_a_reversal_that_was_done_is_not_done_again_whatever_its_row_says(shop: Shop) -> None:
    by_itself, asked = shop.done("pay.auto"), shop.done("pay.human", order=2, amount=1)
    done: list[str] = []

    def reverse(refund_id: str) -> None:
        done.append(refund_id)

    shop.runtime.registry.unregister("pay.reverse")
    shop.runtime.registry.register_fn("pay.reverse", "Reverse a refund", reverse, SafetyClass.NETWORK)
    assert shop.runtime.recovery.fire(by_itself).success
    assert shop.runtime.recovery.undo(asked, ADA, "wrong").state == "reversed"
    forge(shop, "UPDATE mutations SET state = 'committed'")
    shop.runtime.invalidate(AssumptionInvalidated("order_not_shipped:1"))
    shop.runtime.recovery.undo(shop.ref(asked.mutation_id), ADA, "wrong")
    assert done == ["ref_1", "ref_2"]


def test_many_reasons_keep_no_later_one_from_being_looked_at(shop: Shop) -> None:
    spec = ReversalSpec(
        ReversalClass.COMPENSABLE,
        REVERSE,
        reversal_args={"refund_id": "=ref_1"},
        assumptions=(Assumption("held:{args.n}", "a.look", {"n": "args.n"}, equals=True),),
    )
    shop.runtime.registry.register_fn("a.do", "Do", lambda n: {}, SafetyClass.NETWORK, reversal=spec)
    shop.runtime.registry.register_fn("a.look", "Look", lambda n: n != 1004)
    approve(shop.runtime)
    made = [shop.call("a.do", n=n) for n in range(1005)]
    looked, decisions = shop.runtime.watch()
    assert (looked.checked, looked.unclear) == (1005, [])
    assert [record.reverses_mutation_ref for record in decisions] == [made[-1].mutation_id]


def test_rows_that_cannot_be_read_keep_nothing_else_from_being_recovered(shop: Shop) -> None:
    shop.done("pay.auto", order=2, amount=1)
    forge(shop, "UPDATE assumptions SET watch = '['")
    gone = shop.done()
    shop.runtime.recovery.escalate(gone, AssumptionInvalidated("x"), "x turned false")
    waiting = shop.runtime.recovery.escalations.get(gone.mutation_id).approval_id
    shop.runtime.approvals.approve(waiting, ADA, "right")
    ref = shop.done("pay.auto")
    forge(shop, "UPDATE escalations SET mutation_id = NULL")
    shop.orders[1] = "shipped"
    looked, decisions = shop.runtime.watch()
    assert ref.mutation_id in [record.reverses_mutation_ref for record in decisions]
    assert "cannot be read" in looked.unclear[0]


@pytest.mark.parametrize(
    "edit", ["mutation_id = {second}", "agent = 'friend'", "tool_id = 'a.look'", "cause = 'y'"]
)
def test_what_a_person_looks_at_is_what_was_put_before_them(shop: Shop, edit: str) -> None:
    undone = by_order(shop, RecoveryApprovalMode.HUMAN, "a.pay")
    first, second = shop.done("a.pay", order=1), shop.done("a.pay", order=2)
    recovery = shop.runtime.recovery
    recovery.escalate(first, AssumptionInvalidated("x"), "x turned false")
    escalation = recovery.escalations.get(first.mutation_id)
    shop.runtime.approvals.deny(escalation.approval_id, ADA, "keep it")
    number = recovery.mutations.number(second.mutation_id)
    forge(shop, f"UPDATE escalations SET {edit.format(second=number)}")
    for decide in (recovery.approve, recovery.dismiss):
        with pytest.raises(SBError, match="is not what the log says"):
            decide(escalation.id, ADA, "it has shipped")
    assert undone == []


def test_a_long_reversal_is_opened_before_it_is_agreed_to(shop: Shop) -> None:
    undone = by_order(shop, RecoveryApprovalMode.HUMAN, "a.pay")
    ref, recovery = shop.done("a.pay", order="1" * 2000), shop.runtime.recovery
    recovery.escalate(ref, AssumptionInvalidated("x"), "x turned false")
    with pytest.raises(SBError, match="open it first"):
        recovery.approve(ref.mutation_id, ADA, "it has shipped")
    assert undone == []
    approvals = shop.runtime.approvals
    opened = approvals.disclose(approvals.get(recovery.escalations.get(ref.mutation_id).approval_id))
    assert recovery.approve(ref.mutation_id, ADA, "it has shipped", displayed=opened.code).state == "reversed"
