"""Probes of "reversible" controls about running once; see also `recovery` and `deciding`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import count

from sb.harness.harness import Counted, Harness, saw
from sb.harness.probes.failures import dispatched, refusal
from sb.harness.probes.stacks import upserted
from sb.kernel.compensation.outcome import CompensationKind, CompensationOutcome
from sb.kernel.contracts import SafetyClass, ToolErrorCode, ToolResult
from sb.kernel.durable_execution.workflow import Workflow
from sb.kernel.error_kinds import ErrorKind, tool_failure
from sb.kernel.harness_audit import Check
from sb.kernel.run_context import RunContext
from sb.runtime import Runtime

DAY_S = 86_400.0
STEPS = ("account", "mailbox", "badge")


def idempotency(h: Harness) -> Iterator[Check]:
    """HA-27."""
    with h.open() as runtime:
        yield from _asked_twice(h, runtime)
        conflict = tool_failure(ErrorKind.IDEMPOTENCY_CONFLICT, "this order was refunded before")
        tool, result, outcome = _failing(h, runtime, "shop.charge", conflict)
        action = outcome.directive.get("action")
        ok = (outcome.kind, action) == (CompensationKind.DEPRECATED, "deprecate_and_replan")
        seen = f"{saw(result, tool)}; CompensationDispatcher.dispatch: {outcome.kind}, {action}"
        yield Check("conflict", ok and tool.called == 1, seen)
        tool, result, outcome = _failing(h, runtime, "shop.send", TimeoutError("no answer"))
        ok = (result.error_code, outcome.kind) == (ToolErrorCode.TIMEOUT, CompensationKind.ESCALATED)
        seen = f"{saw(result, tool)}; CompensationDispatcher.dispatch: {outcome.kind}"
        yield Check("timeout", ok and tool.called == 1, seen)
        yield upserted(runtime)


def _asked_twice(h: Harness, runtime: Runtime) -> Iterator[Check]:
    numbers = count(1)
    refund = h.tool(runtime, "shop.refund", lambda order: {"refund": next(numbers)}, SafetyClass.NETWORK)
    ctx = h.context("clerk")
    first, again, other = [_refund(runtime, ctx, order) for order in (7, 7, 8)]
    called, elsewhere = refund.called, _refund(runtime, h.context("clerk"), 7)
    same = again.success and (again.data, again.call_id) == (first.data, first.call_id)
    apart = not other.success and elsewhere.success and elsewhere.data != first.data
    seen = f"{saw(first)} {first.data}; again {saw(again)} {again.data}; of another order {saw(other)}"
    yield Check("same", same and apart, f"{seen}; in another run {saw(elsewhere)} {elsewhere.data}")
    yield Check("once", called == 1, f"{saw(again)}; tool called {called}x")


def _refund(runtime: Runtime, ctx: RunContext, order: int) -> ToolResult:
    return runtime.executor.execute(ctx, "shop.refund", {"order": order}, step="refund the order")


def _failing(
    h: Harness, runtime: Runtime, tool_id: str, failure: Exception
) -> tuple[Counted, ToolResult, CompensationOutcome]:
    """A side effect that fails, and what is done about that; its contract allows three retries."""

    def fail(order: int) -> None:
        raise failure

    tool = h.tool(runtime, tool_id, fail, SafetyClass.NETWORK, max_retries=3)
    ctx, args = h.context("clerk"), {"order": 7}
    result = runtime.executor.execute(ctx, tool_id, args, step="order 7")
    outcome = dispatched(runtime, ctx, result, **args)
    if outcome.kind is CompensationKind.ESCALATED:  # the agent asks for the same once more
        runtime.executor.execute(ctx, tool_id, args, step="order 7")
    return tool, result, outcome


class _Killed(BaseException):
    """Ends an attempt as the death of its process does: nothing is recorded after it."""


class _Onboarding:
    """A workflow of three steps that counts how often each really ran.

    Args:
        killed_after: steps, after which its process dies.
        name: what its first step is given.
    """

    def __init__(self) -> None:
        self.ran = dict.fromkeys(STEPS, 0)

    def attempt(self, runtime: Runtime, *, killed_after: int = 9, name: str = "ada") -> list[str]:
        def steps(workflow: Workflow) -> list[str]:
            done: list[str] = []
            for step in STEPS:
                if len(done) == killed_after:
                    raise _Killed
                done.append(workflow.step(step, self._run, step, name))
            return done

        ended: list[str] = runtime.workflows.run("onboarding", "onboarding-1", steps)
        return ended

    def _run(self, step: str, name: str) -> str:
        self.ran[step] += 1
        return f"{step} {self.ran[step]}"


def durable_execution(h: Harness) -> Iterator[Check]:
    """HA-28."""
    work = _Onboarding()
    with h.open() as runtime:
        with suppress(_Killed):
            work.attempt(runtime, killed_after=2)
        _die_in_a_call(h, runtime)
    h.clock.sleep(DAY_S)  # past the deadline of that call: in this test of it, its process lives
    with h.open() as runtime:
        before = list(work.ran.values())
        refused = refusal(lambda: work.attempt(runtime, name="eve"))
        unchanged = list(work.ran.values()) == before == [1, 1, 0]
        ended = work.attempt(runtime)
        right = before == [1, 1, 0] and ended == [f"{step} 1" for step in STEPS]
        yield Check("resumes", right, f"WorkflowJournal.run: {', '.join(ended)}")
        times = list(work.ran.values())
        yield Check("repeated", times == [1, 1, 1], f"Workflow.step: steps called {times} x")
        seen = f"Workflow.step: {refused}, {'nothing' if unchanged else 'a step'} called"
        yield Check("changed", refused == "ReplayMismatch" and unchanged, seen)
        doubtful = [intent.tool_id for intent in runtime.executor.in_doubt()]
        seen = f"ToolExecutor.in_doubt: {doubtful}; Runtime.orphans: {runtime.orphans}"
        yield Check("doubt", doubtful == ["shop.send"] and runtime.orphans == 1, seen)


def _die_in_a_call(h: Harness, runtime: Runtime) -> None:
    """Make a call that takes the database with it, so that its outcome is never recorded."""
    h.tool(runtime, "shop.send", runtime.close, SafetyClass.NETWORK)
    runtime.executor.execute(h.context("clerk"), "shop.send")
