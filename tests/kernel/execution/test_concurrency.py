"""Calls inside calls, calls side by side, and calls whose caller went away."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sb.kernel import RunBudget, RunContext, SafetyClass, ToolErrorCode, ToolExecutor, ToolRegistry
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.store.database import open_database

WRITE = SafetyClass.LOCAL_WRITE


@pytest.fixture
def executor(tmp_path: Path) -> ToolExecutor:
    return ToolExecutor(ToolRegistry(), event_log=EventLog(open_database(tmp_path / "brain.db")))


def context(calls: int = 10_000) -> RunContext:
    return RunContext.create("agent", budget=RunBudget(max_tool_calls=calls, max_latency_ms=10**9))


def test_a_tool_may_call_another_tool(executor: ToolExecutor) -> None:
    ctx = context()
    executor.registry.register_fn("t.inner", "Inner", lambda: "inner", WRITE)
    executor.registry.register_fn(
        "t.outer", "Outer", lambda: executor.execute(ctx, "t.inner", {}).data, WRITE
    )
    assert executor.execute(ctx, "t.outer", {}).data == "inner"
    assert ctx.budget.tool_calls_used == 2
    assert verify(executor.event_log).ok


@pytest.mark.parametrize("safety_class", [SafetyClass.READ_ONLY, WRITE])
def test_many_threads_share_one_executor_and_one_budget(
    executor: ToolExecutor, safety_class: SafetyClass
) -> None:
    ran: list[int] = []

    def tool(n: int) -> None:
        ran.append(n)

    executor.registry.register_fn("t.x", "X", tool, safety_class)
    ctx = context(calls=100)
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda n: executor.execute(ctx, "t.x", {"n": n}), range(160)))
    assert len(ran) == 100 == sum(result.success for result in results)
    assert ctx.budget.tool_calls_used == 100
    assert {result.error_code for result in results if not result.success} == {ToolErrorCode.BUDGET_EXCEEDED}
    assert verify(executor.event_log).ok


def test_two_runs_at_once_never_share_an_id(executor: ToolExecutor) -> None:
    executor.registry.register_fn("t.x", "X", lambda: None)

    def run(_: int) -> RunContext:
        ctx = context()
        for _ in range(20):
            assert executor.execute(ctx, "t.x", {}).trace_id == ctx.trace_id
        return ctx

    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(run, range(8)))
    for ctx in runs:
        found = list(executor.event_log.events(run_id=ctx.run_id))
        assert len(found) == 21
        assert {event.subject.trace_id for event in found} == {ctx.trace_id}


def test_reading_the_log_does_not_hold_up_who_writes_it() -> None:
    log = EventLog()
    for number in range(3):
        log.append("kernel.memory.put", {"n": number})
    reading = log.events()
    next(reading)
    writer = threading.Thread(target=log.append, args=("kernel.memory.put", {}))
    writer.start()
    writer.join(timeout=60)
    assert not writer.is_alive()
    assert len(list(reading)) == 2


def test_a_call_whose_awaiting_task_is_cancelled_still_ends_and_is_recorded(executor: ToolExecutor) -> None:
    started, finish = threading.Event(), threading.Event()

    def tool() -> str:
        started.set()
        finish.wait(60)
        return "done"

    executor.registry.register_fn("t.x", "X", tool, WRITE, timeout_ms=60_000)

    async def main() -> None:
        task = asyncio.create_task(executor.aexecute(context(), "t.x", {}))
        await asyncio.to_thread(started.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        finish.set()

    asyncio.run(main())
    for _ in range(6000):
        states = [(event.payload or {}).get("state") for event in executor.event_log.events()]
        if "done" in states:
            break
        threading.Event().wait(0.01)
    assert "done" in states
    assert executor.in_doubt() == []


def test_execute_inside_a_running_event_loop_can_run_an_async_tool(executor: ToolExecutor) -> None:
    async def tool(n: int) -> int:
        await asyncio.sleep(0)
        return n + 1

    executor.registry.register_fn("t.async", "A", tool)

    async def main() -> Any:
        return executor.execute(context(), "t.async", {"n": 1}).data

    assert asyncio.run(main()) == 2


@pytest.mark.parametrize("tool_id", [None, 7, ["t.x"], "", "x" * 10_000, "\x1b[31m", "ghp_" + "a1" * 18])
def test_a_tool_id_that_is_none_is_not_found_and_not_written_down_as_it_came(
    executor: ToolExecutor, tool_id: Any
) -> None:
    result = executor.execute(context(), tool_id, {})
    assert result.error_code is ToolErrorCode.NOT_FOUND
    recorded = list(executor.event_log.events())[-1].subject.tool_id
    assert len(recorded) <= 200
    assert "ghp_" not in recorded
