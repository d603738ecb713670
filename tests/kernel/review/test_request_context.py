"""Beside a request: what the agent did before, what became of its requests, who decided and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import MICROSECONDS, CountingIds, SteeredClock
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.authority.signing import Label
from sb.kernel.calls.approval import Approval
from sb.kernel.review.request_context import request_context
from sb.present.approvals import decision_lines
from sb.present.events import call_line
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools
from tests.query_plans import query_plans


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Runtime]:
    with open_runtime(clock=clock, ids=ids) as opened:
        opened.registry.register_fn("notes.look", "Look", lambda path: path, SafetyClass.READ_ONLY)
        opened.registry.register_fn("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        approve_tools(opened)
        yield opened


def asked(runtime: Runtime, looks: int) -> Approval:
    """A request after some calls, with another call after it."""
    metadata = {"host": "codex", "project": "/data/shop"}
    budget = RunBudget(max_tool_calls=10**6, max_latency_ms=10**9)
    log = runtime.log
    ctx = RunContext.create("codex", metadata=metadata, budget=budget, clock=log.clock, ids=log.ids)
    for number in range(looks):
        runtime.executor.execute(ctx, "notes.look", {"path": f"{number}.md"})
    result = runtime.executor.execute(ctx, "bank.pay", {"to": f"p{looks}"})
    runtime.executor.execute(ctx, "notes.look", {"path": "later.md"})
    return ApprovalQueue(runtime.log).get(result.data["approval_id"])


def test_the_calls_before_it_are_those_of_its_run_the_newest_first(runtime: Runtime) -> None:
    asked(runtime, 1)
    found = request_context(runtime.log, asked(runtime, 7))
    assert [call_line(record).object for record in found.before] == [
        f"look {item}.md" for item in (6, 5, 4, 3, 2)
    ]
    assert (found.origin.host, found.origin.project_name) == ("codex", "shop")
    assert found.history.asked == 2
    assert request_context(runtime.log, asked(runtime, 0)).before == ()


def test_a_decision_says_who_when_and_why(runtime: Runtime, clock: SteeredClock) -> None:
    approval = asked(runtime, 0)
    assert request_context(runtime.log, approval).decisions == ()
    runtime.executor.approvals.deny(approval.id, Label("ada"), "wrong account")
    clock.time += 240
    found = request_context(runtime.log, approval)
    assert found.history.denied == 1
    lines = decision_lines(approval, found.decisions, int(clock.time * MICROSECONDS))
    assert lines[0] == "ada denied it 4m ago: wrong account"


def test_only_the_agents_last_thirty_days_count(runtime: Runtime, clock: SteeredClock) -> None:
    asked(runtime, 0)
    clock.time += 31 * 86_400
    assert request_context(runtime.log, asked(runtime, 1)).history.asked == 1


def test_a_decision_that_was_changed_in_the_database_is_not_told_as_one(runtime: Runtime) -> None:
    approval = asked(runtime, 0)
    runtime.executor.approvals.deny(approval.id, Label("ada"), "no")
    with runtime.log.database.write() as execute:
        execute("DROP TRIGGER events_are_final")
        execute("UPDATE events SET payload = replace(payload, 'ada', 'eve') WHERE kind = 'approval.denied'")
    found = request_context(runtime.log, approval)
    assert found.decisions == ()
    assert "was changed after it was written" in found.problem


def test_it_is_read_by_indexes_alone(runtime: Runtime) -> None:
    approval = asked(runtime, 3)
    plans = query_plans(runtime.log.database, lambda: request_context(runtime.log, approval))
    assert not [plan for plan in plans if plan.startswith("SCAN events")]
