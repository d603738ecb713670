"""Finding: the beginning of an id names its record, words name what they occur in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.memory import Brain
from sb.present.find import find_records
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Runtime]:
    with open_runtime(clock=clock, ids=ids) as opened:
        opened.registry.register_fn("notes.look", "Look", lambda path: path, SafetyClass.READ_ONLY)
        opened.registry.register_fn("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        approve_tools(opened)
        where = {"host": "codex", "project": "/data/shop"}
        budget = RunBudget(max_tool_calls=10**6, max_latency_ms=10**9)
        ctx = RunContext.create("codex", intent="tidy", metadata=where, budget=budget, clock=clock, ids=ids)
        opened.executor.execute(ctx, "notes.look", {"path": "retry.md"})
        opened.executor.execute(ctx, "bank.pay", {"to": "grace"})
        Brain("clerk", database=opened.log.database, clock=clock).remember("retries wait 73 seconds")
        yield opened


def search(runtime: Runtime, text: str) -> list[tuple[str, str, str]]:
    return [(one.kind, one.text, one.state.word) for one in find_records(runtime.log, text)]


def test_words_name_requests_calls_agents_and_memories(runtime: Runtime) -> None:
    assert search(runtime, "grace") == [
        ("request", "bank.pay to=grace", "waiting"),
        ("call", "bank.pay to=grace", "asked"),
    ]
    assert search(runtime, "retr") == [
        ("call", "look retry.md", "ok"),
        ("memory", "retries wait 73 seconds", "strong"),
    ]
    assert search(runtime, "73 sec") == [("memory", "retries wait 73 seconds", "strong")]
    assert ("agent", "codex shop", "") in search(runtime, "Shop")
    assert search(runtime, "  ") == []
    assert search(runtime, "(nothing") == []


def test_the_beginning_of_an_id_names_its_record(runtime: Runtime) -> None:
    kinds = {}
    for text in ("grace", "retr", "shop"):
        for one in find_records(runtime.log, text):
            kinds[one.kind] = one.reference
    (request, call, memory, run) = (kinds[one] for one in ("request", "call", "memory", "agent"))
    for reference, kind in ((request, "request"), (call, "call"), (memory, "memory"), (run, "run")):
        assert {one.kind for one in find_records(runtime.log, reference[:-1])} == {kind}
        assert [one.reference for one in find_records(runtime.log, reference)] == [reference]
    assert find_records(runtime.log, "apr_ffffff") == []
