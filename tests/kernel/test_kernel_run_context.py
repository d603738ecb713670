"""Run contexts and budgets, as the kernel reference documents them."""

from __future__ import annotations

import dataclasses
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import CountingIds, SteeredClock
from sb.kernel import LocaleCode, RunBudget, RunContext, SafetyMode
from tests.rows import rows


def test_the_documented_example_works() -> None:
    ctx = RunContext.create(
        agent_name="my_agent",
        intent="summarise vault",
        safety_mode=SafetyMode.SAFE,
        session_id="sess_abc",
    )
    assert re.fullmatch(r"run_[0-9a-f]{16}", ctx.run_id)
    assert re.fullmatch(r"[0-9a-f]{32}", ctx.trace_id)
    assert ctx.is_safe_mode() is True
    assert isinstance(ctx.elapsed_ms(), float)
    assert ctx.elapsed_ms() >= 0


def test_the_fields_and_defaults_are_the_documented_ones() -> None:
    ctx = RunContext.create()
    assert [f.name for f in dataclasses.fields(ctx)] == [
        "run_id",
        "trace_id",
        "session_id",
        "user_sid",
        "agent_name",
        "intent",
        "locale",
        "safety_mode",
        "budget",
        "metadata",
        "irreversibility",
    ]
    assert (ctx.session_id, ctx.user_sid, ctx.agent_name, ctx.intent) == ("", "", "default", "")
    assert ctx.locale is LocaleCode.EN_US
    assert ctx.safety_mode is SafetyMode.NORMAL
    assert ctx.metadata == {}
    assert {str(locale) for locale in LocaleCode} == {"en-US", "en-IN", "hi-IN"}


@pytest.mark.parametrize(
    ("mode", "safe"), [(SafetyMode.NORMAL, False), (SafetyMode.SAFE, True), (SafetyMode.STRICT, True)]
)
def test_safe_and_strict_are_safe_modes(mode: SafetyMode, safe: bool) -> None:
    assert RunContext.create(safety_mode=mode).is_safe_mode() is safe


def test_metadata_is_a_free_dictionary_of_the_run() -> None:
    ctx = RunContext.create(agent_name="a")
    ctx.metadata["dry_run"] = True
    assert ctx.metadata == {"dry_run": True}
    assert RunContext.create(agent_name="a").metadata == {}


def test_a_run_without_an_agent_is_refused() -> None:
    with pytest.raises(ValueError, match="agent_name"):
        RunContext.create(agent_name="")


def test_elapsed_time_and_ids_come_from_where_they_are_injected(
    clock: SteeredClock, ids: CountingIds
) -> None:
    ctx = RunContext.create(clock=clock, ids=ids)
    clock.time += 1.5
    assert ctx.elapsed_ms() == 1500.0
    assert ctx.run_id == "run_0000000000000001"


def test_a_budget_has_the_documented_defaults() -> None:
    assert RunBudget().to_dict() == {
        "max_tool_calls": 20,
        "max_retries_per_tool": 3,
        "max_prompt_tokens": 4000,
        "max_latency_ms": 30_000,
        "max_cost_usd_cents": 10.0,
        "tool_calls_used": 0,
        "prompt_tokens_used": 0,
        "latency_ms_used": 0.0,
        "cost_usd_cents_used": 0.0,
    }


def test_remaining_calls_are_the_cap_less_what_was_used() -> None:
    budget = RunBudget(
        max_tool_calls=10, max_prompt_tokens=4000, max_latency_ms=30_000, max_cost_usd_cents=5.0
    )
    ctx = RunContext.create(agent_name="my_agent", budget=budget)
    ctx.budget.tool_calls_used += 3
    assert ctx.budget.remaining_tool_calls() == 7
    assert ctx.budget.budget_exceeded() is False


@rows(
    "field, value, cap",
    [
        ("tool_calls_used", 20, "max_tool_calls"),
        ("prompt_tokens_used", 4000, "max_prompt_tokens"),
        ("latency_ms_used", 30_000.0, "max_latency_ms"),
        ("cost_usd_cents_used", 10.0, "max_cost_usd_cents"),
    ],
)
def test_reaching_any_cap_exceeds_the_budget(field: str, value: float, cap: str) -> None:
    budget = RunBudget()
    setattr(budget, field, value)
    assert budget.budget_exceeded() is True
    assert budget.exceeded_cap() == cap


def test_spending_feeds_what_only_callers_know() -> None:
    budget = RunBudget()
    budget.spend(prompt_tokens=3999, cost_usd_cents=2.5)
    assert (budget.prompt_tokens_used, budget.cost_usd_cents_used) == (3999, 2.5)
    assert not budget.budget_exceeded()
    budget.spend(prompt_tokens=1)
    assert budget.budget_exceeded()


def test_a_budget_cannot_be_given_back() -> None:
    with pytest.raises(ValueError, match="negative"):
        RunBudget().spend(cost_usd_cents=-1)


@given(cap=st.integers(0, 12), threads=st.integers(1, 6))
def test_parallel_reservations_never_overshoot_the_cap(cap: int, threads: int) -> None:
    budget = RunBudget(max_tool_calls=cap)
    got: list[str] = []

    def reserve() -> None:
        got.extend(budget.reserve_call() for _ in range(4))

    workers = [threading.Thread(target=reserve) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert got.count("") == min(cap, 4 * threads)


def test_a_released_reservation_can_be_used_again() -> None:
    budget = RunBudget(max_tool_calls=1)
    assert budget.reserve_call() == ""
    assert budget.reserve_call() == "max_tool_calls"
    budget.release_call()
    assert budget.reserve_call() == ""
    budget.settle_call(5.0)
    assert (budget.tool_calls_used, budget.latency_ms_used) == (1, 5.0)
