"""Needs of a person: true counts, the most urgent first, each with its object and its project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.kernel import RunBudget, RunContext, SafetyClass, ToolResult
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.review.needs import call_origins
from sb.operator.attention.inbox import InboxReader
from sb.present.effects import effect_word
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Runtime]:
    def silent(to: str) -> None:
        raise ToolError(ToolErrorCode.TIMEOUT, f"no answer from {to}")

    with open_runtime(clock=clock, ids=ids) as opened:
        opened.registry.register_fn("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        opened.registry.register_fn("mail.send", "Send", silent, SafetyClass.NETWORK)
        approve_tools(opened)
        yield opened


def call(runtime: Runtime, tool: str, to: str) -> ToolResult:
    ctx = RunContext.create(
        "clerk",
        metadata={"host": "claude-code", "project": "/data/ada/shop"},
        budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9),
        clock=runtime.log.clock,
        ids=runtime.log.ids,
    )
    return runtime.executor.execute(ctx, tool, {"to": to})


def test_counts_are_true_however_few_are_described(runtime: Runtime) -> None:
    for number in range(12):
        call(runtime, "bank.pay", f"p{number}")
    call(runtime, "mail.send", "bob")
    found = InboxReader(runtime.log).now((), most=5)
    assert (found.counts["requests"], found.counts["unknown"], found.total) == (12, 1, 13)
    assert len(found.items) == 6


def test_requests_of_one_effect_come_by_when_they_expire_and_say_what_they_are_about(
    runtime: Runtime, clock: SteeredClock
) -> None:
    call(runtime, "mail.send", "bob")
    call(runtime, "bank.pay", "ada")
    clock.time += 90
    call(runtime, "bank.pay", "eve")
    lines = InboxReader(runtime.log).now(()).items
    assert [(need.state.word, need.state.badge) for need in lines] == [
        ("waiting", True),
        ("waiting", True),
        ("unknown", True),
    ]
    assert [need.object for need in lines] == ["bank.pay to=ada", "bank.pay to=eve", "mail.send to=bob"]
    assert {need.who for need in lines} == {"clerk · shop"}
    assert "no answer from bob" in lines[2].why
    assert lines[0].when.endswith(" left")
    assert lines[2].when == "1m"
    clock.time += 3600
    late = InboxReader(runtime.log).now(()).items[0]
    assert (late.state.word, late.when, late.lateness) == ("overdue", "2h left", "asked 1h ago, lapses in 2h")


def test_nothing_needs_anybody_at_first(runtime: Runtime) -> None:
    assert InboxReader(runtime.log).now(()).total == 0
    assert InboxReader(runtime.log).now(()).items == ()
    assert call_origins(runtime.log, set()) == {}


def test_effects_fit_their_column() -> None:
    words = [effect_word(safety_class) for safety_class in SafetyClass]
    assert all(len(word) <= 8 for word in words)
    assert effect_word("never heard of") == "never heard of"
