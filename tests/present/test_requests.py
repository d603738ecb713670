"""Requests: every face names a call alike, the gravest first on Home, and a call says what became of its request."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.approvals.queue import Order
from sb.kernel.authority.signing import Label
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.review.calls import calls_at, run_calls
from sb.operator.attention.inbox import InboxReader
from sb.present.approvals import exact_object, object_first, short_call
from sb.present.calls import call_object
from sb.present.events import call_line
from sb.runtime import Runtime, open_runtime
from tests.conftest import CommandLine, approve_tools

REMOVE = ["rm", "-rf", "exports of may"]
DAY_S = 86_400


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Runtime]:
    with open_runtime(clock=clock, ids=ids) as opened:
        register = opened.registry.register_fn
        register("box.run", "Run", lambda argv, cwd="": 0, SafetyClass.DESTRUCTIVE)
        register("box.write", "Write", lambda path, content: 0, SafetyClass.DESTRUCTIVE)
        register("bank.pay", "Pay", lambda to, note="": 0, SafetyClass.DESTRUCTIVE)
        approve_tools(opened)
        yield opened


def ask(runtime: Runtime, tool: str, **args: Any) -> tuple[RunContext, str]:
    """The run of a call that waits for a person, and the request's id."""
    ctx = RunContext.create(
        "clerk",
        budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9),
        clock=runtime.log.clock,
        ids=runtime.log.ids,
    )
    return ctx, str(runtime.executor.execute(ctx, tool, args).data["approval_id"])


@pytest.mark.parametrize(
    ("tool", "args", "row", "exact"),
    [
        ("box.run", {"argv": REMOVE}, "rm -rf 'exports of may'", "rm -rf 'exports of may' · box.run"),
        (
            "box.run",
            {"argv": ["rm", "a · b"], "cwd": "/x"},
            "rm 'a · b'",
            '["rm", "a · b"] · cwd="/x" · box.run',
        ),
        (
            "box.write",
            {"path": "a  b.txt", "content": "x"},
            "write a b.txt",
            'a  b.txt · content="x" · box.write',
        ),
        ("bank.pay", {"to": "bob"}, "bank.pay to=bob", 'bank.pay to="bob"'),
        (
            "bank.pay",
            {"to": "bob, note=rent"},
            'bank.pay to="bob, note=rent"',
            'bank.pay to="bob, note=rent"',
        ),
    ],
)
def test_a_request_is_named_as_its_call_is_and_exactly_where_it_is_signed(
    runtime: Runtime, tool: str, args: dict[str, Any], row: str, exact: str
) -> None:
    ctx, approval_id = ask(runtime, tool, **args)
    asked = runtime.approvals.disclose(runtime.approvals.get(approval_id))
    [call] = calls_at(runtime.log, run_calls(runtime.log, ctx.run_id)).values()
    [need] = InboxReader(runtime.log).now(()).items
    assert short_call(asked) == call_line(call).object == need.object == row
    assert object_first(asked, 400) == exact
    assert exact.startswith(exact_object(asked))


def test_values_of_a_call_never_pass_for_others() -> None:
    single, two = ({"to": "a, b=c"}, {"to": "a", "b": "c"})
    assert call_object("t.x", single) != call_object("t.x", two)
    assert call_object("t.x", {"to": ""}) == 't.x to=""'


def test_the_command_line_names_calls_as_the_console_does(
    sb: CommandLine, runtime: Runtime, clock: SteeredClock
) -> None:
    clock.time = time.time()  # the command line's own
    _, approval_id = ask(runtime, "box.run", argv=REMOVE)
    row = "rm -rf 'exports of may'"
    assert row in sb("approvals", "list").out
    assert sb("approvals", "show", approval_id).out.splitlines()[0] == f"call: {row}"
    assert f"waiting   {row} · clerk · {approval_id}" in sb("approvals", "watch", "--once").out
    assert row in sb("status").out
    assert row in sb("watch", "--once").out


