"""Interrupts, exceptions, contracts and values that do not behave."""

from __future__ import annotations

import asyncio
import copy
import enum
import http.client
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SteeredClock
from sb.errors import ContractError
from sb.kernel import (
    RunBudget,
    RunContext,
    SafetyClass,
    SafetyMode,
    ToolArgSchema,
    ToolErrorCode,
    ToolExecutor,
    ToolProvenance,
    ToolRegistry,
    ToolResult,
)
from sb.kernel.calls.intents import Intents
from sb.kernel.registry.workers import DeadlineExceeded, Workers
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.store.database import open_database
from tests.rows import rows

WRITE = SafetyClass.LOCAL_WRITE


def executor_with(fn: Any, safety_class: SafetyClass = WRITE, **contract: Any) -> ToolExecutor:
    registry = ToolRegistry()
    registry.register_fn("t.x", "X", fn, safety_class, **contract)
    return ToolExecutor(registry)


def raising(error: BaseException) -> Any:
    def tool() -> None:
        raise error

    return tool


def wrapped(inner: BaseException) -> Exception:
    """An error that a client library raises while it handles the real cause."""
    error = RuntimeError("the client gave up")
    error.__context__ = inner
    return error


@rows(
    "error, code",
    [
        (subprocess.TimeoutExpired("x", 1), ToolErrorCode.TIMEOUT),
        (urllib.error.URLError("reset"), ToolErrorCode.NETWORK_ERROR),
        (http.client.IncompleteRead(b""), ToolErrorCode.NETWORK_ERROR),
        (http.client.RemoteDisconnected("x"), ToolErrorCode.NETWORK_ERROR),
        (OSError(101, "Network is unreachable"), ToolErrorCode.NETWORK_ERROR),
        (asyncio.CancelledError(), ToolErrorCode.TIMEOUT),
        (wrapped(ConnectionResetError("reset")), ToolErrorCode.NETWORK_ERROR),
        (wrapped(TimeoutError("late")), ToolErrorCode.TIMEOUT),
    ],
)
def test_an_effect_that_may_have_happened_is_in_doubt_however_it_is_wrapped(
    error: BaseException, code: ToolErrorCode
) -> None:
    executor = executor_with(raising(error))
    assert executor.execute(RunContext.create("a"), "t.x", {}).error_code is code
    assert len(executor.in_doubt()) == 1


def test_an_async_side_effect_whose_loop_ends_is_in_doubt_and_not_repeated() -> None:
    effects: list[int] = []
    paid = threading.Event()

    async def pay() -> None:
        effects.append(1)
        paid.set()
        await asyncio.sleep(60)

    executor = executor_with(pay, timeout_ms=60_000)
    ctx = RunContext.create("a")

    async def main() -> None:
        call = asyncio.create_task(executor.aexecute(ctx, "t.x", {}, step="pay"))
        assert await asyncio.to_thread(paid.wait, 60)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())
    give_up = time.monotonic() + 60
    while not executor.in_doubt() and time.monotonic() < give_up:
        time.sleep(0.01)
    assert len(executor.in_doubt()) == 1
    assert not executor.execute(ctx, "t.x", {}, step="pay").success
    assert effects == [1]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")

    @property
    def response(self) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "tool",
    [
        raising(Unspeakable()),
        lambda: ToolResult.error("t.x", object(), object()),  # type: ignore[arg-type]
        lambda: "\ud800",
    ],
)
def test_what_does_not_behave_is_an_outcome_like_any_other(tool: Any) -> None:
    executor = executor_with(tool)
    ctx = RunContext.create("a")
    result = executor.execute(ctx, "t.x", {})
    assert not result.success
    assert isinstance(result.error_code, ToolErrorCode)
    assert [(event.payload or {}).get("phase") for event in executor.event_log.events()][1:] == [
        "intent",
        "outcome",
    ]
    assert ctx.budget.tool_calls_used == 1
    assert verify(executor.event_log).ok


def test_a_hung_attempt_is_not_repeated_beside_itself() -> None:
    class Hanging(Workers):
        calls = 0

        def call(self, fn: Any, timeout_s: float) -> Any:
            type(self).calls += 1
            raise DeadlineExceeded

    registry = ToolRegistry()
    registry.register_fn("t.x", "X", lambda: 1, WRITE, idempotent=True)
    result = ToolExecutor(registry, workers=Hanging(), clock=SteeredClock()).execute(
        RunContext.create("a"), "t.x", {}
    )
    assert (result.error_code, Hanging.calls) == (ToolErrorCode.TIMEOUT, 1)


