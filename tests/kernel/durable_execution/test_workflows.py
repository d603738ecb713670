"""Guarantees for authors of workflows."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import CountingIds, SteeredClock
from sb.base.values.canonical import canonical_bytes
from sb.errors import NotFoundError, StoreError, UsageError
from sb.kernel import WorkflowJournal
from sb.kernel.calls.intents import HOST
from sb.kernel.durable_execution import (
    LeaseLost,
    ReplayMismatch,
    StepInDoubt,
    Workflow,
    WorkflowClaimed,
    WorkflowConflict,
)
from sb.kernel.durable_execution.claims import process_start
from sb.log.event_log import EventLog
from sb.runtime import open_runtime
from sb.store import driver
from sb.store.database import Database, open_database

ELSEWHERE = "another-host:1:2/3"


class Crash(BaseException):
    """Ends an attempt as the death of its process would: nothing is recorded after it."""


class World:
    """A journal, and a list of what its steps did."""

    def __init__(self, path: Path | str, clock: SteeredClock) -> None:
        self.clock = clock
        self.log = EventLog(open_database(path, clock=clock), clock=clock, ids=CountingIds())
        self.journal = WorkflowJournal(self.log)
        self.did: list[Any] = []

    def do(self, what: Any) -> Any:
        self.did.append(what)
        return {"did": what}

    def fail(self, error: BaseException) -> Any:
        self.did.append(type(error).__name__)
        raise error

    def run(self, fn: Callable[..., Any], args: dict[str, Any] | None = None) -> Any:
        return self.journal.run("w", "w-1", fn, args)

    def owned_elsewhere(self, lease_s: float) -> None:
        """Enter an owner that cannot be seen from here."""
        with self.log.database.write() as execute:
            until = int((self.clock.now() + lease_s) * 1e6)
            execute("UPDATE workflows SET owner = ?, lease_until = ?", (ELSEWHERE, until))


@pytest.fixture
def world(tmp_path: Path, clock: SteeredClock) -> World:
    return World(tmp_path / "brain.db", clock)


def two(world: World, second: Callable[[], Any]) -> Callable[[Workflow], Any]:
    """A workflow of two steps."""

    def fn(workflow: Workflow) -> Any:
        return [workflow.step("one", world.do, 1), workflow.step("two", second)]

    return fn


def test_a_finished_workflow_gives_its_result_again_and_runs_nothing(world: World) -> None:
    fn = two(world, lambda: world.do(2))
    assert world.run(fn) == [{"did": 1}, {"did": 2}]
    assert world.run(fn) == [{"did": 1}, {"did": 2}]
    assert world.run(lambda workflow: world.do("nothing")) == [{"did": 1}, {"did": 2}]
    assert world.did == [1, 2]
    assert world.journal.unfinished() == []


def test_after_a_failure_the_steps_before_it_are_not_run_again(world: World) -> None:
    with pytest.raises(KeyError, match="lost"):
        world.run(two(world, lambda: world.fail(KeyError("lost"))))
    (pending,) = world.journal.unfinished()
    assert (pending.workflow_id, pending.steps, pending.claimed, pending.in_doubt) == ("w-1", 1, False, "")
    assert world.run(two(world, lambda: world.do(2))) == [{"did": 1}, {"did": 2}]
    assert world.did == [1, "KeyError", 2]


def test_what_failed_may_be_something_else_the_next_time(world: World) -> None:
    def wrong(workflow: Workflow) -> Any:
        return workflow.step("sned", int, "no number")

    with pytest.raises(ValueError, match="no number"):
        world.run(wrong)
    assert world.run(lambda workflow: workflow.step("send", int, "3")) == 3


@pytest.mark.parametrize("error", [TimeoutError("slow"), ConnectionResetError("gone"), Crash()])
def test_a_step_whose_effect_is_unknown_is_in_doubt_and_not_repeated(
    world: World, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        world.run(two(world, lambda: world.fail(error)))
    with pytest.raises(StepInDoubt, match="'two' of workflow 'w-1'") as raised:
        world.run(two(world, lambda: world.do(2)))
    assert "journal.settle('w-1', 'two'" in raised.value.hint
    assert world.journal.unfinished()[0].in_doubt == "two"
    assert world.did == [1, type(error).__name__]


def test_a_step_in_doubt_is_settled_as_done_with_its_result(world: World) -> None:
    with pytest.raises(Crash):
        world.run(two(world, lambda: world.fail(Crash())))
    world.journal.settle("w-1", "two", {"did": "2, says Ada"})
    assert world.run(two(world, lambda: world.do(2))) == [{"did": 1}, {"did": "2, says Ada"}]
    assert world.did == [1, "Crash"]
    (event,) = world.log.events(kind="workflow.settled")
    assert event.payload == {"workflow": "w-1", "step": "two", "done": True}


def test_a_step_in_doubt_is_settled_as_not_done_and_runs(world: World) -> None:
    with pytest.raises(Crash):
        world.run(two(world, lambda: world.fail(Crash())))
    world.journal.settle("w-1", "two", done=False)
    assert world.run(two(world, lambda: world.do(2))) == [{"did": 1}, {"did": 2}]
    with pytest.raises(NotFoundError, match="not in doubt"):
        world.journal.settle("w-1", "two")


def test_only_the_step_in_doubt_can_be_settled(world: World) -> None:
    with pytest.raises(NotFoundError, match="no workflow 'w-1'"):
        world.journal.settle("w-1", "one")
    with pytest.raises(Crash):
        world.run(two(world, lambda: world.fail(Crash())))
    with pytest.raises(NotFoundError, match="'one' of workflow 'w-1' is not in doubt"):
        world.journal.settle("w-1", "one")
    with pytest.raises(UsageError, match="has no result"):
        world.journal.settle("w-1", "two", "x", done=False)
    with pytest.raises(UsageError, match="is not a JSON value"):
        world.journal.settle("w-1", "two", object())
    assert world.journal.unfinished()[0].in_doubt == "two"


def test_a_step_declared_idempotent_is_run_again(world: World) -> None:
    def fn(second: Callable[[], Any]) -> Callable[[Workflow], Any]:
        return lambda workflow: workflow.step("index", second, idempotent=True)

    with pytest.raises(Crash):
        world.run(fn(lambda: world.fail(Crash())))
    assert world.journal.unfinished()[0].in_doubt == ""
    assert world.run(fn(lambda: world.do(1))) == {"did": 1}


def test_declaring_it_idempotent_afterwards_repeats_nothing(world: World) -> None:
    with pytest.raises(Crash):
        world.run(lambda workflow: workflow.step("pay", lambda: world.fail(Crash())))
    with pytest.raises(StepInDoubt):
        world.run(lambda workflow: workflow.step("pay", lambda: world.do(1), idempotent=True))
    assert world.did == ["Crash"]


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda w: w.step("other", int), "step 1 of workflow 'w-1' is 'one' on record, not 'other'"),
        (lambda w: w.step("one", int, 2), "step 1 of workflow 'w-1', 'one', had other arguments"),
        (lambda w: w.step("one", int, x=1), "had other arguments"),
        (lambda w: None, "ended after 0 steps and 1 are on record"),
    ],
)
def test_other_steps_than_those_on_record_are_refused(
    world: World, fn: Callable[[Workflow], Any], message: str
) -> None:
    with pytest.raises(KeyError):
        world.run(two(world, lambda: world.fail(KeyError())))
    with pytest.raises(ReplayMismatch, match=message):
        world.run(fn)
    assert world.run(two(world, lambda: world.do(2)))  # the right code still can
    assert world.did == [1, "KeyError", 2]


def test_one_id_is_one_workflow_with_one_set_of_arguments(world: World) -> None:
    with pytest.raises(KeyError):
        world.run(lambda workflow, a, b: world.fail(KeyError()), {"a": 1, "b": [1.5, "ä"]})
    with pytest.raises(WorkflowConflict, match="is 'w' on record, not 'v'"):
        world.journal.run("v", "w-1", lambda workflow: None)
    with pytest.raises(WorkflowConflict, match="other arguments"):
        world.run(lambda workflow, a: None, {"a": 1})
    assert world.run(lambda workflow, a, b: [a, b], {"b": [1.5, "ä"], "a": 1}) == [1, [1.5, "ä"]]
    with pytest.raises(WorkflowConflict, match="other arguments"):
        world.run(lambda workflow, a: None, {"a": 2})  # also once it is finished


def test_what_is_unfinished_can_be_resumed_from_what_is_listed(world: World) -> None:
    with pytest.raises(Crash):
        world.run(lambda workflow, a: world.fail(Crash()), {"a": [1, {"canary": None}]})
    (pending,) = world.journal.unfinished()
    assert pending.started_at == int(world.clock.now() * 1e6)
    assert "canary" not in repr(pending)  # arguments may be secret
    done = world.journal.run(pending.name, pending.workflow_id, lambda workflow, a: a, pending.args)
    assert done == [1, {"canary": None}]


def test_nothing_can_follow_a_step_that_failed(world: World) -> None:
    def swallow(workflow: Workflow) -> Any:
        with pytest.raises(KeyError):
            workflow.step("one", lambda: world.fail(KeyError()))
        with pytest.raises(UsageError, match="'two' cannot follow step 'one'"):
            workflow.step("two", world.do, 2)
        return "all is well"

    with pytest.raises(UsageError, match="the workflow's end cannot follow step 'one'"):
        world.run(swallow)
    assert world.did == ["KeyError"]
    assert len(world.journal.unfinished()) == 1


def test_steps_do_not_nest(world: World) -> None:
    def outer(workflow: Workflow) -> Any:
        return workflow.step("outer", lambda: workflow.step("inner", world.do, 1))

    with pytest.raises(UsageError, match="'inner' was asked for while another step is running"):
        world.run(outer)
    assert world.did == []


def test_an_attempt_that_has_ended_can_do_nothing_more(world: World) -> None:
    workflows: list[Workflow] = []
    world.run(workflows.append)
    with pytest.raises(LeaseLost):
        workflows[0].step("late", world.do, 1)
    assert world.did == []


def test_a_claim_that_cannot_be_seen_holds_until_its_lease_ends(world: World) -> None:
    with pytest.raises(KeyError):
        world.run(two(world, lambda: world.fail(KeyError())))
    world.owned_elsewhere(300)
    world.clock.sleep(299)
    with pytest.raises(WorkflowClaimed, match="process 1 on another-host"):
        world.run(two(world, lambda: world.do(2)))
    assert world.journal.unfinished()[0].claimed
    world.clock.sleep(1)
    assert not world.journal.unfinished()[0].claimed
    assert world.run(two(world, lambda: world.do(2)))


@pytest.mark.parametrize("idempotent", [False, True])
def test_who_was_taken_over_runs_no_further_step(world: World, idempotent: bool) -> None:
    def fn(workflow: Workflow) -> Any:
        workflow.step("one", world.do, 1)
        world.owned_elsewhere(300)
        return workflow.step("two", world.do, 2, idempotent=idempotent)

    with pytest.raises(LeaseLost):
        world.run(fn)
    assert world.did == [1]
    rows = world.log.database.query("SELECT owner FROM workflows")
    assert rows == [(ELSEWHERE,)]  # and the new owner keeps its claim


def test_who_was_taken_over_inside_a_step_records_nothing(world: World) -> None:
    with pytest.raises(LeaseLost):
        world.run(lambda workflow: workflow.step("one", world.owned_elsewhere, 300))
    world.clock.sleep(300)
    assert world.journal.unfinished()[0].in_doubt == "one"


def test_who_was_taken_over_does_not_repeat_a_step_that_may_be_repeated(world: World) -> None:
    def fn(workflow: Workflow, then: Callable[[], Any] = lambda: None) -> Any:
        return workflow.step("one", then, idempotent=True)

    with pytest.raises(Crash):
        world.run(lambda workflow: fn(workflow, lambda: world.fail(Crash())))

    def late(workflow: Workflow) -> Any:
        world.owned_elsewhere(300)
        return fn(workflow, lambda: world.do(1))

    with pytest.raises(LeaseLost):
        world.run(late)
    assert world.did == ["Crash"]


def test_who_was_taken_over_before_the_end_records_no_result(world: World) -> None:
    with pytest.raises(LeaseLost):
        world.run(lambda workflow: world.owned_elsewhere(300))
    world.clock.sleep(300)
    assert world.run(lambda workflow: "the new owner's") == "the new owner's"


def test_steps_renew_the_lease(world: World) -> None:
    leases = []

    def fn(workflow: Workflow) -> None:
        for number in range(5):
            world.clock.sleep(100)
            workflow.step(f"step {number}", lambda: None)
            leases.append(world.log.database.query("SELECT lease_until FROM workflows")[0][0] / 1e6)
            assert leases[-1] >= world.clock.now() + 270

    world.run(fn)
    assert leases == sorted(set(leases))


def test_a_process_of_the_same_number_that_began_later_is_not_the_owner(world: World) -> None:
    with pytest.raises(KeyError):
        world.run(lambda workflow: world.fail(KeyError()))
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    for start, claimed in ((process_start(child.pid), True), ("1", False)):
        with world.log.database.write() as execute:
            owner = f"{HOST}:{child.pid}:{start}/aa"
            execute("UPDATE workflows SET owner = ?, lease_until = 0", (owner,))
        assert world.journal.unfinished()[0].claimed is claimed
    child.communicate(b"\n")
    with world.log.database.write() as execute:  # and one of this process's own number that it does not know
        execute("UPDATE workflows SET owner = ?", (f"{HOST}:{os.getpid()}:{process_start(os.getpid())}/aa",))
    assert not world.journal.unfinished()[0].claimed


def test_when_a_process_began_is_known_without_proc_too(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    began = process_start(child.pid, tmp_path)
    assert began not in ("", "ended")
    assert process_start(child.pid, tmp_path) == began
    assert child.stdin is not None
    child.stdin.close()
    while process_start(child.pid, tmp_path) != "ended":
        time.sleep(0.01)
    child.wait()
    assert process_start(child.pid, tmp_path) == process_start(child.pid) == "ended"


def test_forgetting_a_workflow_removes_all_of_it(world: World) -> None:
    world.journal.run("w", "other", two(world, lambda: world.do(2)))
    world.run(two(world, lambda: world.do(2)))
    world.journal.forget("w-1")
    assert world.log.database.query("SELECT id FROM workflows") == [("other",)]
    assert world.log.database.query("SELECT count(*) FROM workflow_steps") == [(2,)]
    with pytest.raises(NotFoundError):
        world.journal.forget("w-1")
    assert world.run(lambda workflow: "anew") == "anew"


@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_runtime_has_a_journal_that_the_next_one_reads(home: Path, durability: str) -> None:
    home.mkdir()
    (home / "config.yaml").write_text(f"durability: {durability}\n", encoding="utf-8")
    done = []

    def fn(workflow: Workflow, end: bool = False) -> Any:
        result = workflow.step("one", lambda: done.append("one"))
        if not end:
            raise Crash
        return [result, "end"]

    with open_runtime() as runtime, pytest.raises(Crash):
        runtime.workflows.run("w", "w-1", fn)
    with open_runtime() as runtime:
        assert runtime.config.durability == durability
        assert runtime.workflows.run("w", "w-1", lambda workflow: fn(workflow, end=True)) == [None, "end"]
    assert done == ["one"]


def test_arguments_and_results_are_in_no_event(world: World) -> None:
    def fn(workflow: Workflow, word: str) -> str:
        return str(workflow.step("one", lambda given: given + "-answer", word))

    assert world.run(fn, {"word": "canary-7731"}) == "canary-7731-answer"
    assert [event for event in world.log.events() if "canary" in str(event.payload)] == []


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "\x1b[2J", "\ud800", 7, None])
def test_names_are_printable_text_of_some_length(world: World, name: Any) -> None:
    with pytest.raises(UsageError, match="the id of a workflow must be printable text"):
        world.journal.run("w", name, lambda workflow: None)
    with pytest.raises(UsageError, match="the name of a workflow"):
        world.journal.run(name, "w-1", lambda workflow: None)
    with pytest.raises(UsageError, match="the name of a step"):
        world.run(lambda workflow: workflow.step(name, world.do, 1))
    assert world.did == []


async def _coroutine() -> None: ...


@pytest.mark.parametrize("fn", [None, "name", _coroutine])
def test_what_would_not_run_when_called_is_refused(world: World, fn: Any) -> None:
    with pytest.raises(UsageError):
        world.run(fn)
    with pytest.raises(UsageError):
        world.run(lambda workflow: workflow.step("one", fn))


@pytest.mark.parametrize("value", [object(), float("nan"), {1: 2}, b"x", "\ud800", 2**60])
def test_what_is_not_json_is_refused_before_anything_runs(world: World, value: Any) -> None:
    with pytest.raises(UsageError, match="the arguments of workflow 'w-1' cannot be recorded"):
        world.run(lambda workflow, a: None, {"a": value})
    assert world.journal.unfinished() == []
    with pytest.raises(UsageError, match="the arguments of step 'one' cannot be recorded"):
        world.run(lambda workflow: workflow.step("one", world.do, value))
    assert world.did == []
    with pytest.raises(UsageError, match="are an object, not list"):
        world.run(lambda workflow: None, [1])  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [object(), "x" * 2000])
def test_a_result_that_cannot_be_kept_leaves_the_step_to_be_settled(world: World, value: Any) -> None:
    journal = WorkflowJournal(world.log, max_bytes=1000)
    with pytest.raises(
        UsageError, match="'one' of workflow 'w-1' ran, and its result cannot be recorded"
    ) as e:
        journal.run("w", "w-1", lambda workflow: workflow.step("one", lambda: value))
    assert "journal.settle('w-1', 'one', result)" in e.value.hint
    with pytest.raises(StepInDoubt):
        journal.run("w", "w-1", lambda workflow: workflow.step("one", lambda: value))
    journal.settle("w-1", "one", "x")
    assert journal.run("w", "w-1", lambda workflow: workflow.step("one", lambda: value)) == "x"


def test_arguments_and_results_have_a_limit(world: World) -> None:
    journal = WorkflowJournal(world.log, max_bytes=1000)
    with pytest.raises(UsageError, match="1009 bytes of JSON, at most 1000 are kept") as raised:
        journal.run("w", "w-1", lambda workflow, a: None, {"a": "x" * 1001})
    assert "file" in raised.value.hint
    with pytest.raises(UsageError, match="the result of workflow 'w-1' cannot be recorded"):
        journal.run("w", "w-1", lambda workflow: "x" * 1001)
    assert len(journal.unfinished()) == 1  # its steps are done; other code may end it


def test_a_lease_has_a_length(world: World) -> None:
    for lease_s in (0, -1, float("nan")):
        with pytest.raises(UsageError, match="a lease is"):
            WorkflowJournal(world.log, lease_s=lease_s)


def test_a_step_gets_copies_and_gives_plain_json(world: World) -> None:
    given = {"list": [1]}

    def grow(value: dict[str, Any]) -> Any:
        value["list"].append(2)
        return (value, 1.0, True)

    def fn(workflow: Workflow) -> Any:
        first = workflow.step("one", grow, given)
        first[0]["list"].append("mine")
        return workflow.step("two", lambda value: value, first)

    assert world.run(fn) == [{"list": [1, 2, "mine"]}, 1.0, True]
    assert given == {"list": [1]}


def test_a_database_that_cannot_be_written_runs_nothing_and_is_tried_again(
    world: World, tmp_path: Path, clock: SteeredClock
) -> None:
    def fn(workflow: Workflow) -> Any:
        world.log.database.close()
        return workflow.step("one", world.do, 1)

    with pytest.raises((StoreError, driver.Error)) as raised:
        world.run(fn)
    assert world.did == []
    assert raised.value.__notes__[0].startswith("The claim could not be released")
    again = World(tmp_path / "brain.db", clock)
    assert again.run(lambda workflow: workflow.step("one", again.do, 1)) == {"did": 1}


@pytest.mark.parametrize("power", [False, True])
def test_what_is_announced_survives_power_loss_where_that_is_asked_for(tmp_path: Path, power: bool) -> None:
    class Noting(Database):
        noted: list[bool] = []

        def write(self, *, power: bool = False) -> Any:
            self.noted.append(power)
            return super().write(power=power)

    open_database(tmp_path / "brain.db").close()
    log = EventLog(Noting(tmp_path / "brain.db"))
    seen = []

    def step() -> None:
        seen.append(Noting.noted[-1])

    WorkflowJournal(log, power=power).run("w", "w-1", lambda workflow: workflow.step("one", step))
    assert seen == [power]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
PROGRAM = st.lists(st.tuples(st.sampled_from("abc"), JSON), min_size=1, max_size=6)


@given(PROGRAM, st.data())
def test_interrupted_anywhere_a_workflow_ends_as_if_it_had_not_been(
    program: list[tuple[str, Any]], data: st.DataObject
) -> None:
    world = World(":memory:", SteeredClock())
    stop = data.draw(st.integers(0, len(program)))

    def fn(workflow: Workflow, upto: int = len(program)) -> Any:
        seen = []
        for number, (name, value) in enumerate(program):
            if number == upto:
                raise Crash
            seen.append(workflow.step(name, lambda given: world.do(given)["did"], value))
        return seen

    for upto in (stop, data.draw(st.integers(0, len(program)))):
        if upto < len(program):
            with pytest.raises(Crash):
                world.run(lambda workflow, upto=upto: fn(workflow, upto))
    result = world.run(fn)
    values = [value for _, value in program]
    assert repr(result) == repr(values)  # 1 and 1.0 too
    assert repr(world.run(fn)) == repr(values)
    assert world.did == values


@given(PROGRAM, st.integers(0, 6), PROGRAM)
def test_a_program_goes_on_only_where_it_begins_with_the_steps_on_record(
    first: list[tuple[str, Any]], kept: int, rest: list[tuple[str, Any]]
) -> None:
    world = World(":memory:", SteeredClock())
    other = first[:kept] + rest

    def fn(workflow: Workflow, program: list[tuple[str, Any]], end: bool) -> None:
        for name, value in program:
            workflow.step(name, world.do, value)
        if not end:
            raise Crash

    with pytest.raises(Crash):
        world.run(lambda workflow: fn(workflow, first, False))
    if canonical_bytes(other[: len(first)]) == canonical_bytes(first):
        world.run(lambda workflow: fn(workflow, other, True))
        assert len(world.did) == len(other)
    else:
        with pytest.raises(ReplayMismatch):
            world.run(lambda workflow: fn(workflow, other, True))
        assert len(world.did) == len(first)