def test_the_list_is_in_the_order_of_the_console(
    sb: CommandLine, runtime: Runtime, clock: SteeredClock
) -> None:
    clock.time = time.time()  # the command line's own
    ids = []
    for name in ("ada", "bob", "eve"):
        ids.append(ask(runtime, "bank.pay", to=name)[1])
        clock.time += 1
    queue = runtime.approvals
    queue.deny(ids[1], Label("ada"), "twice")
    states = [*ApprovalState]
    listed = [item["id"] for item in sb("approvals", "list", "--all", "--json").json["items"]]
    numbers = queue.numbers(states=states)
    assert listed == [queue.numbered([number])[number].id for number in numbers] == [ids[0], ids[2], ids[1]]
    newest = [approval.id for approval in queue.listed(queue.numbers(states=states, order=Order.NEWEST))]
    assert newest == [ids[2], ids[0], ids[1]]
    clock.time += 1
    queue.deny(ids[0], Label("ada"), "too much")
    ended = queue.listed(queue.numbers(states=[ApprovalState.DENIED], order=Order.NEWEST))
    assert [approval.id for approval in ended] == [
        ids[0],
        ids[1],
    ]  # by the decision, though the other was asked for later


def test_many_payments_do_not_hide_what_is_rare(runtime: Runtime, clock: SteeredClock) -> None:
    for number in range(60):
        ask(runtime, "bank.pay", to=f"p{number}")
    clock.time += 60
    ask(runtime, "box.run", argv=REMOVE)
    found = InboxReader(runtime.log).now((), most=50)
    shown = [need.object for need in found.items]
    assert (shown[0], shown[-1]) == ("bank.pay to=p0", "rm -rf 'exports of may'")
    assert (len(shown), len(set(found.groups.values())), found.counts["requests"]) == (50, 2, 61)


def test_a_call_says_what_became_of_its_request(runtime: Runtime, clock: SteeredClock) -> None:
    queue, lines = runtime.approvals, {}
    (approved, first), (denied, second), (expired, _), (waits, _) = (
        ask(runtime, "bank.pay", to=name) for name in ("ada", "bob", "eve", "joan")
    )
    queue.approve(first, Label("ada"), "the bill is right")
    queue.deny(second, Label("grace"), "no such bill")
    lines["approved"] = line(runtime, approved)
    lines["denied"] = line(runtime, denied)
    lines["waits"] = line(runtime, waits)
    assert runtime.executor.execute(approved, "bank.pay", {"to": "ada"}).success
    lines["used"] = line(runtime, approved)
    clock.time += 30 * DAY_S
    lines["expired"] = line(runtime, expired)
    assert lines["approved"] == lines["used"] == ("approved", "the bill is right (ada)")
    assert lines["denied"] == ("denied", "no such bill (grace)")
    assert lines["expired"] == ("expired", "not decided in time")
    assert lines["waits"][0] == "asked"


def test_a_request_made_later_is_not_the_answer_to_an_earlier_call(
    runtime: Runtime, clock: SteeredClock
) -> None:
    ctx, first = ask(runtime, "bank.pay", to="ada")
    runtime.approvals.deny(first, Label("ada"), "not yet")
    clock.time += 30 * DAY_S
    again, second = ask(runtime, "bank.pay", to="ada")
    assert second != first
    runtime.approvals.approve(second, Label("ada"), "now it is due")
    assert line(runtime, ctx) == ("denied", "not yet (ada)")
    assert line(runtime, again) == ("approved", "now it is due (ada)")


def line(runtime: Runtime, ctx: RunContext) -> tuple[str, str]:
    """The verdict on the first call of a run, and why."""
    first = run_calls(runtime.log, ctx.run_id)[-1]
    found = call_line(calls_at(runtime.log, [first])[first])
    return found.verdict.word, found.why
