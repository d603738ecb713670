"""A goal becomes governed steps: each is made once, and what stops a run is said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sb.agent import AgenticRuntime, Critique, PlanError, PlannedStep, RunRecord, RunState, StepArtifact
from sb.agent.planning import Steps
from sb.errors import UsageError
from sb.kernel import RunBudget, RunContext, ToolExecutor, ToolRegistry, ToolSpec
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.authority.signing import Label
from sb.kernel.durable_execution import ReplayMismatch, WorkflowConflict
from sb.kernel.incident_response.kill import KillScope
from tests.agent import counter

READ, REFUND = PlannedStep("orders.read", {"order": 1002}), {"order": 1002, "cents": 4900}


@pytest.fixture
def registry(home: Path) -> ToolRegistry:
    home.mkdir(exist_ok=True)
    registry = ToolRegistry()
    counter.register(registry)
    return registry


class Listed:
    """A planner that asks for these steps, and gives what the last one gave."""

    document = None

    def __init__(self, *steps: PlannedStep) -> None:
        self.planned = steps
        self.seen: list[StepArtifact] = []

    def steps(self, goal: str, tools: Sequence[ToolSpec], *, dry_run: bool = False) -> Steps:
        for step in self.planned:
            self.seen.append((yield step))
        return self.seen[-1].output


def context(**given: Any) -> RunContext:
    return RunContext.create("clerk", "refund", **given)


def test_the_documented_dry_run_calls_no_tool(registry: ToolRegistry) -> None:
    """Kernel reference, "Integration with AgenticRuntime"."""
    goal = "read order 1002, then refund order=1002 cents=4900"
    ctx = RunContext.create(agent_name="agentic", intent=goal)
    ctx.metadata["dry_run"] = True
    runtime = AgenticRuntime(tool_registry=registry)
    record = runtime.run(goal, ctx)
    assert record.dry_run is True
    assert record.critique.passed is True
    assert [(artifact.tool, artifact.args) for artifact in record.artifacts] == [
        ("orders.read", {"order": 1002}),
        ("pay.refund", REFUND),
    ]
    assert counter.done() == []
    assert list(runtime._executor.event_log.events()) == []


def test_an_exhausted_budget_ends_the_run_before_the_call(registry: ToolRegistry) -> None:
    runtime = AgenticRuntime(registry, planner=Listed(READ, PlannedStep("pay.refund", REFUND)))
    record = runtime.run("refund", context(budget=RunBudget(max_tool_calls=1)))
    assert record.artifacts[-1].ok is False
    assert record.artifacts[-1].error == "budget exhausted"
    assert counter.done() == ["read 1002"]


def test_a_planner_is_sent_each_outcome_and_gives_the_output(registry: ToolRegistry) -> None:
    planner = Listed(READ, PlannedStep("pay.refund", REFUND, name="pay"))
    names: list[str] = []
    record = AgenticRuntime(registry, planner=planner, on_step=lambda it: names.append(it.step)).run(
        "g", context()
    )
    assert (record.state, record.output) == (RunState.DONE, {"refunded": 4900})
    assert planner.seen == list(record.artifacts)
    assert names == ["orders.read", "pay"]
    assert record.critique == Critique(passed=True)


def test_a_run_goes_on_where_it_was_stopped_and_makes_no_step_twice(registry: ToolRegistry) -> None:
    executor, ctx = ToolExecutor(registry), context()
    pay = PlannedStep("pay.refund", REFUND, ask="Refund Grace?")
    runtime = AgenticRuntime(executor=executor, planner=Listed(READ, pay))
    record = runtime.run("refund", ctx)
    assert (record.state, counter.done()) == (RunState.WAITS, ["read 1002"])
    request = executor.approvals.get(record.approval_id)
    assert "Refund Grace?" in str(request.request)
    executor.approvals.approve(request.id, Label("ada"), "fine")
    again = AgenticRuntime(executor=executor, planner=Listed(READ, pay)).run(
        "refund", context(), workflow_id=ctx.run_id
    )
    assert (again.state, again.run_id) == (RunState.DONE, record.run_id)
    assert [artifact.output for artifact in again.artifacts] == [counter.ORDERS[1002], {"refunded": 4900}]
    assert counter.done() == ["read 1002", "refund 1002 4900"]
    ended = runtime.run("refund", context(), workflow_id=ctx.run_id)
    assert (ended.output, counter.done()) == ({"refunded": 4900}, ["read 1002", "refund 1002 4900"])
    started = list(executor.event_log.events(kind="kernel.run.started"))
    assert len(started) == 1


def test_steps_of_an_earlier_attempt_count_in_the_budget(registry: ToolRegistry) -> None:
    executor, ctx = ToolExecutor(registry), context()
    pay = PlannedStep("pay.refund", REFUND, ask="Refund?")
    first = AgenticRuntime(executor=executor, planner=Listed(READ, pay)).run("g", ctx)
    executor.approvals.approve(first.approval_id, Label("ada"), "fine")
    small = context(budget=RunBudget(max_tool_calls=1))
    again = AgenticRuntime(executor=executor, planner=Listed(READ, pay)).run(
        "g", small, workflow_id=ctx.run_id
    )
    assert (again.state, again.error) == (RunState.FAILED, "budget exhausted")


def test_a_yes_to_the_question_of_one_run_answers_no_other(registry: ToolRegistry) -> None:
    executor = ToolExecutor(registry)

    def run(why: str, ctx: RunContext) -> RunRecord:
        planner = Listed(PlannedStep("pay.refund", REFUND, ask=f"Refund because {why}?"))
        return AgenticRuntime(executor=executor, planner=planner).run(why, ctx)

    first, second = context(), context()
    waits, other = run("Ulm", first), run("Mars", second)
    assert waits.approval_id != other.approval_id
    executor.approvals.approve(waits.approval_id, Label("ada"), "fine")
    assert run("Mars", second).state is run("Venus", context()).state is RunState.WAITS
    executor.approvals.deny(other.approval_id, Label("ada"), "not Mars")
    assert run("Ulm", first).state is RunState.DONE
    assert counter.done() == ["refund 1002 4900"]


def test_a_denied_step_fails_and_no_later_one_is_made(registry: ToolRegistry) -> None:
    executor = ToolExecutor(registry)
    planner = Listed(PlannedStep("pay.refund", REFUND, ask="Refund?"), READ)
    runtime, ctx = AgenticRuntime(executor=executor, planner=planner), context()
    waits = runtime.run("g", ctx)
    executor.approvals.deny(waits.approval_id, Label("ada"), "not this one")
    record = runtime.run("g", context(), workflow_id=ctx.run_id)
    assert record.state is RunState.FAILED
    assert "not this one" in record.error
    assert counter.done() == []


def test_a_kill_of_the_run_stops_it_also_after_an_approval(registry: ToolRegistry) -> None:
    executor, ctx = ToolExecutor(registry), context()
    runtime = AgenticRuntime(
        executor=executor, planner=Listed(PlannedStep("pay.refund", REFUND, ask="Refund?"))
    )
    waits = runtime.run("g", ctx)
    executor.kill.throw(KillScope.RUN, waits.run_id, Label("ada"), "wrong orders")
    executor.approvals.approve(waits.approval_id, Label("ada"), "fine")
    record = runtime.run("g", context(), workflow_id=ctx.run_id)
    assert record.state is RunState.FAILED
    assert "wrong orders" in record.error
    assert counter.done() == []


def test_another_goal_or_another_plan_under_one_id_is_refused(registry: ToolRegistry) -> None:
    executor, ctx = ToolExecutor(registry), context()
    AgenticRuntime(executor=executor, planner=Listed(READ)).run("one", ctx)
    with pytest.raises(WorkflowConflict):
        AgenticRuntime(executor=executor, planner=Listed(READ)).run(
            "another", context(), workflow_id=ctx.run_id
        )
    waits = PlannedStep("pay.refund", REFUND, ask="Refund?")
    other = context()
    AgenticRuntime(executor=executor, planner=Listed(READ, waits)).run("g", other)
    with pytest.raises(ReplayMismatch):
        AgenticRuntime(executor=executor, planner=Listed(waits, READ)).run(
            "g", context(), workflow_id=other.run_id
        )


class Broken:
    """A planner that fails after its first step."""

    document = None

    def __init__(self, error: Exception) -> None:
        self.error = error

    def steps(self, goal: str, tools: Sequence[ToolSpec], *, dry_run: bool = False) -> Steps:
        yield READ
        raise self.error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PlanError("no way on", "write another"), "no way on; write another"),
        (ValueError("AKIA\nQ"), "the planner raised ValueError: AKIA Q"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_planner_that_fails_ends_the_run_and_not_the_program(
    registry: ToolRegistry, error: Exception, says: str, dry_run: bool
) -> None:
    ctx = context(metadata={"dry_run": dry_run})
    record = AgenticRuntime(registry, planner=Broken(error)).run("g", ctx)
    assert [artifact.ok for artifact in record.artifacts] == [True, False]
    assert record.error == says


class Endless:
    """A planner that never ends."""

    document = None

    def steps(self, goal: str, tools: Sequence[ToolSpec], *, dry_run: bool = False) -> Steps:
        while True:
            yield READ


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_planner_that_never_ends_is_ended_by_the_budget(registry: ToolRegistry, dry_run: bool) -> None:
    record = AgenticRuntime(registry, planner=Endless()).run("g", context(metadata={"dry_run": dry_run}))
    assert (len(record.artifacts), record.error) == (21, "budget exhausted")


def test_tools_and_arguments_that_a_planner_invents_are_refused(registry: ToolRegistry) -> None:
    unknown = AgenticRuntime(registry, planner=Listed(PlannedStep("operator.promote", {}))).run(
        "g", context()
    )
    assert unknown.state is RunState.FAILED
    assert "operator.promote" in unknown.error
    wrong = AgenticRuntime(registry, planner=Listed(PlannedStep("orders.read", {"order": "all", "x": 1})))
    assert wrong.run("g", context()).state is RunState.FAILED
    assert counter.done() == []


def test_what_a_critic_does_not_pass_is_not_handed_out(registry: ToolRegistry) -> None:
    def fails(record: RunRecord) -> Critique:
        return Critique(passed=False, notes=(f"{record.output} is too much",))

    def raises(record: RunRecord) -> Critique:
        raise RuntimeError("no verdict")

    for critic, says in ((fails, "is too much"), (raises, "the critic raised RuntimeError: no verdict")):
        record = AgenticRuntime(registry, planner=Listed(READ), critic=critic).run("g", context())
        assert (record.state, record.output, record.critique.passed) == (RunState.FAILED, None, False)
        assert says in record.error


def test_a_call_of_unknown_outcome_is_settled_by_a_person_and_not_repeated(registry: ToolRegistry) -> None:
    def lost() -> None:
        raise ConnectionResetError("the line broke")

    from sb.kernel import SafetyClass

    registry.register_fn("mail.send", "Send mail", lost, SafetyClass.NETWORK, max_retries=0)
    executor, ctx = ToolExecutor(registry), context()
    runtime = AgenticRuntime(executor=executor, planner=Listed(PlannedStep("mail.send", {})))
    for _ in range(2):
        record = runtime.run("g", ctx if not executor.in_doubt() else context(), workflow_id=ctx.run_id)
        assert record.state is RunState.UNKNOWN
        assert "sb recovery settle" in record.error
    assert len(executor.in_doubt()) == 1


def test_in_a_coroutine_it_runs_beside_others(registry: ToolRegistry) -> None:
    async def both() -> list[RunRecord]:
        runtimes = [AgenticRuntime(registry, planner=Listed(READ)) for _ in range(2)]
        return await asyncio.gather(*(runtime.arun("g", context()) for runtime in runtimes))

    assert [record.state for record in asyncio.run(both())] == [RunState.DONE] * 2


def test_without_tools_there_is_no_runtime() -> None:
    with pytest.raises(UsageError):
        AgenticRuntime()


def test_what_an_agent_may_not_use_its_planner_is_not_told_of(registry: ToolRegistry) -> None:
    registry.register_fn("vault.open", "Open vault", lambda: None, allowlisted_agents=["keeper"])
    names: list[str] = []

    class Asks(Listed):
        def steps(self, goal: str, tools: Sequence[ToolSpec], *, dry_run: bool = False) -> Steps:
            names.extend(spec.tool_id for spec in tools)
            return super().steps(goal, tools, dry_run=dry_run)

    AgenticRuntime(registry, planner=Asks(READ)).run("g", context())
    assert "vault.open" not in names
    assert "orders.read" in names


def test_requests_of_a_run_name_it(registry: ToolRegistry) -> None:
    executor = ToolExecutor(registry)
    runtime = AgenticRuntime(
        executor=executor, planner=Listed(PlannedStep("pay.refund", REFUND, ask="Refund?"))
    )
    record = runtime.run("g", context())
    [request] = ApprovalQueue(executor.event_log).page()
    assert request.run_id == record.run_id
