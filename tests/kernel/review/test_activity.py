"""Agents' activity by time: every call once, and nothing is read twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import MICROSECONDS, CountingIds, SteeredClock
from sb.config import current_config
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.authority.signing import Label
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.review.activity import HOUR_S, QUARTER_S, Activity, RunTallies, Tally, first_since
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools
from tests.query_plans import query_plans
from tests.sql_attacker import SqlAttacker


class Work:
    """Agents whose calls go through one kernel."""

    def __init__(self, runtime: Runtime, clock: SteeredClock, ids: CountingIds) -> None:
        self.runtime, self.clock, self.ids = runtime, clock, ids

        def silent() -> None:
            raise ToolError(ToolErrorCode.TIMEOUT, "no answer")

        add = runtime.registry.register_fn
        add("notes.look", "Look", lambda: 1, SafetyClass.READ_ONLY)
        add("notes.save", "Save", lambda: 1, SafetyClass.LOCAL_WRITE)
        add("bank.pay", "Pay", lambda: 1, SafetyClass.DESTRUCTIVE)
        add("mail.send", "Send", silent, SafetyClass.NETWORK)
        add("hers.only", "Hers", lambda: 1, SafetyClass.READ_ONLY, allowlisted_agents=["nobody"])
        approve_tools(runtime)

    def run(self, agent: str) -> RunContext:
        budget = RunBudget(max_tool_calls=10**6, max_latency_ms=10**9)
        return RunContext.create(agent, intent="x", budget=budget, clock=self.clock, ids=self.ids)

    def call(self, ctx: RunContext, *tools: str) -> None:
        for tool in tools:
            self.runtime.executor.execute(ctx, tool, {})


@pytest.fixture
def work(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Work]:
    with open_runtime(clock=clock, ids=ids) as runtime:
        yield Work(runtime, clock, ids)


def test_each_call_counts_once_whatever_became_of_it(work: Work) -> None:
    clerk, codex = work.run("clerk"), work.run("codex")
    work.call(clerk, "notes.look", "notes.save", "bank.pay", "mail.send", "hers.only")
    work.call(codex, "notes.look")
    activity = Activity(work.runtime.log, HOUR_S)
    activity.update()
    assert activity.total(agent="clerk") == Tally(calls=5, refused=1, asked=1, unknown=1)
    assert activity.total(runs=[codex.run_id]) == Tally(calls=1)
    assert activity.total().calls == 6
    assert activity.agents() == {"clerk", "codex"}


def test_what_a_rule_refused_and_what_a_person_denied_are_counted_apart(work: Work) -> None:
    clerk = work.run("clerk")
    work.call(clerk, "bank.pay", "hers.only")
    approvals = work.runtime.approvals
    (waiting,) = ApprovalQueue(work.runtime.log).page()
    approvals.deny(waiting.id, Label("ada"), "no such bill")
    activity = Activity(work.runtime.log, HOUR_S)
    activity.update()
    counted = Tally(calls=2, refused=1, denied=1, asked=1)
    assert activity.total() == activity.total(agent="clerk") == counted
    assert RunTallies(work.runtime.log).of(clerk.run_id) == counted
    work.call(clerk, "bank.pay")  # what was denied is refused when it is repeated
    activity.update()
    assert (activity.total().refused, activity.total().denied) == (2, 1)


@pytest.mark.parametrize("payload", ["{", "[1]", "5", "null", None, '{"phase": "refused"}'])
def test_a_row_that_cannot_be_read_is_left_out_and_the_others_are_counted(
    work: Work, payload: str | None
) -> None:
    clerk, codex = work.run("clerk"), work.run("codex")
    work.call(clerk, "hers.only")
    work.call(codex, "hers.only", "notes.look")
    attacker = SqlAttacker(current_config().database)
    where = "run_id = ? AND kind = 'kernel.tool.policy.blocked'"
    assert attacker.run(f"UPDATE events SET payload = ? WHERE {where}", payload, clerk.run_id) == 1
    activity = Activity(work.runtime.log, HOUR_S)
    activity.update()
    assert activity.total(agent="codex") == Tally(calls=2, refused=1)
    assert activity.total(agent="clerk").refused == 0
    assert RunTallies(work.runtime.log).of(clerk.run_id).refused == 0


def test_later_calls_are_added_and_those_that_are_too_old_are_dropped(work: Work) -> None:
    activity, clerk = Activity(work.runtime.log, 2 * HOUR_S), work.run("clerk")
    work.call(clerk, "notes.look", "notes.look")
    activity.update()
    work.clock.time += HOUR_S
    work.call(clerk, "hers.only")
    activity.update()
    activity.update()
    assert [tally.calls for tally in activity.periods(3, HOUR_S)] == [0, 2, 1]
    assert [tally.refused for tally in activity.periods(3, HOUR_S)] == [0, 0, 1]
    assert activity.total(int(work.clock.time - QUARTER_S) * MICROSECONDS).calls == 1
    work.clock.time += 1.5 * HOUR_S
    activity.update()
    assert activity.total() == Tally(calls=1, refused=1)
    work.clock.time += 2 * HOUR_S
    activity.update()
    assert activity.agents() == set()


def test_only_rows_that_are_young_enough_are_read(work: Work) -> None:
    log, clerk = work.runtime.log, work.run("clerk")
    work.call(clerk, *["notes.save"] * 20)
    work.clock.time += 10 * HOUR_S
    newest = log.head().seq
    assert first_since(log, int((work.clock.time - HOUR_S) * MICROSECONDS)) == newest + 1
    work.call(clerk, "notes.look")
    assert first_since(log, int((work.clock.time - HOUR_S) * MICROSECONDS)) == newest + 1
    activity = Activity(log, HOUR_S)
    activity.update()
    assert (activity.total().calls, activity.read_to) == (1, newest + 1)


def test_what_recovery_looks_at_is_no_call_of_an_agent(work: Work) -> None:
    ref = work.runtime.log
    recovery = work.run("recovery")
    work.runtime.executor.execute(recovery, "notes.look", {})
    activity = Activity(ref, HOUR_S)
    activity.update()
    assert activity.total() == Tally()
    assert activity.agents() == set()


def test_a_refresh_reads_new_rows_by_their_numbers(work: Work) -> None:
    activity = Activity(work.runtime.log, HOUR_S)
    activity.update()
    work.call(work.run("clerk"), "notes.look")
    plans = query_plans(work.runtime.log.database, activity.update)
    assert "SEARCH events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in plans
    assert not [plan for plan in plans if plan.startswith("SCAN events")]
