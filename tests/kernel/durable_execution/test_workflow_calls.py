"""A tool call as a step of a workflow: it happens once, and what failed did not count as done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.errors import UsageError
from sb.kernel import (
    BlastRadius,
    ReversalClass,
    ReversalSpec,
    RunBudget,
    RunContext,
    SafetyClass,
    ToolExecutor,
    ToolPolicy,
    ToolRegistry,
    ToolResult,
    ToolReturnSchema,
    WorkflowJournal,
)
from sb.kernel.authority.signing import Label
from sb.kernel.durable_execution import CallFailed, ReplayMismatch, StepInDoubt, Workflow
from sb.kernel.recovery_loop.service import Recovery
from sb.kernel.recovery_loop.settling import Settlement, Settling
from sb.log.event_log import EventLog
from sb.store.database import open_database

WRITE = SafetyClass.LOCAL_WRITE
ADA = Label("ada")


class Crash(BaseException):
    """Ends an attempt as the death of its process would."""


class DiesAfter(ToolExecutor):
    """Its process dies once the outcome is on record, before anybody hears of it."""

    def execute(self, *args: Any, **kwargs: Any) -> ToolResult:
        super().execute(*args, **kwargs)
        raise Crash


class World:
    """A journal and an executor over one log, and what tools did."""

    def __init__(self, folder: Path, clock: SteeredClock) -> None:
        self.log = EventLog(open_database(folder / "brain.db", clock=clock), clock=clock, ids=CountingIds())
        self.journal = WorkflowJournal(self.log)
        self.registry = ToolRegistry()
        self.executor = ToolExecutor(self.registry, event_log=self.log)
        self.ctx = RunContext.create("clerk")
        self.did: list[Any] = []

    def tool(self, answer: Callable[..., Any], safety_class: SafetyClass = WRITE, **contract: Any) -> None:
        def fn(**args: Any) -> Any:
            self.did.append(args)
            return answer(**args)

        self.registry.register_fn("t.do", "Do", fn, safety_class, **contract)

    def call(self, executor: ToolExecutor | None = None, **args: Any) -> Any:
        def fn(workflow: Workflow) -> Any:
            return workflow.call(executor or self.executor, self.ctx, "t.do", args)

        return self.journal.run("w", "w-1", fn)


@pytest.fixture
def world(tmp_path: Path, clock: SteeredClock) -> World:
    return World(tmp_path, clock)


def refused(**_: Any) -> Any:
    raise RuntimeError("no paper")


def lost(**_: Any) -> Any:
    raise ConnectionResetError("gone")


def test_a_call_happens_once_under_the_workflows_own_run(world: World) -> None:
    world.tool(lambda to: {"sent": to})

    def fn(workflow: Workflow) -> Any:
        first = workflow.call(world.executor, world.ctx, "t.do", {"to": "ada"}, step="ask")
        again = workflow.call(world.executor, world.ctx, "t.do", {"to": "ada"}, step="ask")
        if len(world.did) < 3:
            world.did.append(workflow.run_id)
            raise Crash
        return [first, again, workflow.run_id]

    with pytest.raises(Crash):
        world.journal.run("w", "w-1", fn)
    run_id = world.did[2]
    assert world.journal.run("w", "w-1", fn) == [{"sent": "ada"}, {"sent": "ada"}, run_id]
    assert world.did == [{"to": "ada"}, {"to": "ada"}, run_id]  # two steps, each once
    assert {event.subject.run_id for event in world.log.events()} == {run_id}
    assert world.ctx.budget.tool_calls_used == 2


def test_a_call_that_was_made_and_not_recorded_gives_what_the_log_keeps(world: World) -> None:
    world.tool(lambda: {"mail": "ada@example.org"})
    with pytest.raises(Crash):
        world.call(DiesAfter(world.registry, event_log=world.log))
    assert world.call() == {"mail": "[redacted:email]"}
    assert len(world.did) == 1


@pytest.mark.parametrize("safety_class", [SafetyClass.READ_ONLY, WRITE])
def test_nothing_is_a_result_too(world: World, safety_class: SafetyClass) -> None:
    world.tool(lambda: None, safety_class)
    assert world.call() is None
    assert world.call() is None
    assert len(world.did) == 1


def test_a_result_that_the_log_did_not_keep_is_settled_by_hand(world: World) -> None:
    world.tool(lambda: "x" * 70_000)
    with pytest.raises(Crash):
        world.call(DiesAfter(world.registry, event_log=world.log))
    with pytest.raises(StepInDoubt, match="its result was not kept"):
        world.call()
    world.journal.settle("w-1", "t.do", "xxx")
    assert world.call() == "xxx"
    assert len(world.did) == 1


def test_a_call_that_failed_is_made_again(world: World) -> None:
    world.tool(refused)
    with pytest.raises(CallFailed, match="no paper") as raised:
        world.call()
    assert raised.value.result.error_code == "UNEXPECTED"
    assert world.journal.unfinished()[0].steps == 0
    world.registry = ToolRegistry()
    world.tool(lambda **args: "done")
    assert world.call(ToolExecutor(world.registry, event_log=world.log), mended=True) == "done"
    assert len(world.did) == 2


def test_a_call_that_policy_denies_runs_once_it_is_allowed(world: World) -> None:
    world.tool(lambda: "done")
    closed = ToolExecutor(world.registry, ToolPolicy.normal(blocked_tools={"t.do"}), world.log)
    for _ in range(2):
        with pytest.raises(CallFailed):
            world.call(closed)
    assert world.call() == "done"
    assert len(world.did) == 1


def test_a_call_that_waits_for_a_person_runs_in_the_attempt_after_the_approval(world: World) -> None:
    world.tool(lambda: "paid", SafetyClass.DESTRUCTIVE)
    with pytest.raises(CallFailed) as raised:
        world.call()
    assert world.did == []
    world.executor.approvals.approve(raised.value.result.data["approval_id"], ADA, "the bill is right")
    assert world.call() == "paid"
    assert world.call() == "paid"
    assert len(world.did) == 1


@pytest.mark.parametrize(("verdict", "times"), [(Settlement.DONE, 1), (Settlement.NOT_DONE, 2)])
def test_a_call_in_doubt_stays_in_doubt_until_it_is_settled(
    world: World, verdict: Settlement, times: int
) -> None:
    world.tool(lambda: lost() if len(world.did) == 1 else "again")
    for _ in range(2):
        with pytest.raises(StepInDoubt, match="whose outcome is unknown") as raised:
            world.call()
    (intent,) = world.executor.in_doubt()
    assert f"sb recovery settle {intent.call_id}" in raised.value.hint
    for done in (True, False):
        with pytest.raises(UsageError, match=f"is call {intent.call_id}"):
            world.journal.settle("w-1", "t.do", done=done)
    Settling(Recovery(world.executor)).settle(intent.call_id, verdict, ADA, "looked", "as ada says")
    assert world.call() == ("as ada says" if verdict is Settlement.DONE else "again")
    assert len(world.did) == times


def test_an_answer_that_cannot_be_used_is_not_asked_for_again(world: World) -> None:
    world.tool(lambda: [1], returns_schema=ToolReturnSchema(type="object"))
    for _ in range(2):
        with pytest.raises(CallFailed, match="gave no usable answer") as raised:
            world.call()
    assert "journal.settle('w-1', 't.do', result)" in raised.value.hint
    with pytest.raises(UsageError, match="the executor decides"):
        world.journal.settle("w-1", "t.do", done=False)
    world.journal.settle("w-1", "t.do", {"items": [1]})
    assert world.call() == {"items": [1]}
    assert len(world.did) == 1


def test_another_tool_or_other_arguments_are_refused(world: World) -> None:
    world.tool(lambda **args: "done")

    def fn(args: dict[str, Any], end: bool) -> Callable[[Workflow], None]:
        def run(workflow: Workflow) -> None:
            workflow.call(world.executor, world.ctx, "t.do", args)
            if not end:
                raise Crash

        return run

    with pytest.raises(Crash):
        world.journal.run("w", "w-1", fn({"a": 1}, False))
    with pytest.raises(ReplayMismatch, match="had other arguments"):
        world.journal.run("w", "w-1", fn({"a": 2}, True))
    with pytest.raises(ReplayMismatch, match=r"'t\.do' on record, not 't\.other'"):
        world.journal.run("w", "w-1", lambda w: w.call(world.executor, world.ctx, "t.other"))
    assert world.did == [{"a": 1}]


def test_an_executor_that_would_forget_is_refused(world: World) -> None:
    world.tool(lambda: "done")
    with pytest.raises(UsageError, match="keeps its log in another database"):
        world.call(ToolExecutor(world.registry))
    assert world.did == []


@pytest.mark.parametrize(("calls", "reach"), [(2, 5), (5, 2)])
def test_a_runs_limits_hold_over_all_calls_of_an_attempt(world: World, calls: int, reach: int) -> None:
    limited = ReversalSpec(
        ReversalClass.REVERSIBLE, "t.undo", blast_radius=BlastRadius(max_calls_per_run=reach)
    )
    world.tool(lambda: "done", reversal=limited)
    world.ctx = RunContext.create("clerk", budget=RunBudget(max_tool_calls=calls))
    executor = ToolExecutor(world.registry, event_log=world.log, reversibility="enforce")

    def fn(workflow: Workflow) -> None:
        for _ in range(3):
            workflow.call(executor, world.ctx, "t.do")

    with pytest.raises(CallFailed) as raised:
        world.journal.run("w", "w-1", fn)
    assert raised.value.result.error_code == "BUDGET_EXCEEDED"
    assert len(world.did) == 2


def killed_in_its_call(folder: Path, reversal: str = "None") -> None:
    """A process that runs the workflow w-1 and dies inside its one call."""
    script = (
        "import os, sys\n"
        "from sb.kernel import *\n"
        "from sb.log.event_log import EventLog\n"
        "from sb.store.database import open_database\n"
        "log = EventLog(open_database(sys.argv[1]))\n"
        "registry = ToolRegistry()\n"
        "die = lambda: os.kill(os.getpid(), 9)\n"
        f"registry.register_fn('t.do', 'Do', die, SafetyClass.LOCAL_WRITE, reversal={reversal})\n"
        "executor, ctx = ToolExecutor(registry, event_log=log), RunContext.create('clerk')\n"
        "WorkflowJournal(log).run('w', 'w-1', lambda w: w.call(executor, ctx, 't.do'))\n"
    )
    command = [sys.executable, "-c", script, str(folder / "brain.db")]
    assert subprocess.run(command, check=False).returncode == -9


def test_a_dead_process_leaves_its_call_in_doubt_without_a_restart_of_this_one(
    tmp_path: Path, world: World
) -> None:
    world.tool(lambda: "done")
    killed_in_its_call(tmp_path)
    (pending,) = world.journal.unfinished()
    assert (pending.claimed, pending.steps, pending.in_doubt) == (False, 0, "")
    with pytest.raises(StepInDoubt):
        world.call()
    assert [intent.run_id for intent in world.executor.in_doubt()] == [pending.run_id]
    assert world.did == []


def test_a_dead_processs_call_that_leaves_nothing_is_made_again(tmp_path: Path, world: World) -> None:
    world.tool(lambda: "done", reversal=ReversalSpec(ReversalClass.REVERSIBLE))
    killed_in_its_call(tmp_path, "ReversalSpec(ReversalClass.REVERSIBLE)")
    assert world.call() == "done"