def test_what_a_tool_does_to_its_arguments_reaches_neither_the_log_nor_the_next_attempt() -> None:
    seen: list[list[str]] = []

    def tool(items: list[str]) -> None:
        seen.append(list(items))
        items.clear()
        raise RuntimeError("again")

    registry = ToolRegistry()
    registry.register_fn("t.x", "X", tool, max_retries=1)
    executor = ToolExecutor(registry, clock=SteeredClock())
    executor.execute(RunContext.create("a"), "t.x", {"items": ["a"]})
    assert seen == [["a"], ["a"]]
    assert (list(executor.event_log.events())[-1].payload or {})["args"] == {"items": ["a"]}


class Colour(str, enum.Enum):  # noqa: UP042 - the older spelling, whose str() is the member's name
    RED = "red"


def test_an_enum_member_is_passed_as_its_value() -> None:
    executor = executor_with(lambda colour: colour)
    assert executor.execute(RunContext.create("a"), "t.x", {"colour": Colour.RED}).data == "red"


@rows(
    "field, value",
    [
        ("safety_class", "no such"),
        ("max_retries", 6),
        ("timeout_ms", 99),
        ("tool_id", "X"),
        ("description", None),
    ],
)
def test_a_contract_is_held_to_its_rules_after_registration_too(field: str, value: Any) -> None:
    executor = executor_with(lambda: 1)
    spec = executor.registry.get("t.x")
    with pytest.raises(ContractError):
        setattr(spec, field, value)


def test_a_safety_class_given_as_a_word_counts_as_the_class() -> None:
    executor = executor_with(lambda: "ran")
    spec = executor.registry.get("t.x")
    assert spec is not None
    spec.safety_class = "destructive"  # type: ignore[assignment]
    assert executor.execute(RunContext.create("a"), "t.x", {}).error_code is ToolErrorCode.PERMISSION_DENIED


def test_lists_of_a_contract_are_its_own_and_a_string_is_no_list() -> None:
    agents = {"administrator"}
    executor = executor_with(lambda: 1, allowlisted_agents=agents)
    agents.add("min")
    assert not executor.execute(RunContext.create("min"), "t.x", {}).success
    with pytest.raises(ContractError, match="list of str"):
        executor_with(lambda: 1, allowlisted_agents="administrator")


def test_strict_mode_redacts_where_a_result_came_from() -> None:
    source = ToolProvenance("https://app:hunter2hunter2@example.org/")
    executor = executor_with(lambda: ToolResult.ok("t.x", 1, provenance=source), SafetyClass.READ_ONLY)
    result = executor.execute(RunContext.create("a", safety_mode=SafetyMode.STRICT), "t.x", {})
    assert result.provenance is not None
    assert "hunter2" not in result.provenance.source_uri


@rows("field", ["agent_name", "intent", "session_id", "user_sid"])
def test_ids_of_a_run_must_be_text_that_can_be_written(field: str) -> None:
    for value in (42, None, "\ud800"):
        with pytest.raises((TypeError, ValueError)):
            RunContext.create(**{field: value})  # type: ignore[arg-type]


def test_an_id_that_became_something_else_is_refused_and_does_not_spoil_the_log() -> None:
    executor = executor_with(lambda: 1)
    ctx = RunContext.create("a")
    ctx.run_id = 42  # type: ignore[assignment]
    assert "could not be recorded" in executor.execute(ctx, "t.x", {}).error_message
    assert verify(executor.event_log).ok
    assert executor.execute(RunContext.create("a"), "t.x", {}, step="\ud800").success is False


def test_a_context_can_be_copied() -> None:
    ctx = copy.deepcopy(RunContext.create("a", budget=RunBudget(max_tool_calls=1)))
    assert ctx.budget.reserve_call() == ""


def test_a_step_whose_answer_could_not_be_used_says_so_again() -> None:
    executor = executor_with(lambda: float("nan"))
    ctx = RunContext.create("a")
    first = executor.execute(ctx, "t.x", {}, step="s")
    again = executor.execute(ctx, "t.x", {}, step="s")
    assert (again.error_code, again.error_message) == (first.error_code, first.error_message)
    assert again.error_code is ToolErrorCode.VALIDATION_ERROR


