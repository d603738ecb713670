"""Probes of the "measurable" controls."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

from sb.harness.harness import Harness, saw
from sb.kernel.contracts import (
    BlastRadius,
    ReversalClass,
    ReversalSpec,
    SafetyClass,
    ToolErrorCode,
    ToolResult,
)
from sb.kernel.harness_audit import Check
from sb.kernel.run_context import RunBudget
from sb.runtime import Runtime

EXCEEDED = ToolErrorCode.BUDGET_EXCEEDED


def cost_and_latency(h: Harness) -> Iterator[Check]:
    """HA-31."""
    with h.open({"budget.max_tool_calls": 2}) as runtime:
        tool = h.tool(runtime, "probe.read", h.clock.sleep)
        execute = runtime.executor.execute
        ctx = h.context(budget=runtime.budget())
        first, last, more = (execute(ctx, "probe.read", {"seconds": 1}) for _ in range(3))
        ok = first.success and last.success
        yield Check("last", ok, f"call 2 of 2: {saw(last)}")
        called, caps = tool.called, _caps(h, runtime)
        ok = more.error_code == EXCEEDED and called == 2 and tool.called == called
        ok = ok and set(caps.values()) == {EXCEEDED}
        evidence = ", ".join(f"{cap}: {code or 'success'}" for cap, code in caps.items())
        yield Check("exceeded", ok, f"call 3: {saw(more, tool)}; once another limit is used up, {evidence}")

        ctx.budget.spend(prompt_tokens=7, cost_usd_cents=0.5)
        budget = ctx.budget
        spent = (
            budget.tool_calls_used,
            budget.latency_ms_used,
            budget.prompt_tokens_used,
            budget.cost_usd_cents_used,
        )
        yield Check("spent", spent == (2, 2000.0, 7, 0.5), f"RunBudget: calls, ms, tokens, cents {spent}")

        late = execute(h.context(), "probe.read", {"seconds": 31})
        hung = _hung(h, runtime)
        ok = (late.error_code, hung.error_code) == (ToolErrorCode.TIMEOUT, ToolErrorCode.TIMEOUT)
        yield Check("timeout", ok, f"after 31 s: {saw(late)}; one that does not return: {saw(hung)}")
        yield _blast_radius(h)


def _caps(h: Harness, runtime: Runtime) -> dict[str, ToolErrorCode | None]:
    """The error of a call once its run has used up another limit than its calls."""
    used = {
        "tokens": RunBudget(max_prompt_tokens=7, prompt_tokens_used=7),
        "ms": RunBudget(max_latency_ms=1000, latency_ms_used=1000),
        "cents": RunBudget(max_cost_usd_cents=0.5, cost_usd_cents_used=0.5),
    }
    execute = runtime.executor.execute
    return {
        name: execute(h.context(budget=budget), "probe.read", {"seconds": 1}).error_code
        for name, budget in used.items()
    }


def _hung(h: Harness, runtime: Runtime) -> ToolResult:
    """A tool that waits for something, by the real clock, for longer than it may."""
    ever = Event()
    h.tool(runtime, "probe.hang", lambda: ever.wait(10), timeout_ms=100)
    try:
        return runtime.executor.execute(h.context(), "probe.hang")
    finally:
        ever.set()


def _blast_radius(h: Harness) -> Check:
    radius = BlastRadius(max_calls_per_run=3, max_value_per_run=100)
    with h.open() as runtime:
        pay = h.tool(
            runtime,
            "probe.pay",
            lambda amount: amount,
            SafetyClass.NETWORK,
            reversal=ReversalSpec(ReversalClass.COMPENSABLE, blast_radius=radius),
            metadata={"risk_dimension": "money", "value_arg": "amount"},
        )
        # What is refused must use up nothing: neither of the blast radius nor of the run's calls.
        ctx = h.context(budget=RunBudget(max_tool_calls=4))
        amounts = (60, 60, 60, 30, 20, 10, 0)
        codes = [
            runtime.executor.execute(ctx, "probe.pay", {"amount": amount}).error_code for amount in amounts
        ]
    ok = codes == [None, EXCEEDED, EXCEEDED, None, EXCEEDED, None, EXCEEDED] and pay.called == 3
    evidence = ", ".join(
        f"{amount}: {code or 'success'}" for amount, code in zip(amounts, codes, strict=True)
    )
    return Check("blast", ok, f"ToolExecutor.execute: {evidence}; {pay}")
