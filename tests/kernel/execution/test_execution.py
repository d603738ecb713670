"""Misbehaving tools, and how the kernel handles them."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.errors import StoreError
from sb.kernel import RunBudget, RunContext, SafetyClass, SafetyMode, ToolErrorCode, ToolResult
from sb.kernel.contracts import ToolArgSchema, ToolError, ToolProvenance, ToolReturnSchema
from sb.kernel.execution.executor import ToolExecutor
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.registry.workers import DeadlineExceeded, Workers
from sb.log.event_log import EventLog
from tests.rows import rows

WRITE = SafetyClass.LOCAL_WRITE


class World:
    """A registry and executor on an injected clock."""

    def __init__(self, clock: SteeredClock, ids: CountingIds) -> None:
        self.clock = clock
        self.registry = ToolRegistry()
        self.executor = ToolExecutor(self.registry, clock=clock, ids=ids)
        self.ctx = RunContext.create(agent_name="a", clock=clock, ids=ids)
        self.calls = 0

    def add(self, fn: Callable[..., Any], **contract: Any) -> None:
        def counted(**args: Any) -> Any:
            self.calls += 1
            return fn(**args)

        self.registry.register_fn("t.x", "X", counted, **contract)

    def call(self, args: dict[str, Any] | None = None, **options: Any) -> ToolResult:
        return self.executor.execute(self.ctx, "t.x", args, **options)

    def phases(self) -> list[str]:
        payloads = [
            event.payload or {} for event in self.executor.event_log.events(kind="kernel.tool.dispatch")
        ]
        return [str(payload["phase"]) for payload in payloads]


@pytest.fixture
def world(clock: SteeredClock, ids: CountingIds) -> World:
    return World(clock, ids)


def raising(error: BaseException) -> Callable[[], Any]:
    def tool() -> Any:
        raise error

    return tool


def failing(times: int, error: BaseException) -> Callable[[], Any]:
    left = [times]

    def tool() -> str:
        if left[0]:
            left[0] -= 1
            raise error
        return "done"

    return tool


def test_a_read_only_tool_is_retried_with_growing_waits(world: World) -> None:
    world.add(failing(2, ConnectionError("reset")))
    result = world.call()
    assert (result.success, result.data, result.retries) == (True, "done", 2)
    assert world.calls == 3
    assert 0 < world.clock.slept[0] < world.clock.slept[1]
    assert world.ctx.budget.tool_calls_used == 1


def test_retries_stop_at_the_smaller_of_contract_and_budget(world: World) -> None:
    world.add(failing(9, RuntimeError("boom")), max_retries=5)
    world.ctx.budget.max_retries_per_tool = 1
    result = world.call()
    assert (result.error_code, result.retries, world.calls) == (ToolErrorCode.UNEXPECTED, 1, 2)
    assert result.error_message == "RuntimeError: boom"


def test_retries_stop_when_the_latency_budget_is_spent(world: World) -> None:
    world.add(failing(9, ConnectionError("reset")), max_retries=5)
    world.ctx.budget.max_latency_ms = 30
    assert not world.call().success
    assert world.calls == 2


@pytest.mark.parametrize(
    ("contract", "calls"),
    [
        ({"safety_class": WRITE}, 1),
        ({"safety_class": WRITE, "idempotent": True}, 3),
        ({"safety_class": WRITE, "idempotent": False}, 1),
        ({"safety_class": SafetyClass.NETWORK}, 1),
        ({"metadata": {"side_effect_level": "external_write"}}, 1),
        ({"idempotent": False}, 3),
    ],
)
def test_a_side_effect_is_repeated_only_where_its_author_said_so(
    world: World, contract: dict[str, Any], calls: int
) -> None:
    world.add(failing(2, RuntimeError("boom")), **contract)
    world.call()
    assert world.calls == calls


def test_a_tool_that_takes_the_idempotency_key_gets_the_same_one_on_every_attempt(world: World) -> None:
    keys: list[str] = []

    def pay(amount: int, idempotency_key: str = "") -> str:
        keys.append(idempotency_key)
        if len(keys) < 3:
            raise ConnectionError("reset")
        return "paid"

    world.registry.register_fn("t.x", "X", pay, SafetyClass.NETWORK)
    assert world.call({"amount": 5}).success
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert keys[0].startswith("idem_")


def test_the_model_cannot_set_the_idempotency_key(world: World) -> None:
    def pay(idempotency_key: str = "") -> str:
        return idempotency_key

    world.registry.register_fn("t.x", "X", pay, SafetyClass.NETWORK)
    result = world.call({"idempotency_key": "mine"})
    assert result.error_code is ToolErrorCode.VALIDATION_ERROR
    assert "made by the kernel" in result.error_message


def test_a_tool_that_says_no_for_good_is_not_asked_again(world: World) -> None:
    world.add(raising(ToolError(ToolErrorCode.NOT_FOUND, "no such note")))
    result = world.call()
    assert (result.error_code, result.error_message, world.calls) == (
        ToolErrorCode.NOT_FOUND,
        "no such note",
        1,
    )


class _Response:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class HTTPStatusError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__("status")
        self.response = _Response(status)


@rows(
    "error, code",
    [
        (FileNotFoundError("x"), ToolErrorCode.NOT_FOUND),
        (PermissionError("x"), ToolErrorCode.PERMISSION_DENIED),
        (TimeoutError("x"), ToolErrorCode.TIMEOUT),
        (ConnectionRefusedError("x"), ToolErrorCode.NETWORK_ERROR),
        (BrokenPipeError("x"), ToolErrorCode.NETWORK_ERROR),
        (ValueError("x"), ToolErrorCode.VALIDATION_ERROR),
        (HTTPStatusError(404), ToolErrorCode.NOT_FOUND),
        (HTTPStatusError(403), ToolErrorCode.PERMISSION_DENIED),
        (HTTPStatusError(429), ToolErrorCode.RATE_LIMITED),
        (HTTPStatusError(408), ToolErrorCode.TIMEOUT),
        (HTTPStatusError(503), ToolErrorCode.NETWORK_ERROR),
        (KeyError("x"), ToolErrorCode.UNEXPECTED),
        (SystemExit(3), ToolErrorCode.UNEXPECTED),
        (RecursionError("deep"), ToolErrorCode.UNEXPECTED),
        (MemoryError(), ToolErrorCode.UNEXPECTED),
        (ToolError(ToolErrorCode.RATE_LIMITED, "slow down"), ToolErrorCode.RATE_LIMITED),
    ],
)
def test_exceptions_map_to_the_documented_codes(
    world: World, error: BaseException, code: ToolErrorCode
) -> None:
    world.add(raising(error), max_retries=0)
    assert world.call().error_code is code


def test_arguments_that_do_not_fit_the_function_are_a_validation_error(world: World) -> None:
    world.registry.register_fn("t.x", "X", lambda path: path)
    assert world.call({"pth": "x"}).error_code is ToolErrorCode.VALIDATION_ERROR
    world.registry.register_fn("t.y", "Y", lambda: len(3))  # type: ignore[arg-type]
    assert world.executor.execute(world.ctx, "t.y", {}).error_code is ToolErrorCode.UNEXPECTED


def test_a_hanging_side_effect_times_out_and_is_in_doubt() -> None:
    registry = ToolRegistry()
    stop = threading.Event()
    registry.register_fn("t.hang", "Hang", lambda: stop.wait(60), WRITE, timeout_ms=100)
    executor = ToolExecutor(registry)
    started = time.monotonic()
    result = executor.execute(RunContext.create(agent_name="a"), "t.hang", {})
    stop.set()
    assert time.monotonic() - started < 50
    assert result.error_code is ToolErrorCode.TIMEOUT
    assert "in doubt" in result.error_message
    assert [intent.call_id for intent in executor.in_doubt()] == [result.call_id]


@pytest.mark.parametrize(
    ("contract", "hard"),
    [({}, False), ({"timeout_ms": 5_000}, True), ({"safety_class": WRITE}, True)],
)
def test_a_deadline_is_hard_for_side_effects_and_where_it_was_passed(
    clock: SteeredClock, contract: dict[str, Any], hard: bool
) -> None:
    class Late(Workers):
        def call(self, fn: Callable[[], Any], timeout_s: float) -> Any:
            assert timeout_s == 5.0
            raise DeadlineExceeded

    registry = ToolRegistry()
    registry.register_fn("t.x", "X", lambda: "in time", max_retries=0, **contract)
    result = ToolExecutor(registry, workers=Late(), clock=clock).execute(RunContext.create("a"), "t.x", {})
    assert result.error_code is (ToolErrorCode.TIMEOUT if hard else None)


def test_a_network_error_of_a_side_effect_is_in_doubt_and_another_failure_is_not(world: World) -> None:
    world.add(raising(ConnectionError("reset")), safety_class=WRITE)
    first = world.call()
    world.registry.register_fn("t.y", "Y", raising(RuntimeError("refused")), WRITE)
    world.executor.execute(world.ctx, "t.y", {})
    assert [intent.call_id for intent in world.executor.in_doubt()] == [first.call_id]


def test_a_slow_read_only_tool_is_judged_afterwards(world: World) -> None:
    world.add(lambda: world.clock.sleep(6))
    result = world.call()
    assert result.error_code is ToolErrorCode.TIMEOUT
    assert result.data is None
    assert world.executor.in_doubt() == []


def test_a_read_only_tool_with_a_passed_timeout_is_stopped_while_it_hangs() -> None:
    registry = ToolRegistry()
    stop = threading.Event()
    registry.register_fn("t.hang", "Hang", lambda: stop.wait(60), timeout_ms=100, max_retries=0)
    result = ToolExecutor(registry).execute(RunContext.create(agent_name="a"), "t.hang", {})
    stop.set()
    assert result.error_code is ToolErrorCode.TIMEOUT


@pytest.mark.parametrize("value", [object(), math.nan, {1: "x"}, {"x": {2}}, b"bytes", 2**60, "\ud800"])
def test_a_value_that_is_not_json_is_an_error_but_the_effect_is_done(world: World, value: Any) -> None:
    world.add(lambda: value, safety_class=WRITE, idempotent=True)
    result = world.call()
    assert result.error_code is ToolErrorCode.VALIDATION_ERROR
    assert "not JSON" in result.error_message
    assert (world.calls, world.executor.in_doubt()) == (1, [])


def test_a_value_of_the_wrong_declared_type_is_done_with_an_error(world: World) -> None:
    world.add(lambda: [1], safety_class=WRITE, returns_schema=ToolReturnSchema(type="object"))
    result = world.call()
    assert result.error_code is ToolErrorCode.VALIDATION_ERROR
    outcome = list(world.executor.event_log.events())[-1].payload
    assert outcome is not None
    assert outcome["state"] == "done"


def test_a_result_over_the_limit_is_refused() -> None:
    registry = ToolRegistry()
    registry.register_fn("t.big", "Big", lambda: "x" * 2000)
    executor = ToolExecutor(registry, max_result_bytes=1000)
    result = executor.execute(RunContext.create(agent_name="a"), "t.big", {})
    assert "max_result_bytes" in result.error_message


def test_a_tool_may_return_a_result_with_provenance(world: World) -> None:
    world.add(lambda: ToolResult.ok("t.x", {"a": 1}, provenance=ToolProvenance("vault/a.md", 60)))
    result = world.call()
    assert (result.data, result.provenance) == ({"a": 1}, ToolProvenance("vault/a.md", 60))


def test_a_tool_may_return_a_failure(world: World) -> None:
    world.add(lambda: ToolResult.error("t.x", ToolErrorCode.RATE_LIMITED, "later"))
    assert world.call().error_code is ToolErrorCode.RATE_LIMITED


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ([1], "must be an object"),
        ("text", "must be an object"),
        ({"x": math.nan}, "NaN"),
        ({"x": math.inf}, "NaN"),
        ({"x": object()}, "not a JSON value"),
        ({"x": 2**53}, "2**53"),
        ({1: "x"}, "keys must be strings"),
        ({"x": "\ud800"}, "surrogate"),
        ({"x": "y" * 2_000_000}, "max_args_bytes"),
    ],
)
def test_arguments_that_cannot_be_judged_are_refused(world: World, args: Any, what: str) -> None:
    world.add(lambda **_: 1)
    result = world.call(args)
    assert result.error_code is ToolErrorCode.VALIDATION_ERROR
    assert what in result.error_message
    assert world.calls == 0


def test_arguments_nested_too_deep_or_in_a_circle_are_refused(world: World) -> None:
    world.add(lambda **_: 1)
    circle: dict[str, Any] = {}
    circle["again"] = circle
    assert "deeper than" in world.call(circle).error_message
    assert world.calls == 0


def test_a_caller_cannot_change_the_arguments_after_they_were_judged(world: World) -> None:
    args = {"items": ["a"]}
    seen: list[Any] = []

    def tool(items: list[str]) -> None:
        args["items"].append("b")
        seen.extend(items)

    world.add(tool)
    assert world.call(args).success
    assert seen == ["a"]


def test_every_side_effect_has_its_intent_before_and_its_outcome_after(world: World) -> None:
    def tool() -> list[str]:
        return world.phases()

    world.add(tool, safety_class=WRITE)
    assert world.call().data == ["intent"]
    assert world.phases() == ["intent", "outcome"]


def test_a_read_only_call_has_no_intent(world: World) -> None:
    world.add(world.phases)
    assert world.call().data == []
    assert world.phases() == ["outcome"]


def test_a_named_step_happens_once_and_returns_what_was_recorded(world: World) -> None:
    world.add(lambda amount: {"receipt": amount}, safety_class=WRITE)
    first = world.call({"amount": 5}, step="pay")
    again = world.call({"amount": 5}, step="pay")
    assert (again.data, again.call_id, world.calls) == ({"receipt": 5}, first.call_id, 1)
    assert world.ctx.budget.tool_calls_used == 1
    assert world.phases() == ["intent", "outcome", "replayed"]
    other = world.call({"amount": 6}, step="pay")
    assert other.error_code is ToolErrorCode.VALIDATION_ERROR
    assert "had other arguments" in other.error_message
    assert world.call({"amount": 5}, step="pay again").success
    assert world.calls == 2


def test_a_named_step_that_failed_may_be_tried_again(world: World) -> None:
    world.add(failing(1, RuntimeError("refused")), safety_class=WRITE)
    assert not world.call(step="pay").success
    assert world.call(step="pay").success


def test_a_named_step_in_doubt_is_not_repeated(world: World) -> None:
    world.add(raising(ConnectionError("reset")), safety_class=WRITE)
    world.call(step="pay")
    result = world.call(step="pay")
    assert result.error_code is ToolErrorCode.PERMISSION_DENIED
    assert "outcome is unknown" in result.error_message
    assert world.calls == 1


def test_sixteen_threads_asking_for_one_step_cause_one_effect() -> None:
    registry = ToolRegistry()
    effects: list[int] = []
    registry.register_fn("t.x", "X", lambda: effects.append(1), WRITE)
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="a", budget=RunBudget(max_tool_calls=100))
    threads = [
        threading.Thread(target=executor.execute, args=(ctx, "t.x", {}), kwargs={"step": "once"})
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert effects == [1]


def test_without_its_intent_on_record_nothing_runs(world: World) -> None:
    world.add(lambda: "effect", safety_class=WRITE)
    world.executor.event_log.database.close()
    result = world.call()
    assert not result.success
    assert world.calls == 0


def test_an_outcome_that_cannot_be_recorded_is_said_and_stays_in_doubt(world: World) -> None:
    log = world.executor.event_log

    def tool() -> str:
        with log.database.write() as execute:
            execute(
                "CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(FAIL, 'disk on fire'); END"
            )
        return "effect"

    world.add(tool, safety_class=WRITE)
    result = world.call()
    assert result.error_code is ToolErrorCode.UNEXPECTED
    assert "in doubt" in result.error_message
    world.clock.time += 3600
    assert [intent.call_id for intent in world.executor.in_doubt()] == [result.call_id]


def test_strict_mode_redacts_results_before_the_agent_sees_them(world: World) -> None:
    world.add(lambda: {"mail": "write to bob@example.com"})
    assert world.call().data == {"mail": "write to bob@example.com"}
    world.ctx.safety_mode = SafetyMode.STRICT
    assert world.call().data == {"mail": "write to [redacted:email]"}


def test_a_batch_runs_every_call_in_order_by_the_same_rules(world: World) -> None:
    world.add(lambda n: n)
    results = world.executor.execute_batch(world.ctx, [("t.x", {"n": 1}), ("t.gone", {}), ("t.x", {"n": 2})])
    assert [result.data for result in results] == [1, None, 2]
    assert len(list(world.executor.event_log.events(kind="kernel.tool.dispatch"))) == 3


def test_sync_and_async_tools_run_under_both_execute_and_aexecute() -> None:
    registry = ToolRegistry()

    async def atool(x: int) -> int:
        await asyncio.sleep(0)
        return x + 1

    registry.register_fn("t.async", "A", atool)
    registry.register_fn("t.sync", "S", lambda x: x + 1, WRITE)
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="a")

    async def main() -> list[ToolResult]:
        return list(
            await asyncio.gather(*(executor.aexecute(ctx, t, {"x": 1}) for t in ("t.async", "t.sync")))
        )

    assert [result.data for result in asyncio.run(main())] == [2, 2]
    assert [executor.execute(ctx, t, {"x": 1}).data for t in ("t.async", "t.sync")] == [2, 2]
    assert ctx.budget.tool_calls_used == 4


def test_an_async_tool_runs_in_the_callers_event_loop() -> None:
    registry = ToolRegistry()

    async def loop_id() -> int:
        return id(asyncio.get_running_loop())

    registry.register_fn("t.loop", "L", loop_id)

    async def main() -> bool:
        result = await ToolExecutor(registry).aexecute(RunContext.create(agent_name="a"), "t.loop", {})
        return bool(result.data == id(asyncio.get_running_loop()))

    assert asyncio.run(main())


def test_an_async_tool_that_hangs_times_out() -> None:
    registry = ToolRegistry()

    async def hang() -> None:
        await asyncio.sleep(60)

    registry.register_fn("t.hang", "H", hang, timeout_ms=100, max_retries=0)
    executor = ToolExecutor(registry)
    ctx = RunContext.create(agent_name="a")

    async def main() -> ToolResult:
        return await executor.aexecute(ctx, "t.hang", {})

    assert asyncio.run(main()).error_code is ToolErrorCode.TIMEOUT
    assert executor.execute(ctx, "t.hang", {}).error_code is ToolErrorCode.TIMEOUT


def test_an_interrupt_from_the_keyboard_is_recorded_and_passed_on(world: World) -> None:
    world.registry.register_fn("t.x", "X", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        world.call()
    assert world.phases() == ["outcome"]


def test_a_log_opened_before_a_fork_is_refused_in_the_child(tmp_path: Any) -> None:
    from sb.store.database import open_database

    log = EventLog(open_database(tmp_path / "brain.db"))
    pid = os.fork()
    if pid == 0:
        try:
            log.append("kernel.run.started", {})
        except StoreError as error:
            os._exit(0 if "fork" in error.message else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_sensitive_arguments_reach_the_tool_and_nothing_else(world: World) -> None:
    def login(user: str, pin: str) -> dict[str, str]:
        return {"said": f"welcome {user} with {pin}"}

    world.registry.register_fn(
        "t.x", "X", login, WRITE, args_schema=[ToolArgSchema("user"), ToolArgSchema("pin", sensitive=True)]
    )
    result = world.call({"user": "bob", "pin": "93-71-canary"})
    assert result.data == {"said": "welcome bob with 93-71-canary"}
    misspelt = world.call({"user": "bob", "pni": "93-71-canary"})
    assert "93-71-canary" not in misspelt.error_message
    dump = "".join(str(event.to_dict()) for event in world.executor.event_log.events())
    assert "bob" in dump
    assert "93-71-canary" not in dump