def test_a_run_whose_first_record_failed_is_announced_by_the_next() -> None:
    executor = executor_with(lambda: 1)
    ctx = RunContext.create("a")
    with executor.event_log.database.write() as execute:
        execute("CREATE TRIGGER broken BEFORE INSERT ON intents BEGIN SELECT RAISE(FAIL, 'no'); END")
    assert not executor.execute(ctx, "t.x", {}).success
    with executor.event_log.database.write() as execute:
        execute("DROP TRIGGER broken")
    assert executor.execute(ctx, "t.x", {}).success
    assert next(event.kind for event in executor.event_log.events()) == "kernel.run.started"


def test_sixteen_threads_and_a_log_in_memory_lose_no_outcome() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        executor = executor_with(lambda n: n)
        ctx = RunContext.create("a", budget=RunBudget(max_tool_calls=10_000, max_latency_ms=10**9))
        failed: list[str] = []

        def work() -> None:
            results = [executor.execute(ctx, "t.x", {"n": n}) for n in range(30)]
            failed.extend(result.error_message for result in results if not result.success)

        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failed == []
    assert verify(executor.event_log).rows == 16 * 30 * 2 + 1


def test_sensitive_arguments_cannot_be_tried_out_against_their_digest(tmp_path: Path) -> None:
    digests = set()
    for key in (b"one home", b"other home"):
        registry = ToolRegistry()
        registry.register_fn("t.x", "X", lambda pin: 1, args_schema=[ToolArgSchema("pin", sensitive=True)])
        executor = ToolExecutor(registry, event_log=EventLog(digest_key=key))
        executor.execute(RunContext.create("a"), "t.x", {"pin": "1234"})
        digests.add((list(executor.event_log.events())[-1].payload or {})["args_digest"])
    assert len(digests) == 2


INTERRUPTED = """
import signal, sys, threading, time, os
from sb.kernel import *
from sb.log.event_log import EventLog
from sb.store.database import open_database
registry = ToolRegistry()
registry.register_fn("t.w", "W", lambda n: n, SafetyClass.LOCAL_WRITE)
registry.register_fn("t.r", "R", lambda n: n)
executor = ToolExecutor(registry, event_log=EventLog(open_database(sys.argv[1])))
ctx = RunContext.create("a", budget=RunBudget(max_tool_calls=10**9, max_latency_ms=10**9))
executor.execute(ctx, "t.w", {"n": 0})
def interrupt():
    sent, give_up = 0, time.monotonic() + 60
    while (sent < 40 or interrupts <= 5) and time.monotonic() < give_up:
        time.sleep(0.004)
        os.kill(os.getpid(), signal.SIGINT)
        sent += 1
    stop.set()
stop = threading.Event()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what is in the background without
interrupts = n = 0
threading.Thread(target=interrupt, daemon=True).start()
while not stop.is_set():
    try:
        n += 1
        result = executor.execute(ctx, "t.w" if n % 2 else "t.r", {"n": n})
        assert result.success, result
    except KeyboardInterrupt:
        interrupts += 1
time.sleep(0.05)
assert executor.execute(ctx, "t.w", {"n": -1}).success
print(interrupts, ctx.budget._reserved)
"""


def test_after_an_interrupt_at_any_moment_the_next_call_works_and_the_log_is_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "brain.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, -signal.SIGINT), done.stderr  # the last one may come when the loop is over
    if done.returncode == 0:
        interrupts, reserved = map(int, done.stdout.split())
        assert (interrupts > 5, reserved) == (True, 0)
    log = EventLog(open_database(tmp_path / "brain.db"))
    assert [line for line in verify(log).problems if "has no outcome" not in line] == []
    outcomes = {
        e.subject.call_id for e in log.events() if (e.payload or {}).get("phase") in ("outcome", "in_doubt")
    }
    announced = {e.subject.call_id for e in log.events() if (e.payload or {}).get("phase") == "intent"}
    assert announced - outcomes <= {intent.call_id for intent in Intents(log).in_doubt()}


def test_a_fork_while_another_thread_writes_does_not_hang_the_child(tmp_path: Path) -> None:
    log = EventLog(open_database(tmp_path / "brain.db"))
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            log.append("kernel.memory.put", {})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            pid = os.fork()
            if pid == 0:
                try:
                    log.head()
                finally:
                    os._exit(3)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    finally:
        stop.set()
        writer.join()
