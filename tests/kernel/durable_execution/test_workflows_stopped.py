"""A kill stops a workflow's plain functions as it stops tool calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.errors import DeniedError
from sb.kernel import KillSwitch, RunContext, SafetyClass, ToolExecutor, ToolRegistry, WorkflowJournal
from sb.kernel.authority.signing import Label
from sb.kernel.durable_execution.workflow import Workflow
from sb.log.event_log import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database

ADA = Label("ada")


class Site:
    """A journal over a file in a home, or without one."""

    def __init__(self, folder: Path, clock: SteeredClock, *, home: bool) -> None:
        anchor = Anchor(folder / "anchors.jsonl") if home else None
        self.log = EventLog(open_database(folder / "brain.db", clock=clock), anchor=anchor, clock=clock)
        self.kill = KillSwitch(self.log)
        self.kill.adopt()
        self.journal = WorkflowJournal(self.log, kill_switch=self.kill)
        registry = ToolRegistry()
        registry.register_fn("t.look", "Look", lambda: "seen", SafetyClass.READ_ONLY)
        self.executor = ToolExecutor(registry, event_log=self.log, kill_switch=self.kill)
        self.did: list[str] = []

    def order(self, workflow: Workflow) -> str:
        workflow.step("charge", self.did.append, "charged")
        return str(workflow.step("send", self.did.append, "sent"))


@pytest.fixture(params=[True, False], ids=["in a home", "without one"])
def site(tmp_path: Path, clock: SteeredClock, request: pytest.FixtureRequest) -> Site:
    return Site(tmp_path, clock, home=request.param)


@pytest.mark.parametrize("name", ["agent:clerk", "global", "class:network"])
def test_no_plain_function_runs_while_it_is_stopped(
    site: Site, tmp_path: Path, clock: SteeredClock, name: str
) -> None:
    def stopped_after_the_first(workflow: Workflow) -> None:
        workflow.step("charge", site.did.append, "charged")
        other = Site(tmp_path, clock, home=site.log.anchor is not None)  # as another process would
        other.kill.throw(name, "", ADA, "stop")
        workflow.step("send", site.did.append, "sent")

    with pytest.raises(DeniedError, match=r"'send'.*was not run.*was killed by ada: stop"):
        site.journal.run("order", "order-1", stopped_after_the_first, agent="clerk")
    assert site.did == ["charged"]
    with pytest.raises(DeniedError):
        site.journal.run("order", "order-1", site.order, agent="clerk")
    site.kill.lift(name, "", ADA, "go on")
    site.journal.run("order", "order-1", site.order, agent="clerk")
    assert site.did == ["charged", "sent"]


def test_the_agent_is_known_from_the_run_around_it_and_from_the_calls_before(site: Site) -> None:
    site.kill.throw("agent", "clerk", ADA, "stop")
    ctx = RunContext.create("clerk")
    with pytest.raises(DeniedError), site.executor.run(ctx):
        site.journal.run("order", "order-1", site.order)

    def calls_first(workflow: Workflow) -> None:
        site.kill.lift("agent", "clerk", ADA, "for a moment")
        workflow.call(site.executor, ctx, "t.look")
        site.kill.throw("agent", "clerk", ADA, "again")
        site.order(workflow)

    with pytest.raises(DeniedError):
        site.journal.run("order", "order-2", calls_first)
    assert site.did == []
    site.journal.run("order", "order-3", site.order, agent="courier")
    assert site.did == ["charged", "sent"]


def test_a_run_that_is_killed_stops_its_workflow(site: Site) -> None:
    def killed(workflow: Workflow) -> None:
        site.kill.throw("run", workflow.run_id, ADA, "it loops")
        site.order(workflow)

    with pytest.raises(DeniedError, match="it loops"):
        site.journal.run("order", "order-1", killed)
    assert site.did == []


def test_what_is_done_is_given_back_although_its_agent_is_killed(site: Site) -> None:
    assert site.journal.run("order", "order-1", lambda workflow: workflow.step("one", str, 1)) == "1"
    site.kill.throw("global", "", ADA, "stop")
    assert site.journal.run("order", "order-1", lambda workflow: "never") == "1"


def test_a_step_is_not_run_when_it_cannot_be_told_whether_it_is_stopped(
    tmp_path: Path, clock: SteeredClock
) -> None:
    site = Site(tmp_path, clock, home=True)
    with (tmp_path / "statements.jsonl").open("a") as out:
        out.write("nonsense\n")
    with pytest.raises(DeniedError, match="cannot be told"):
        site.journal.run("order", "order-1", site.order)
    assert site.did == []
