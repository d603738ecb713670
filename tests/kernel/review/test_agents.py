"""Agents: who is at work where, what they do now, what they cost and were denied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import MICROSECONDS, CountingIds, SteeredClock
from sb.config import Config, current_config, load_config
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.authority.signing import Label
from sb.kernel.contracts import ReversalClass, ReversalSpec
from sb.kernel.review.activity import HOUR_S, Activity, Tally
from sb.kernel.review.agents import Agents, agent_requests, is_at_work
from sb.kernel.review.session_usage import SessionUsage, TranscriptState, save_usage
from sb.kernel.review.usage import Tokens
from sb.present.agents import (
    agent_line,
    counts_text,
    may,
    never,
    requests_text,
    sessions_cost,
    spent_text,
    trust_in,
)
from sb.protocols.types import TrustAssessment
from sb.runtime import Runtime, open_runtime
from sb.stack import SQLiteStack
from tests.conftest import approve_tools
from tests.query_plans import query_plans


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Runtime]:
    with open_runtime(clock=clock, ids=ids) as opened:
        add = opened.registry.register_fn
        add("notes.look", "Look", lambda path: path, SafetyClass.READ_ONLY)
        add("hers.only", "Hers", lambda: 1, SafetyClass.READ_ONLY, allowlisted_agents=["nobody"])
        add("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        approve_tools(opened)
        yield opened


def session(runtime: Runtime, agent: str, project: str = "") -> RunContext:
    metadata = {"host": agent, "project": project} if project else {}
    budget = RunBudget(max_tool_calls=10**6, max_latency_ms=10**9)
    return RunContext.create(
        agent, metadata=metadata, budget=budget, clock=runtime.log.clock, ids=runtime.log.ids
    )


def agents_of(runtime: Runtime) -> Agents:
    activity = Activity(runtime.log, 12 * HOUR_S)
    activity.update()
    return Agents(runtime.log, activity)


def now(runtime: Runtime) -> int:
    return int(runtime.log.clock.now() * MICROSECONDS)


def test_an_agent_is_listed_once_for_each_project_the_last_seen_first(runtime: Runtime) -> None:
    execute = runtime.executor.execute
    for project in ("/data/shop", "/data/blog", "/data/shop"):
        execute(session(runtime, "claude-code", project), "notes.look", {"path": "a"})
    execute(session(runtime, "clerk"), "hers.only", {})
    execute(session(runtime, "recovery"), "notes.look", {"path": "a"})
    found = agents_of(runtime).seen()
    assert [(seen.agent, seen.host, seen.project, len(seen.runs)) for seen in found] == [
        ("clerk", "", "", 1),
        ("claude-code", "claude-code", "/data/shop", 2),
        ("claude-code", "claude-code", "/data/blog", 1),
    ]


def test_a_line_says_what_it_does_now_and_what_became_of_its_calls(
    runtime: Runtime, clock: SteeredClock
) -> None:
    ctx = session(runtime, "claude-code", "/data/shop")
    for tool, args in (("hers.only", {}), ("bank.pay", {"to": "ada"}), ("notes.look", {"path": "a.md"})):
        runtime.executor.execute(ctx, tool, args)
    clock.time += 60
    agents = agents_of(runtime)
    (seen,) = agents.seen()
    periods = agents.activity.periods(12, HOUR_S, runs=seen.runs)
    line = agent_line(seen, agents.doing(seen.run_id), periods, None, now(runtime))
    assert (line.project, line.doing, line.at_work, line.age) == ("shop", "look a.md", True, "1m")
    assert (line.calls[-1], line.refused[-1], line.cost, line.waiting) == (3, 1, "", 1)
    assert line.counts == (("3 calls", ""), ("1 refused", "danger"), ("1 asked", "warn"))


def test_an_agent_whose_run_ended_or_is_silent_is_not_at_work(runtime: Runtime, clock: SteeredClock) -> None:
    ctx = session(runtime, "claude-code", "/data/shop")
    runtime.executor.execute(ctx, "notes.look", {"path": "a"})
    (seen,) = agents_of(runtime).seen()
    open_run = agents_of(runtime).doing(ctx.run_id)
    assert is_at_work(seen, open_run, now(runtime))
    clock.time += HOUR_S
    assert not is_at_work(seen, open_run, now(runtime))
    clock.time -= HOUR_S
    runtime.executor.finish_run(ctx)
    assert agents_of(runtime).doing(ctx.run_id).ended
    assert not is_at_work(seen, agents_of(runtime).doing(ctx.run_id), now(runtime))


def test_refusals_are_counted_by_their_cause_and_requests_by_their_end(runtime: Runtime) -> None:
    ctx = session(runtime, "claude-code", "/data/shop")
    for tool, args in (("hers.only", {}), ("hers.only", {}), ("bank.pay", {"to": "ada"})):
        runtime.executor.execute(ctx, tool, args)
    assert agents_of(runtime).refusals("claude-code", [ctx.run_id], 0) == {"allowlisted_agents": 2}
    assert agents_of(runtime).refusals("claude-code", [ctx.run_id], now(runtime) + 1) == {}
    assert requests_text(agent_requests(runtime.log, "claude-code", 0)) == "asked 1 time"
    assert requests_text(agent_requests(runtime.log, "nobody", 0)) == "asked for nothing"


def test_requests_count_as_they_ended(runtime: Runtime, clock: SteeredClock) -> None:
    ctx = session(runtime, "clerk")
    for to in ("ada", "bob", "eve"):
        runtime.executor.execute(ctx, "bank.pay", {"to": to})
    clock.time += 10 * 86_400
    found = agent_requests(runtime.log, "clerk", 0)
    assert (found.asked, found.expired) == (3, 3)
    assert requests_text(found) == "asked 3 times: 3 expired"


def test_approval_that_ran_out_unused_counts_as_approved(runtime: Runtime, clock: SteeredClock) -> None:
    """Its person has decided; that nothing came of it is not their silence."""
    runtime.executor.execute(session(runtime, "clerk"), "bank.pay", {"to": "ada"})
    [request] = ApprovalQueue(runtime.log).page()
    runtime.executor.approvals.approve(request.id, Label("ada"), "fine")
    clock.time += 10 * 86_400
    assert requests_text(agent_requests(runtime.log, "clerk", 0)) == "asked 1 time: 1 approved"


def test_undoing_its_call_is_no_sign_of_an_agent(runtime: Runtime, clock: SteeredClock) -> None:
    reversal = ReversalSpec(
        ReversalClass.REVERSIBLE, compensation_capability="notes.remove", reversal_args={"path": "args.path"}
    )
    add = runtime.registry.register_fn
    add("notes.remove", "Remove", lambda path: path, SafetyClass.LOCAL_WRITE, idempotent=True)
    add("notes.write", "Write", lambda path: path, SafetyClass.LOCAL_WRITE, reversal=reversal)
    approve_tools(runtime)
    runtime.executor.execute(session(runtime, "claude-code", "/data/shop"), "notes.write", {"path": "a"})
    [before] = agents_of(runtime).seen()
    clock.time += 600
    ref = runtime.recovery.mutations.last()
    assert ref is not None
    assert runtime.recovery.undo(ref, Label("ada"), "wrong").state == "reversed"
    [after] = agents_of(runtime).seen()
    assert after.last_seen_at == before.last_seen_at


def test_cost_is_that_of_all_sessions_whose_price_is_known(runtime: Runtime, home: Path) -> None:
    (home / "config.yaml").write_text("prices: {big: {input: 2}}\nbudget: {session_cost_usd: 5}\n")
    config = current_config()
    runs = [session(runtime, "claude-code", "/data/shop").run_id for _ in range(3)]
    for run_id in runs[:2]:
        state = TranscriptState(models={"big": Tokens(input=460_000)})
        save_usage(config.home.usage, run_id, SessionUsage({"x": state}))
    assert sessions_cost(config, runs) == pytest.approx(1.84)
    assert spent_text(config, runs[0]) == "$0.92 of $5.00"
    assert (sessions_cost(config, runs[2:]), spent_text(config, runs[2])) == (None, "")


def test_what_an_agent_may_and_never_may_is_said_as_it_is_configured(home: Path) -> None:
    home.mkdir()
    (home / "config.yaml").write_text(
        "agents: {clerk: {tools: [orders.read], ceiling: read_only, permissions: [orders]}}\n"
        "policy:\n- {deny: http.*, agents: [clerk], reason: no network}\n- {deny: shell.*, agents: [codex]}\n"
    )
    config: Config = current_config()
    assert may(config, "clerk", ()) == ["orders.read, up to read_only", "permissions: orders"]
    assert never(config, "clerk") == ["http.*: no network"]
    assert may(config, "new", ()) == ["any tool that policy and tool allowlists permit"]


def test_trust_is_the_general_score_of_the_newest_assessment(runtime: Runtime, clock: SteeredClock) -> None:
    log = runtime.log
    assert trust_in(log.database, "codex") is None
    stack = SQLiteStack(
        "main",
        database=log.database,
        config=load_config(env={}, cwd=Path("/"), flags={}),
        clock=clock,
        ids=log.ids,
    )
    stack.save_trust_assessment(TrustAssessment("t1", "main", "codex", {"general": {"score": 0.74}}))
    assert trust_in(log.database, "codex") == 0.74


def test_nothing_that_did_not_happen_is_counted_in_words() -> None:
    assert counts_text(Tally()) == (("0 calls", ""),)
    assert counts_text(Tally(calls=12_408, undone=1)) == (("12 408 calls", ""), ("1 undone", "info"))


def test_the_list_is_read_by_indexes_alone(runtime: Runtime) -> None:
    runtime.executor.execute(session(runtime, "claude-code", "/data/shop"), "notes.look", {"path": "a"})
    agents = agents_of(runtime)
    plans = query_plans(runtime.log.database, agents.seen)
    assert plans
    assert not [plan for plan in plans if plan.startswith("SCAN events")]
