"""Calls of runs: each once with how it ended, found by number, without reading what is not shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.review.calls import (
    CallFilter,
    RefusedFilter,
    all_calls,
    calls_at,
    next_refused,
    run_calls,
    run_turns,
)
from sb.operator.filters import Filter
from sb.present.events import call_line, event_lines, took_text
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools
from tests.query_plans import query_plans


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Runtime]:
    def slow() -> None:
        clock.time += 2.5
        raise ToolError(ToolErrorCode.TIMEOUT, "no answer")

    with open_runtime(clock=clock, ids=ids) as opened:
        opened.registry.register_fn("notes.look", "Look", lambda path: path, SafetyClass.READ_ONLY)
        opened.registry.register_fn("notes.save", "Save", lambda path: path, SafetyClass.LOCAL_WRITE)
        opened.registry.register_fn("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        opened.registry.register_fn("mail.send", "Send", slow, SafetyClass.NETWORK)
        approve_tools(opened)
        yield opened


def run(runtime: Runtime, *calls: tuple[str, dict[str, str]], agent: str = "clerk") -> str:
    ctx = RunContext.create(
        agent,
        intent="tidy",
        budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9),
        clock=runtime.log.clock,
        ids=runtime.log.ids,
    )
    for tool, args in calls:
        runtime.executor.execute(ctx, tool, args)
    return ctx.run_id


MIXED: tuple[tuple[str, dict[str, str]], ...] = (
    ("notes.look", {"path": "a"}),
    ("notes.save", {"path": "b"}),
    ("bank.pay", {"to": "ada"}),
    ("mail.send", {}),
)


def test_each_call_is_listed_once_newest_first_with_its_end(runtime: Runtime) -> None:
    run_id = run(runtime, *MIXED)
    firsts = run_calls(runtime.log, run_id)
    found = calls_at(runtime.log, firsts)
    lines = [call_line(found[first]) for first in firsts]
    assert [(line.verdict.word, line.object) for line in lines] == [
        ("unknown", "mail.send"),
        ("asked", "bank.pay to=ada"),
        ("ok", "save b"),
        ("ok", "look a"),
    ]
    assert lines[1].took == ""
    assert lines[2].took.endswith("ms")


def test_a_call_that_has_not_ended_is_running(runtime: Runtime) -> None:
    seen: list[str] = []

    def look() -> None:
        newest = runtime.log.head().seq
        (first,) = run_calls(runtime.log, ctx.run_id)
        seen.append(call_line(calls_at(runtime.log, [first])[first]).verdict.word)
        assert first <= newest

    runtime.registry.register_fn("notes.hold", "Hold", look, SafetyClass.LOCAL_WRITE)
    approve_tools(runtime)
    ctx = RunContext.create("clerk", clock=runtime.log.clock, ids=runtime.log.ids)
    runtime.executor.execute(ctx, "notes.hold", {})
    assert seen == ["running"]


def test_an_outcome_long_after_the_call_is_found(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sb.kernel.review.calls.SOON", 1)

    def nested() -> None:
        run(runtime, *[("notes.look", {"path": "x"})] * 5)

    runtime.registry.register_fn("notes.long", "Long", nested, SafetyClass.LOCAL_WRITE)
    approve_tools(runtime)
    run_id = run(runtime, ("notes.long", {}))
    (first,) = run_calls(runtime.log, run_id)
    assert call_line(calls_at(runtime.log, [first])[first]).verdict.word == "ok"


def test_all_calls_are_found_by_filter_without_those_of_recovery(runtime: Runtime) -> None:
    run(runtime, *MIXED)
    run(runtime, ("notes.look", {"path": "c"}), agent="recovery")
    log = runtime.log
    found = [seq for step in all_calls(log, CallFilter(), newest=log.head().seq) for seq in step.seqs]
    assert len(found) == len(MIXED)
    asked = CallFilter(Filter.parse("tool:bank.pay").log(0))
    (payment,) = [seq for step in all_calls(log, asked, newest=log.head().seq) for seq in step.seqs]
    assert calls_at(log, [payment])[payment].tool_id == "bank.pay"
    assert [*all_calls(log, CallFilter(), newest=log.head().seq, after=log.head().seq)] == []


def test_calls_of_a_run_are_found_by_its_index(runtime: Runtime) -> None:
    run_id = run(runtime, *MIXED)
    log = runtime.log
    plans = query_plans(log.database, lambda: calls_at(log, run_calls(log, run_id)))
    assert "SEARCH events USING INDEX events_by_run (run_id=? AND rowid>? AND rowid<?)" in plans
    assert not [plan for plan in plans if plan.startswith("SCAN events")]


def test_calls_are_grouped_by_the_turns_of_their_session(runtime: Runtime) -> None:
    log, external = runtime.log, runtime.executor.external
    metadata = {"host": "codex"}
    ctx = RunContext.create(
        "codex", metadata=metadata, budget=RunBudget(max_tool_calls=20), clock=log.clock, ids=log.ids
    )
    runtime.executor.execute(ctx, "notes.look", {"path": "before"})
    for paths in (("a", "b"), (), ("c",)):
        external.begin_turn(ctx)
        for path in paths:
            runtime.executor.execute(ctx, "notes.look", {"path": path})
    runtime.executor.execute(ctx, "no.such", {})
    turns = run_turns(log, ctx.run_id)
    found = calls_at(log, run_calls(log, ctx.run_id))
    assert [(turn.number, [call_line(found[call]).object for call in turn.calls]) for turn in turns] == [
        (2, ["no.such", "look c"]),
        (1, ["look b", "look a"]),
        (0, ["look before"]),
    ]
    assert len(list(log.events(kind="session.turn"))) == 2  # an empty one is not begun twice


def test_denials_are_counted_in_their_turn(runtime: Runtime) -> None:
    runtime.registry.register_fn(
        "hers.only", "Hers", lambda: 1, SafetyClass.READ_ONLY, allowlisted_agents=["x"]
    )
    approve_tools(runtime)
    run_id = run(runtime, ("hers.only", {}), ("bank.pay", {"to": "ada"}), ("notes.look", {"path": "a"}))
    (turn,) = run_turns(runtime.log, run_id)
    assert (turn.number, len(turn.calls), turn.refused) == (0, 3, 1)
    assert run_turns(runtime.log, "run_0000000000000000") == []


def test_the_nearest_event_that_was_refused_or_is_unknown_is_found_both_ways(runtime: Runtime) -> None:
    log = runtime.log
    runtime.registry.register_fn(
        "hers.only", "Hers", lambda: 1, SafetyClass.READ_ONLY, allowlisted_agents=["x"]
    )
    approve_tools(runtime)
    run(
        runtime,
        ("hers.only", {}),
        ("notes.look", {"path": "a"}),
        ("bank.pay", {"to": "ada"}),
        ("mail.send", {}),
    )
    newest = log.head().seq
    assert call_word(runtime, unknown := next_refused(log, RefusedFilter(), newest + 1)) == "unknown"
    assert call_word(runtime, refused := next_refused(log, RefusedFilter(), unknown or 0)) == "refused"
    assert next_refused(log, RefusedFilter(), refused or 0) is None
    assert next_refused(log, RefusedFilter(), 0, newer=True) == refused
    assert next_refused(log, RefusedFilter(), refused or 0, newer=True) == unknown
    assert next_refused(log, RefusedFilter(), unknown or 0, newer=True) is None
    assert next_refused(log, RefusedFilter(Filter.parse("tool:mail.send").log(0)), unknown or 0) is None


def call_word(runtime: Runtime, seq: int | None) -> str:
    assert seq is not None
    return event_lines(runtime.log, [seq])[seq].verdict.word


def test_how_long_a_call_took_is_short() -> None:
    assert {took_text(item) for item in (float("inf"), float("nan"), -1)} == {""}
    assert [took_text(item) for item in (None, 0.4, 999, 3_400, 125_000)] == [
        "",
        "0ms",
        "999ms",
        "3.4s",
        "2m",
    ]
