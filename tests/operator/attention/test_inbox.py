"""Needs of a person: one list for Home, `sb status` and `sb watch`, with true counts and a key for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.config import current_config
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.operator.attention.inbox import NOUNS, InboxReader, NeedsNow
from sb.protocols.types import MemorySuggestion
from sb.runtime import Runtime, open_runtime
from sb.stack import SQLiteStack
from tests.conftest import approve_tools


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Runtime]:
    def silent() -> None:
        raise ToolError(ToolErrorCode.TIMEOUT, "no answer")

    with open_runtime(clock=clock, ids=ids) as opened:
        add = opened.registry.register_fn
        add("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        add("mail.send", "Send", silent, SafetyClass.NETWORK)
        approve_tools(opened)
        yield opened


def call(runtime: Runtime, tool: str, **args: str) -> None:
    log = runtime.log
    budget = RunBudget(max_tool_calls=10**6, max_latency_ms=10**9)
    runtime.executor.execute(
        RunContext.create("codex", budget=budget, clock=log.clock, ids=log.ids), tool, args
    )


def suggest(runtime: Runtime, *names: str) -> SQLiteStack:
    stack = SQLiteStack(
        "main", database=runtime.log.database, config=current_config(), clock=runtime.log.clock
    )
    for name in names:
        stack.save_suggestion(
            MemorySuggestion(name, "main", "note", {"content": f"a note {name}"}, 0.9, ["raw:x"])
        )
    return stack


def decisions(
    runtime: Runtime, reader: InboxReader, most: int = 50, known: frozenset[str] = frozenset()
) -> NeedsNow:
    return reader.now(runtime.baselines.entries(runtime.registry), most=most, known=known)


def test_everything_that_needs_a_person_is_counted_and_listed_in_order(runtime: Runtime) -> None:
    call(runtime, "mail.send")
    call(runtime, "bank.pay", to="ada")
    runtime.registry.register_fn("shop.label", "Print", lambda: 1, SafetyClass.NETWORK)
    suggest(runtime, "s1")
    found = decisions(runtime, InboxReader(runtime.log))
    assert [(item.kind, item.state.word) for item in found.items] == [
        ("request", "waiting"),
        ("unknown", "unknown"),
        ("contract", "new"),
        ("review", "suggested"),
    ]
    counts = {"requests": 1, "unknown": 1, "contracts": 1, "reviews": 1}
    assert (found.counts, found.total) == (dict.fromkeys(NOUNS, 0) | counts, 4)
    assert found.items[2].object == "shop.label"
    assert found.keys == {item.key for item in found.items}


def test_nothing_needs_a_person_at_first(runtime: Runtime) -> None:
    assert decisions(runtime, InboxReader(runtime.log)) == NeedsNow()


def test_what_is_known_is_counted_but_not_described_again(runtime: Runtime) -> None:
    reader = InboxReader(runtime.log)
    for name in "abc":
        call(runtime, "bank.pay", to=name)
        call(runtime, "mail.send")
        runtime.registry.register_fn(f"shop.{name}", "Print", lambda: 1, SafetyClass.NETWORK)
    stack = suggest(runtime, "s1", "s2", "s3")
    first = decisions(runtime, reader, most=1)
    assert (len(first.items), first.total, len(first.keys)) == (4, 12, 12)
    assert decisions(runtime, reader, known=first.keys).items == ()
    call(runtime, "bank.pay", to="d")
    stack.dismiss_suggestion("s2", "noise")
    suggest(runtime, "s4")
    fresh = decisions(runtime, reader, known=first.keys)
    assert [item.object for item in fresh.items] == ["bank.pay to=d", "a note s4"]
    assert (fresh.total, len(first.keys - fresh.keys)) == (13, 1)
