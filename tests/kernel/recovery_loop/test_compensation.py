"""Compensation of a failed call: by verdict, and never in a way that could double an effect."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import CountingIds, SteeredClock
from sb.errors import StoreLocked, UsageError
from sb.kernel import (
    PLAYBOOK,
    CompensationAction,
    CompensationDispatcher,
    CompensationKind,
    ErrorKind,
    FailedCall,
    RunBudget,
    RunContext,
    SafetyClass,
    ToolError,
    ToolErrorCode,
    ToolResult,
    tool_failure,
    verdict_for,
)
from sb.kernel.contracts import ReversalClass, ReversalSpec
from sb.kernel.error_kinds import CODES
from sb.kernel.recovery_loop.escalations import Escalations
from sb.runtime import open_runtime
from tests.conftest import CommandLine
from tests.kernel.recovery_loop.compensation_worlds import NETWORK, READ, WRITE, World, failed
from tests.rows import rows

RETRIED_KINDS = [kind for kind, action in PLAYBOOK.items() if action is CompensationAction.RETRY_WITH_BACKOFF]


@pytest.fixture
def world(clock: SteeredClock, ids: CountingIds) -> World:
    return World(clock, ids)


def raising(error: BaseException) -> Callable[[], Any]:
    def tool() -> Any:
        raise error

    return tool


def test_the_playbook_has_every_kind_and_the_routings_of_the_specification() -> None:
    assert set(PLAYBOOK) == set(ErrorKind)
    escalated = (ErrorKind.POLICY_DENIED, ErrorKind.CONTENT_FILTER, ErrorKind.REFUSAL)
    transient = (ErrorKind.TIMEOUT, ErrorKind.TRANSIENT_NETWORK, ErrorKind.RATE_LIMITED, ErrorKind.SERVER)
    assert PLAYBOOK[ErrorKind.IDEMPOTENCY_CONFLICT] is CompensationAction.DEPRECATE_AND_REPLAN
    assert PLAYBOOK[ErrorKind.EVIDENCE_STALE] is CompensationAction.REFRESH_EVIDENCE
    assert {PLAYBOOK[kind] for kind in escalated} == {CompensationAction.ESCALATE_TO_HUMAN}
    assert {PLAYBOOK[kind] for kind in transient} == {CompensationAction.RETRY_WITH_BACKOFF}
    with pytest.raises(TypeError):
        PLAYBOOK[ErrorKind.IDEMPOTENCY_CONFLICT] = CompensationAction.RETRY_WITH_BACKOFF  # type: ignore[index]


def test_the_calls_of_the_specification_work_as_it_shows_them(world: World) -> None:
    from sb.kernel.compensation.dispatcher import CompensationDispatcher
    from sb.kernel.error_classifier.verdicts import verdict_for

    world.add(tool_failure(ErrorKind.RATE_LIMITED, "slow down", 20))
    args = {"order": "o1"}
    failed_result = world.call(args)
    call_id, store, ctx = failed_result.call_id, world.executor.mutations, world.ctx
    dispatcher = CompensationDispatcher(mutation_store=store)
    outcome = dispatcher.dispatch(
        ctx, tool_id="payments.issue_refund", call_id=call_id, args=args, result=failed_result
    )
    assert outcome.kind == "retry_scheduled"
    assert verdict_for(failed_result).kind is ErrorKind.RATE_LIMITED
    assert world.runs == 1


PURE = {
    CompensationAction.RETRY_WITH_BACKOFF: CompensationKind.RETRY_SCHEDULED,
    CompensationAction.REFRESH_EVIDENCE: CompensationKind.EVIDENCE_REFRESHED,
    CompensationAction.DEPRECATE_AND_REPLAN: CompensationKind.DEPRECATED,
    CompensationAction.ESCALATE_TO_HUMAN: CompensationKind.ESCALATED,
    CompensationAction.REVERSE: CompensationKind.REVERSAL_REFUSED,
    CompensationAction.REPLAN: CompensationKind.REPLAN,
    CompensationAction.ABORT: CompensationKind.ABORTED,
}


@rows("kind", list(ErrorKind))
def test_without_callables_a_dispatcher_only_says_what_to_do(kind: ErrorKind) -> None:
    outcome = CompensationDispatcher().dispatch(
        RunContext.create(), tool_id="t.x", call_id="call_01", args=None, result=failed(kind)
    )
    assert outcome.kind is PURE[PLAYBOOK[kind]]
    assert outcome.verdict is not None
    assert outcome.verdict.kind is kind
    assert not outcome.performed
    assert json.loads(json.dumps(outcome.directive)) == outcome.directive
    assert {"action", "say", "tool_id", "call_id"} <= outcome.directive.keys()


@rows(
    "code, kind",
    [
        (ToolErrorCode.NOT_FOUND, ErrorKind.NOT_FOUND),
        (ToolErrorCode.PERMISSION_DENIED, ErrorKind.POLICY_DENIED),
        (ToolErrorCode.TIMEOUT, ErrorKind.TIMEOUT),
        (ToolErrorCode.VALIDATION_ERROR, ErrorKind.VALIDATION),
        (ToolErrorCode.NETWORK_ERROR, ErrorKind.TRANSIENT_NETWORK),
        (ToolErrorCode.RATE_LIMITED, ErrorKind.RATE_LIMITED),
        (ToolErrorCode.BUDGET_EXCEEDED, ErrorKind.BUDGET),
        (ToolErrorCode.UNEXPECTED, ErrorKind.UNKNOWN),
        (None, ErrorKind.UNKNOWN),
    ],
)
def test_every_code_of_a_result_has_a_verdict(code: ToolErrorCode | None, kind: ErrorKind) -> None:
    result = ToolResult("call_01", "t.x", success=False, error_code=code, error_message="what happened")
    verdict = verdict_for(result)
    assert (verdict.kind, verdict.action, verdict.source) == (kind, PLAYBOOK[kind], "tool")
    assert verdict.message == "what happened"


def test_the_same_failure_has_the_same_verdict_as_an_exception_and_as_a_result() -> None:
    for kind in ErrorKind:
        error = tool_failure(kind, "x", 3)
        raised = verdict_for(error)
        result = verdict_for(ToolResult.error("t.x", error.code, str(error)))
        assert raised.kind is kind
        assert replace(raised, source="tool") == result


def test_there_is_no_verdict_on_a_success(world: World) -> None:
    with pytest.raises(UsageError, match="succeeded"):
        verdict_for(ToolResult.ok("t.x"))
    with pytest.raises(UsageError, match="succeeded"):
        world.dispatch(ToolResult.ok("t.x"))


@pytest.mark.parametrize("result", [TimeoutError("it took\n5 s\x1b[2J"), None])
def test_a_message_is_one_redacted_line(result: BaseException | None) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    failure = result or ToolResult.error("t.x", ToolErrorCode.UNEXPECTED, f"key {secret}\n{'x' * 999}")
    message = verdict_for(failure).message
    assert secret not in message
    assert not set(message) & {"\n", "\x1b"}
    assert len(message) <= 500


def test_what_the_executor_refuses_is_never_repeated(world: World) -> None:
    world.add()
    world.registry.register_fn("t.blocked", "B", lambda: 1)
    world.registry.register_fn("t.asks", "A", lambda: 1, SafetyClass.DESTRUCTIVE)
    ctx, execute = world.ctx, world.executor.execute
    tight = replace(ctx, budget=RunBudget(max_tool_calls=0))
    refused = {
        "blocked": (execute(ctx, "t.blocked"), CompensationKind.ESCALATED),
        "waiting": (execute(ctx, "t.asks"), CompensationKind.ESCALATED),
        "missing": (execute(ctx, "t.none"), CompensationKind.REPLAN),
        "arguments": (execute(ctx, "t.x", {"a": float("nan")}), CompensationKind.REPLAN),
        "budget": (execute(tight, "t.x"), CompensationKind.ABORTED),
    }
    for name, (result, kind) in refused.items():
        assert world.dispatch(result, tool_id=result.tool_id).kind is kind, name
    waiting = refused["waiting"][0]
    outcome = world.dispatch(waiting, tool_id="t.asks")
    assert outcome.directive["approval_id"] == waiting.data["approval_id"]
    listed = Escalations(world.executor.event_log).page()
    assert [(escalation.tool_id, str(escalation.state), escalation.cause) for escalation in listed] == [
        ("t.blocked", "open", "failed: policy_denied")
    ]
    assert world.runs == 0


def test_a_transient_failure_is_really_repeated_after_growing_waits(world: World) -> None:
    world.add(ConnectionError("reset"), ConnectionError("reset"))
    result = world.call({"a": 1})
    outcome = world.dispatch(result, args={"a": 1})
    assert (outcome.kind, outcome.performed) == (CompensationKind.RETRIED, True)
    assert outcome.result.data == {"done": True}
    assert world.args == {"a": 1}
    assert world.clock.slept == [0.375, 0.75]
    assert world.runs == 3
    assert world.told == []


def test_repetition_is_bounded_and_a_person_hears_of_its_end(world: World) -> None:
    world.add(*[ConnectionError("reset")] * 99)
    outcome = world.dispatch(world.call())
    assert outcome.kind is CompensationKind.ESCALATED
    assert "failed 3 times" in outcome.reason
    assert world.runs == 3
    (event,) = world.escalations()
    assert event.payload is not None
    assert event.payload["cause"] == "failed: transient_network"
    assert event.subject.call_id == outcome.directive["call_id"] == outcome.result.call_id
    assert event.subject.run_id == world.ctx.run_id
    assert [notice.subject for notice in world.told] == [event.subject]


def test_a_caller_that_repeats_by_itself_is_bounded_too(world: World) -> None:
    pure = CompensationDispatcher(max_attempts=2, clock=world.clock)
    ask: dict[str, Any] = {"tool_id": "t.x", "call_id": "c", "args": {}, "result": failed(ErrorKind.SERVER)}
    assert pure.dispatch(world.ctx, attempt=1, **ask).kind is CompensationKind.RETRY_SCHEDULED
    assert pure.dispatch(world.ctx, attempt=2, **ask).kind is CompensationKind.ESCALATED
    with pytest.raises(UsageError):
        pure.dispatch(world.ctx, attempt=0, **ask)
    with pytest.raises(UsageError):
        CompensationDispatcher(max_attempts=0)
    with pytest.raises(UsageError):
        CompensationDispatcher(base_wait_s=float("nan"))


def test_the_wait_that_was_asked_for_is_honoured_and_a_long_one_is_left_to_the_caller(world: World) -> None:
    world.add(tool_failure(ErrorKind.RATE_LIMITED, "slow down", 20))
    assert world.dispatch(world.call()).kind is CompensationKind.RETRIED
    assert world.clock.slept == [20.0]
    world.left = [tool_failure(ErrorKind.RATE_LIMITED, "slow down", 3600)]
    outcome = world.dispatch(world.call())
    assert (outcome.kind, outcome.performed) == (CompensationKind.RETRY_SCHEDULED, False)
    assert (outcome.directive["after_s"], outcome.directive["attempt"]) == (3600.0, 2)
    assert world.clock.slept == [20.0]


def test_a_named_step_is_repeated_as_that_step(world: World) -> None:
    world.add(tool_failure(ErrorKind.RATE_LIMITED, "slow down"), safety_class=WRITE)
    outcome = world.dispatch(world.call(step="one"), step="one")
    assert outcome.kind is CompensationKind.RETRIED
    assert world.call(step="one").call_id == outcome.result.call_id
    assert world.runs == 2


def test_a_repetition_keeps_what_justified_the_call(world: World) -> None:
    way_back = ReversalSpec(ReversalClass.COMPENSABLE, "t.undo")
    world.add(tool_failure(ErrorKind.RATE_LIMITED, "slow down"), safety_class=NETWORK, reversal=way_back)
    reason = ("order_not_shipped",)
    outcome = world.dispatch(world.call(assumptions=reason), assumptions=reason)
    ref = world.executor.mutations.for_call(outcome.result.call_id)
    assert ref is not None
    assert ref.assumption_refs == reason


def test_a_failure_that_left_something_behind_is_not_repeated(world: World) -> None:
    late = ToolResult.error("t.x", ToolErrorCode.TIMEOUT, "late", mutation_id="mut_1_00ff")
    assert world.dispatch(late).kind is CompensationKind.DEPRECATED


@pytest.mark.parametrize("error", [TimeoutError("late"), ConnectionError("reset")])
def test_a_side_effect_in_doubt_goes_to_a_person_and_is_not_repeated(
    world: World, error: BaseException
) -> None:
    world.add(error, safety_class=NETWORK)
    result = world.call()
    assert [intent.call_id for intent in world.executor.in_doubt()] == [result.call_id]
    for dispatcher in (world.dispatcher, CompensationDispatcher()):
        outcome = dispatcher.dispatch(
            world.ctx, tool_id="t.x", call_id=result.call_id, args={}, result=result
        )
        assert outcome.kind is CompensationKind.ESCALATED
        assert "nobody knows whether" in outcome.reason
    assert world.runs == 1


@pytest.mark.parametrize("error", [TimeoutError(), failed(ErrorKind.SERVER)])
def test_a_failure_that_the_log_does_not_know_is_judged_by_the_contract(
    world: World, error: BaseException | ToolResult
) -> None:
    world.add(safety_class=NETWORK)
    assert world.dispatch(error).kind is CompensationKind.ESCALATED
    assert world.runs == 0
    spec = world.registry.get("t.x")
    assert spec is not None
    spec.reversal = ReversalSpec(ReversalClass.REVERSIBLE)  # leaves nothing behind
    assert world.dispatch(error).kind is CompensationKind.RETRIED


def test_a_repetition_that_ends_in_doubt_is_the_last(world: World) -> None:
    world.add(tool_failure(ErrorKind.RATE_LIMITED, "slow down"), TimeoutError(), safety_class=NETWORK)
    outcome = world.dispatch(world.call())
    assert outcome.kind is CompensationKind.ESCALATED
    assert world.runs == 2


def test_when_it_cannot_be_told_whether_a_call_is_in_doubt_it_is_not_repeated(world: World) -> None:
    def locked(call: FailedCall) -> bool:
        raise StoreLocked("locked")

    dispatcher = CompensationDispatcher(in_doubt=locked)
    ask: dict[str, Any] = {"tool_id": "t.x", "call_id": "c", "args": {}, "result": failed(ErrorKind.TIMEOUT)}
    assert dispatcher.dispatch(world.ctx, **ask).kind is CompensationKind.ESCALATED


@pytest.mark.parametrize("safety_class", [READ, WRITE])
def test_an_answer_that_cannot_be_used_is_not_asked_for_again(
    world: World, safety_class: SafetyClass
) -> None:
    world.registry.register_fn("t.x", "X", lambda: {1, 2}, safety_class)
    result = world.call()
    assert result.error_code is ToolErrorCode.VALIDATION_ERROR
    outcome = world.dispatch(result)
    assert outcome.verdict.kind is ErrorKind.UNUSABLE_RESULT
    assert outcome.kind is CompensationKind.DEPRECATED


def test_a_request_that_was_accepted_before_is_never_repeated(world: World) -> None:
    world.add(
        tool_failure(ErrorKind.IDEMPOTENCY_CONFLICT, "a refund of this order exists"), safety_class=WRITE
    )
    outcome = world.dispatch(world.call())
    assert outcome.kind is CompensationKind.DEPRECATED
    assert outcome.directive["action"] == "deprecate_and_replan"
    assert outcome.verdict.message == "a refund of this order exists"
    assert world.runs == 1


STALE = tool_failure(ErrorKind.EVIDENCE_STALE, "the order has changed")
EVIDENCE = {"evidence_tool": "t.read", "evidence_args": {"order": "args.order", "fresh": True}}


def add_evidence(world: World, read: Callable[..., Any], safety_class: SafetyClass = READ) -> list[Any]:
    seen: list[Any] = []

    def reading(**args: Any) -> Any:
        seen.append(args)
        return read(**args)

    world.registry.register_fn("t.read", "R", reading, safety_class, max_retries=0)
    return seen


def test_stale_evidence_is_read_again_and_the_call_repeated_once(world: World) -> None:
    world.add(STALE, safety_class=WRITE, metadata=EVIDENCE)
    seen = add_evidence(world, lambda **args: args)
    outcome = world.dispatch(world.call({"order": "o1"}), args={"order": "o1"})
    assert (outcome.kind, outcome.performed) == (CompensationKind.EVIDENCE_REFRESHED, True)
    assert outcome.result.success
    assert seen == [{"order": "o1", "fresh": True}]
    assert world.runs == 2


def test_evidence_is_refreshed_once_and_never_twice(world: World) -> None:
    world.add(ConnectionError("reset"), STALE, STALE, metadata=EVIDENCE)
    seen = add_evidence(world, lambda **args: args)
    outcome = world.dispatch(world.call({"order": "o1"}), args={"order": "o1"})
    assert outcome.kind is CompensationKind.ESCALATED
    assert "still stale" in outcome.reason
    assert (len(seen), world.runs) == (1, 3)
    pure = CompensationDispatcher()
    ask: dict[str, Any] = {"tool_id": "t", "call_id": "c", "args": {}, "result": STALE, "attempt": 2}
    assert pure.dispatch(world.ctx, **ask).kind is CompensationKind.ESCALATED


def test_without_a_tool_that_reads_the_evidence_the_directive_goes_back(world: World) -> None:
    world.add(STALE)
    outcome = world.dispatch(world.call())
    assert (outcome.kind, outcome.performed) == (CompensationKind.EVIDENCE_REFRESHED, False)
    assert outcome.directive["action"] == "refresh_evidence"
    assert world.runs == 1


@pytest.mark.parametrize("broken", ["fails", "writes", "missing", "unmapped", "no mapping"])
def test_evidence_that_cannot_be_read_goes_to_a_person(world: World, broken: str) -> None:
    mapping: Any = {"unmapped": {"order": "args.none"}, "no mapping": "args"}.get(broken, {})
    world.add(STALE, metadata={"evidence_tool": "t.read", "evidence_args": mapping})
    if broken != "missing":
        read = (lambda: 1 / 0) if broken == "fails" else (lambda: 1)
        seen = add_evidence(world, read, WRITE if broken == "writes" else READ)
    outcome = world.dispatch(world.call())
    assert outcome.kind is CompensationKind.ESCALATED
    assert "could not be refreshed" in outcome.reason
    assert world.runs == 1
    assert broken == "missing" or seen == ([{}] if broken == "fails" else [])


def test_an_exception_of_a_callable_is_the_next_failure(world: World) -> None:
    def retry(call: FailedCall, wait_s: float) -> ToolResult:
        raise ToolError(ToolErrorCode.PERMISSION_DENIED, f"attempt {call.attempt + 1}")

    dispatcher = CompensationDispatcher(retry=retry)
    ask: dict[str, Any] = {"tool_id": "t", "call_id": "c", "args": {}, "result": TimeoutError()}
    outcome = dispatcher.dispatch(world.ctx, **ask)
    assert (outcome.kind, outcome.reason) == (CompensationKind.ESCALATED, "attempt 2")


def test_an_escalation_holds_no_secret_and_no_control_characters(world: World) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    outcome = world.dispatch(RuntimeError(f"{secret}\x1b[2J"), tool_id=f"bad\x1b[31m {secret}")
    assert outcome.kind is CompensationKind.ESCALATED
    (event,) = world.escalations()
    assert secret not in json.dumps(event.to_dict())
    assert "\x1b" not in event.subject.tool_id


class Scripted:
    """Callables over a script of failures; it counts what was done."""

    def __init__(self, script: list[ErrorKind]) -> None:
        self.script: Iterator[ErrorKind] = iter(script)
        self.retries: list[FailedCall] = []
        self.refreshes = 0

    def retry(self, call: FailedCall, wait_s: float) -> ToolResult:
        assert wait_s >= 0
        self.retries.append(call)
        kind = next(self.script, None)
        number = len(self.retries) + 1
        call_id = f"call_{number:02}"
        return ToolResult.ok("t.x", call_id=call_id) if kind is None else failed(kind, call_id=call_id)

    def refresh(self, call: FailedCall) -> bool:
        self.refreshes += 1
        return True


@given(
    script=st.lists(st.sampled_from(list(ErrorKind)), min_size=1, max_size=12),
    doubtful=st.sets(st.integers(1, 12)),
    most=st.integers(1, 10),
)
def test_no_script_of_failures_leads_to_a_repetition_that_is_not_allowed(
    script: list[ErrorKind], doubtful: set[int], most: int
) -> None:
    scripted = Scripted(script[1:])
    dispatcher = CompensationDispatcher(
        retry=scripted.retry,
        refresh=scripted.refresh,
        in_doubt=lambda call: int(call.call_id[5:]) in doubtful,
        max_attempts=most,
        clock=SteeredClock(),
        ids=CountingIds(),
    )
    outcome = dispatcher.dispatch(
        RunContext.create(),
        tool_id="t.x",
        call_id="call_01",
        args={},
        result=failed(script[0], call_id="call_01"),
    )
    assert len(scripted.retries) < most
    assert scripted.refreshes <= 1
    for call in scripted.retries:
        assert int(call.call_id[5:]) not in doubtful
        assert call.verdict.kind in (*RETRIED_KINDS, ErrorKind.EVIDENCE_STALE)
    assert sum(call.verdict.kind is ErrorKind.EVIDENCE_STALE for call in scripted.retries) <= 1
    worked = outcome.kind in (CompensationKind.RETRIED, CompensationKind.EVIDENCE_REFRESHED)
    assert worked == (outcome.result is not None and outcome.result.success)


def test_kinds_and_codes_are_total() -> None:
    assert set(CODES) == set(ErrorKind)
    assert set(CODES.values()) == set(ToolErrorCode)


def test_a_person_finds_a_failure_with_sb_recovery_and_can_leave_it(sb: CommandLine) -> None:
    with open_runtime() as runtime:
        ctx = RunContext.create(agent_name="clerk", clock=runtime.log.clock)
        runtime.registry.register_fn(
            "disk.look", "Look", raising(OSError(errno.ENOSPC, "full")), max_retries=0
        )
        result = runtime.executor.execute(ctx, "disk.look")
        outcome = runtime.compensation.dispatch(
            ctx, tool_id="disk.look", call_id=result.call_id, args={}, result=result
        )
        assert (outcome.kind, outcome.performed) == (CompensationKind.ESCALATED, True)
    (listed,) = sb("recovery", "list", "--json").json["items"]
    assert (listed["call_id"], listed["standing"], listed["agent"]) == (result.call_id, "open", "clerk")
    assert "full" in listed["why"]
    assert sb("recovery", "dismiss", listed["id"], "--reason", "made room").code == 0
    assert sb("recovery", "list", "--json").json["items"] == []
