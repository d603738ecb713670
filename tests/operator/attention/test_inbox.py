"""Needs of a person: one list for Home, `sb status` and `sb watch`, with true counts and a key for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.config import current_config
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.authority.signing import Label
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.operator.attention.inbox import NOUNS, InboxReader, NeedsNow
from sb.protocols.types import MemorySuggestion
from sb.runtime import Runtime, open_runtime
from sb.stack import SQLiteStack
from sb.store.driver import connect
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


def test_a_damaged_request_hides_no_other(runtime: Runtime) -> None:
    call(runtime, "bank.pay", to="ada")
    call(runtime, "bank.pay", to="bob")
    attacker = connect(runtime.log.database.path)
    for (name,) in attacker.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        attacker.execute(f'DROP TRIGGER "{name}"')
    attacker.execute("UPDATE events SET payload = '{' WHERE id = (SELECT min(event_id) FROM approvals)")
    attacker.commit()
    attacker.close()
    [group] = InboxReader(runtime.log).waiting(())
    assert len(group.entries) == 2
    assert {entry.stake.effect for entry in group.entries} == {"pays"}


def test_alike_requests_are_one_group_and_a_stop_stands_last(runtime: Runtime) -> None:
    for name in ("ada", "bob", "eve"):
        call(runtime, "bank.pay", to=name)
    call(runtime, "mail.send")
    runtime.kill.throw("agent", "scribe", Label("ada"), "writes nonsense")
    runtime.registry.register_fn("shop.label", "Print", lambda: 1, SafetyClass.NETWORK)
    reader = InboxReader(runtime.log)
    entries = runtime.baselines.entries(runtime.registry)
    groups = reader.waiting(entries, kills=runtime.kill.active())
    found = [(group.label, len(group.entries), group.entries[0].kind) for group in groups]
    assert found[0] == ("bank.pay", 3, "request")
    assert [kind for _, _, kind in found] == ["request", "unknown", "contract", "kill"]
    needs = reader.describe([entry for group in groups for entry in group.entries])
    assert len(needs) == 6
    assert all(need.key == key for key, need in needs.items())


def test_the_amount_of_a_call_is_on_record_and_ranks_it(runtime: Runtime) -> None:
    money = {"risk_dimension": "money", "value_arg": "amount", "currency_arg": "currency"}
    add = runtime.registry.register_fn
    add("shop.refund", "Refund", lambda amount, currency: 1, SafetyClass.DESTRUCTIVE, metadata=money)
    approve_tools(runtime)
    for amount in (4_900, 129_900, True):
        budget = RunBudget(max_tool_calls=10)
        ctx = RunContext.create("clerk", budget=budget, clock=runtime.log.clock, ids=runtime.log.ids)
        runtime.executor.execute(ctx, "shop.refund", {"amount": amount, "currency": "eur"})
    [group] = InboxReader(runtime.log).waiting(())
    stakes = [(entry.stake.amount, entry.stake.currency) for entry in group.entries]
    assert stakes[:2] == [(129_900, "EUR"), (4_900, "EUR")]
    assert all(stake == (None, "") for stake in stakes[2:])
