"""What undo and recovery withstand: agents that name their own reasons, and rows that somebody put into the database."""

from __future__ import annotations

from typing import Any

import pytest

from sb.errors import SBError
from sb.kernel import RunContext, ToolErrorCode
from sb.kernel.contracts import (
    Assumption,
    MutationState,
    ReversalClass,
)
from sb.kernel.events import AssumptionInvalidated
from sb.kernel.log_verification import verify
from sb.kernel.run_context import IrreversibilityBudget, RiskDimension
from tests.recovery.conftest import Shop

REVERSE = "pay.reverse"


def forge(shop: Shop, sql: str, *parameters: Any) -> None:
    """What somebody does who can write to the database, and takes its guards away."""
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
    assert [one.reverses_mutation_ref for one in decisions] == [made.mutation_id]


def test_a_callers_reason_that_cannot_be_named_takes_no_way_back_away(shop: Shop) -> None:
    made = refund(shop, assumptions=[Assumption("x:{args.nothing}")])
    ref = shop.ref(made.mutation_id)
    assert (ref.reversal_tool, ref.assumption_refs) == (REVERSE, ("order_not_shipped:1", "x:{args.nothing}"))


def test_reasons_with_long_names_are_told_apart_and_found(shop: Shop) -> None:
    one, other = "x" * 300 + "1", "x" * 300 + "2"
    first, second = refund(shop, assumptions=[one]), refund(shop, assumptions=[other])
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


@pytest.mark.parametrize("forever", [0, -1, True, 1.5, 10**30])
def test_a_deadline_that_is_no_time_is_refused_when_it_is_declared(forever: Any) -> None:
    with pytest.raises(SBError, match="holds_for_ms"):
        Assumption("price", holds_for_ms=forever)
