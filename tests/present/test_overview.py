"""The overview: who is at work, and what happened last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.config import current_config
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.review.session_usage import SessionUsage, TranscriptState, save_usage
from sb.kernel.review.usage import Tokens
from sb.present.overview import Overview
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Runtime]:
    def silent() -> None:
        raise ToolError(ToolErrorCode.TIMEOUT, "no answer")

    home.mkdir()
    (home / "config.yaml").write_text("prices: {big: {input: 2}}\n")
    with open_runtime(clock=clock, ids=ids) as opened:
        add = opened.registry.register_fn
        add("notes.look", "Look", lambda path: path, SafetyClass.READ_ONLY)
        add("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        add("mail.send", "Send", silent, SafetyClass.NETWORK)
        approve_tools(opened)
        yield opened


def session(runtime: Runtime, agent: str, *calls: tuple[str, dict[str, str]]) -> str:
    log = runtime.log
    budget = RunBudget(max_tool_calls=10**6, max_latency_ms=10**9)
    where = {"host": agent, "project": "/data/shop"}
    ctx = RunContext.create(agent, metadata=where, budget=budget, clock=log.clock, ids=log.ids)
    for tool, args in calls:
        runtime.executor.execute(ctx, tool, args)
    return ctx.run_id


def test_agents_at_work_and_today_are_brought_up_to_date(runtime: Runtime, clock: SteeredClock) -> None:
    overview = Overview(current_config(), runtime.log)
    assert overview.at_work().agents == ()
    run_id = session(runtime, "codex", ("notes.look", {"path": "a.md"}))
    state = TranscriptState(models={"big": Tokens(input=500_000)})
    save_usage(current_config().home.usage, run_id, SessionUsage({"x": state}))
    session(runtime, "claude-code", ("bank.pay", {"to": "ada"}))
    found = overview.at_work()
    assert [
        (agent_line.agent, agent_line.project, agent_line.doing, agent_line.cost)
        for agent_line in found.agents
    ] == [
        ("claude-code", "shop", "bank.pay to=ada", ""),
        ("codex", "shop", "look a.md", "$1.00"),
    ]
    assert (found.seen, found.working, found.calls[-1]) == (2, 2, 2)
    assert found.today == (("2 calls", ""), ("1 asked", "warn"), ("$1.00", ""))
    clock.time += 30 * 3600
    assert overview.at_work().today == (("0 calls", ""),)
