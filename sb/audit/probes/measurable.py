"""Do the controls of "measurable" hold?"""

from __future__ import annotations

from collections.abc import Iterator

from sb.audit.harness import Harness, saw
from sb.kernel.contracts import BlastRadius, ReversalClass, ReversalSpec, SafetyClass, ToolErrorCode
from sb.kernel.harness_audit import Check
from sb.kernel.run_context import RunBudget

EXCEEDED = ToolErrorCode.BUDGET_EXCEEDED


def cost_and_latency(h: Harness) -> Iterator[Check]:
    """HA-31."""
    with h.open() as runtime:
        tool = h.tool(runtime, "probe.read", h.clock.sleep)
        execute = runtime.executor.execute
        ctx = h.context(budget=RunBudget(max_tool_calls=2))
        first, last, more = (execute(ctx, "probe.read", {"seconds": 1}) for _ in range(3))
        held = first.success and last.success
        yield Check("last", held, f"call 2 of 2: {saw(last)}")
        yield Check(
            "exceeded", more.error_code == EXCEEDED and tool.called == 2, f"call 3: {saw(more, tool)}"
        )

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
        yield Check("timeout", late.error_code == ToolErrorCode.TIMEOUT, f"after 31 s: {saw(late)}")
        yield _blast_radius(h)


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
        ctx = h.context()
        amounts = (60, 60, 20, 10, 1)
        codes = [runtime.executor.execute(ctx, "probe.pay", {"amount": one}).error_code for one in amounts]
    held = codes == [None, EXCEEDED, None, None, EXCEEDED] and pay.called == 3
    told = ", ".join(f"{amount}: {code or 'success'}" for amount, code in zip(amounts, codes, strict=True))
    return Check("blast", held, f"ToolExecutor.execute: {told}; {pay}")
