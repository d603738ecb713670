"""Runs: those of agents, and what their calls came to; recovery's dry runs stay out of the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import MICROSECONDS, CountingIds, SteeredClock
from sb.kernel import RunContext, SafetyClass
from sb.kernel.authority.signing import Label
from sb.kernel.review.activity import RunTallies, Tally
from sb.kernel.review.runs import first_events, runs_at
from sb.operator.filters import Filter
from sb.present.runs import RUN, UsedRun
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools
from tests.query_plans import query_plans


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds, tmp_path: Path) -> Iterator[Runtime]:
    (tmp_path / "work").mkdir()
    home.mkdir()
    (home / "config.yaml").write_text(f"files: {{roots: [{tmp_path / 'work'}]}}\n")
    with open_runtime(clock=clock, ids=ids) as opened:
        opened.registry.register_fn(
            "hers.only", "Hers", lambda: 1, SafetyClass.READ_ONLY, allowlisted_agents=["x"]
        )
        approve_tools(opened)
        yield opened


def write(runtime: Runtime, ctx: RunContext, name: str) -> str:
    result = runtime.executor.execute(ctx, "files.write", {"path": name, "content": "x"})
    assert result.success, result.error_message
    return result.mutation_id


def agents(runtime: Runtime, firsts: list[int]) -> list[str]:
    found = runs_at(runtime.log, firsts)
    return [found[first].agent for first in firsts]


def test_a_dry_run_of_recovery_is_hidden_until_it_reverses_something(runtime: Runtime) -> None:
    log = runtime.log
    ctx = RunContext.create("clerk", intent="tidy", clock=log.clock, ids=log.ids)
    ref = runtime.recovery.mutations.get(write(runtime, ctx, "a.txt"))
    assert runtime.recovery.plan(ref).ok
    assert agents(runtime, [*first_events(log)]) == ["recovery", "clerk"]
    assert agents(runtime, [*first_events(log, dry_runs=False)]) == ["clerk"]
    newest = log.head().seq
    assert runtime.recovery.undo(ref, Label("ada"), "wrong file").state == "reversed"
    assert agents(runtime, [*first_events(log, dry_runs=False)]) == ["recovery", "clerk"]
    assert agents(runtime, [*first_events(log, after=newest, dry_runs=False)]) == ["recovery"]
    assert [*first_events(log, after=log.head().seq, dry_runs=False)] == []
    assert [
        *first_events(log, after=newest, wanted=Filter.parse("agent:clerk").runs(0), dry_runs=False)
    ] == []


def test_what_a_runs_calls_came_to_is_counted_on(runtime: Runtime) -> None:
    log, tallies = runtime.log, RunTallies(runtime.log)
    ctx = RunContext.create("clerk", clock=log.clock, ids=log.ids)
    write(runtime, ctx, "a.txt")
    assert tallies.of(ctx.run_id) == Tally(calls=1)
    runtime.executor.execute(ctx, "hers.only", {})
    assert tallies.of(ctx.run_id) == Tally(calls=2, refused=1)
    assert tallies.of(ctx.run_id) == Tally(calls=2, refused=1)
    assert tallies.of("run_0000000000000000") == Tally()
    write(runtime, ctx, "b.txt")
    plans = query_plans(log.database, lambda: tallies.of(ctx.run_id))
    assert "SEARCH events USING INDEX events_by_run (run_id=? AND rowid>? AND rowid<?)" in plans


def test_a_run_says_whether_it_goes_on_and_what_it_came_to(runtime: Runtime, clock: SteeredClock) -> None:
    log = runtime.log
    where = {"host": "claude-code", "project": "/data/shop"}
    ctx = RunContext.create("claude-code", intent="fix it", metadata=where, clock=clock, ids=log.ids)
    write(runtime, ctx, "a.txt")
    (first,) = first_events(log)
    now = int((clock.time + 120) * MICROSECONDS)
    used = UsedRun(runs_at(log, [first])[first], None, 1.836, RunTallies(log).of(ctx.run_id))
    texts = [cell.text for cell in RUN.cells(used, now, "list")]
    assert texts == ["● claude-code shop  fix it", "1", "", "$1.84", "2m"]
    runtime.executor.finish_run(ctx)
    assert RUN.text(UsedRun(runs_at(log, [first])[first]), now, "session").startswith("○")
