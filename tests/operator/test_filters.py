"""Filters: what is parsed, what is refused and why, and the same answer for requests, the inbox and the log."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.errors import UsageError
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.authority.signing import Label
from sb.log.event_log import EventLog
from sb.log.search import seqs_of
from sb.operator.attention.inbox import InboxReader
from sb.operator.event_states import LOG
from sb.operator.filters import INBOX, KEYS, Filter, filter_of
from sb.runtime import Runtime, open_runtime
from sb.store.database import open_database
from tests.conftest import CommandLine, approve_tools
from tests.rows import rows

DAY_S = 86_400


@pytest.fixture
def runtime(home: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[Runtime]:
    clock.time = time.time() - 30 * DAY_S  # the command line has a clock of its own
    with open_runtime(clock=clock, ids=ids) as opened:
        add = opened.registry.register_fn
        money = {"risk_dimension": "money", "value_arg": "amount", "currency": "eur"}
        add("bank.pay", "Pay", lambda to, amount: to, SafetyClass.DESTRUCTIVE, metadata=money)
        add("disk.wipe", "Wipe", lambda path: path, SafetyClass.DESTRUCTIVE)
        approve_tools(opened)
        yield opened


def ask(runtime: Runtime, agent: str, tool: str, **args: Any) -> str:
    ctx = RunContext.create(
        agent, budget=RunBudget(max_tool_calls=99), clock=runtime.log.clock, ids=runtime.log.ids
    )
    found = runtime.executor.execute(ctx, tool, args)
    return str(found.data["approval_id"])


@pytest.fixture
def asked(runtime: Runtime, clock: SteeredClock) -> dict[str, str]:
    """Requests by name; old ones were decided, new ones wait."""
    ids = {
        name: ask(runtime, "clerk", "bank.pay", to=name, amount=amount)
        for name, amount in (("old", 10), ("two", 20))
    }
    runtime.approvals.approve(ids["old"], Label("ada"), "the bill is right")
    runtime.approvals.deny(ids["two"], Label("grace"), "no such bill")
    clock.time = time.time() - 60
    ids["rent"] = ask(runtime, "clerk", "bank.pay", to="the landlord", amount=1500)
    ids["tip"] = ask(runtime, "courier", "bank.pay", to="bob", amount=5)
    ids["wipe"] = ask(runtime, "courier", "disk.wipe", path="a[1]")
    ids["new"] = ask(runtime, "clerk", "bank.pay", to="eve", amount=70)
    runtime.approvals.approve(ids["new"], Label("ada"), "the bill is right")
    return ids


def listed(runtime: Runtime, text: str) -> set[str]:
    queue = runtime.approvals
    clause = Filter.parse(text).approvals(queue.now())
    return {item.id for item in queue.listed(queue.numbers(also=clause))}


@rows(
    "text, names",
    [
        ("", "old two rent tip wipe new"),
        ("by:ada", "old new"),
        ("by:ad", ""),
        ("by:a*", "old new"),
        ("-by:ada", "two rent tip wipe"),
        ("by:ADA since:7d", "new"),
        ("until:7d", "old two"),
        ("state:waiting", "rent tip wipe"),
        ("state:denied", "two"),
        ("state:approved since:7d", "new"),
        ("state:expired", "old"),  # nobody has used it in thirty days
        ("agent:courier", "tip wipe"),
        ("-agent:courier state:waiting", "rent"),
        ("tool:bank.*", "old two rent tip new"),
        ("amount>20", "rent new"),
        ("amount>=20 amount<100", "two new"),
        ("-amount>20", "old two tip wipe"),
        ("amount>20eur", "rent new"),
        ("amount>20usd", ""),
        ("-amount>20EUR", "old two tip wipe"),
        ('"the landlord"', "rent"),
        ("the landlord", "rent"),
        ("-landlord state:waiting", "tip wipe"),
        ("a[1]", "wipe"),
        ("tool:*[1]*", ""),
        ("it's", ""),
    ],
)
def test_requests_that_fit(runtime: Runtime, asked: dict[str, str], text: str, names: str) -> None:
    assert {name for name, known in asked.items() if known in listed(runtime, text)} == set(names.split())


@rows(
    "text, names",
    [
        ("", "rent tip wipe"),
        ("amount>20", "rent"),
        ("amount>20eur", "rent"),
        ("amount>=5.0EUR", "rent tip"),
        ("amount>20usd", ""),
        ("-amount>20", "tip wipe"),
        ("pays", "rent tip"),
        ("to=bob", "tip"),
        ("amount=1500", "rent"),
        ("to=bo amount=6", ""),
        ("agent:courier -effect:pays", "wipe"),
        ("effect:deletes", "wipe"),
        ("kind:contract", ""),
        ("kind:request tool:bank.*", "rent tip"),
        ('"the landlord"', "rent"),
        ("since:1h", "rent tip wipe"),
        ("until:1h", ""),
    ],
)
def test_what_waits_that_fits(runtime: Runtime, asked: dict[str, str], text: str, names: str) -> None:
    now = runtime.approvals.now()
    groups = InboxReader(runtime.log).waiting((), filter=Filter.parse(text).inbox(now))
    found = {entry.reference for group in groups for entry in group.entries}
    assert {name for name, known in asked.items() if known in found} == set(names.split())


@rows(
    "text, wrong",
    [
        ("byy:ada", 'did you mean "by"'),
        ("by:", "by: needs a value"),
        ("amount>", "amount> needs a value"),
        ("by>ada", "by takes a colon"),
        ("amount:7", "amount takes >"),
        ("amount>x", "is no number"),
        ("amount>20euros", "is no number"),
        ("since:soon", "neither an age nor a date"),
        ("state:aproved", 'did you mean "approved"'),
        ('by:"ada', "a quote is not closed"),
        ('by:ada"x"', "half quoted"),
        ("state:quarantind", 'did you mean "quarantined"'),
        ("https://x.example", "no key 'https'"),
        ("x" * 1001, "more than 1,000"),
    ],
)
def test_what_is_wrong_is_said(text: str, wrong: str) -> None:
    with pytest.raises(UsageError) as error:
        Filter.parse(text)
    assert wrong in error.value.message


@rows(
    "text",
    [
        "by:ada since:7d",
        '-"two words" amount>=3',
        '"by:ada" tool:x.*',
        'agent:"my agent"',
        '"-x"',
    ],
)
def test_a_filter_is_written_as_it_is_read(text: str) -> None:
    assert Filter.parse(text).text == text
    assert Filter.parse(Filter.parse(text).text) == Filter.parse(text)


def test_a_key_that_is_none_is_answered_with_those_of_the_place() -> None:
    for text, face, near in (
        ("verdict:denied", LOG, "state"),
        ("who:ada", LOG, "by"),
        ("verdict:x", INBOX, ""),
    ):
        with pytest.raises(UsageError) as error:
            Filter.parse(text, face)
        assert (f'did you mean "{near}"' in error.value.message) == bool(near)
        assert ("strength" in error.value.hint, "agent" in error.value.hint) == (False, True)


def test_each_face_says_which_key_it_does_not_know() -> None:
    for text, face in (
        ("kind:x", "approvals"),
        ("effect:x", "log"),
        ("by:ada", "inbox"),
        ("by:ada", "runs"),
        ("tool:x", "memory"),
    ):
        with pytest.raises(UsageError, match="does not apply to"):
            getattr(Filter.parse(text), face)(0)


def test_a_text_of_an_agent_cannot_leave_its_place(runtime: Runtime, asked: dict[str, str]) -> None:
    for text in ("agent:x')--", '"\' OR 1=1 --"', "by:%", "tool:_ank.pay"):
        assert listed(runtime, text) == set()


def test_words_of_a_shell_are_read_like_one_text() -> None:
    assert filter_of("", ["by:ada", "two words"], {}).text == 'by:ada "two words"'
    assert filter_of("by:ada since:7d", [], {"agent": "my agent", "amount": ">5"}).text == (
        'by:ada since:7d agent:"my agent" amount>5'
    )
    assert not filter_of("", [], dict.fromkeys(KEYS, ""))


def test_who_approved_what_last_week_is_one_line(sb: CommandLine, asked: dict[str, str]) -> None:
    def ids(*words: str) -> set[str]:
        return {item["id"] for item in sb("approvals", "list", *words, "--json").json["items"]}

    assert ids("--by", "ada", "--since", "7d", "--state", "approved") == {asked["new"]}
    assert ids("by:ada", "since:7d") == ids("--filter", "by:ada since:7d") == {asked["new"]}
    assert ids("--agent", "courier", "--amount", "<10") == {asked["tip"]}
    assert ids("effect:deletes") == {asked["wipe"]}
    assert ids("the landlord") == {asked["rent"]}
    wrong = sb("approvals", "list", "kind:request")
    assert (wrong.code, "kind: does not apply to approval requests" in wrong.err) == (2, True)


def test_the_log_takes_the_same_words(sb: CommandLine, asked: dict[str, str]) -> None:
    done = sb("log", "search", "by:ada", "since:7d", "kind:approval.*", "--json")
    assert [item["call_id"] for item in done.json["items"]] == [asked["new"]]
    assert len(sb("log", "search", "by:ada", "kind:approval.*").out.splitlines()) == 2
    newest = sb("log", "search", "agent:courier", "--limit", "1")
    assert (len(newest.out.splitlines()), "showing the newest 1" in newest.err) == (1, True)
    assert sb("log", "search", "effect:pays").code == 2
    for state, name in (("waiting", "rent"), ("denied", "two"), ("expired", "old")):
        found = sb("log", "search", f"state:{state}", "--json").json["items"]
        assert asked[name] in [item["call_id"] for item in found], state


@rows(
    "text, kinds",
    [
        ("eve", "requested approved"),  # a decision names its request, and repeats nothing of it
        ("amount>60 amount<100", "requested approved"),
        ("amount>1000", "requested"),
        ("agent:clerk amount<15 by:ada", "approved"),
    ],
)
def test_a_decision_is_found_by_the_words_and_the_amount_of_its_request(
    sb: CommandLine, asked: dict[str, str], text: str, kinds: str
) -> None:
    found = sb("log", "search", *text.split(), "kind:approval.*", "--json").json["items"]
    assert sorted(item["kind"].removeprefix("approval.") for item in found) == sorted(kinds.split())


def test_lists_and_searches_take_a_saved_filter_and_narrow_it(sb: CommandLine, asked: dict[str, str]) -> None:
    assert sb("filters", "save", "ada's week", "by:ada", "since:7d").code == 0
    listed = sb("approvals", "list", "--saved", "ada's week", "--json").json["items"]
    assert [item["id"] for item in listed] == [asked["new"]]
    found = sb("log", "search", "--saved", "ada's week", "kind:approval.*", "--json").json["items"]
    assert [item["call_id"] for item in found] == [asked["new"]]
    assert sb("approvals", "list", "--saved", "ada's week", "amount>70", "--json").json["items"] == []
    wrong = sb("log", "search", "--saved", "ada week")
    assert (wrong.code, 'did you mean "ada\'s week"' in wrong.err) == (1, True)


@rows(
    "text, names",
    [
        ("by:ada", "last first alone"),
        ("by:ADA", "last first alone"),
        ("by:ad", ""),
        ("by:a*", "last first alone quoted"),
        ("by:jo_e", "under"),
        ("by:jo%e", ""),
        ("by:o'brien", "brien"),
        ("by:é", "accent"),
        ("-by:ada", "inside under brien accent quoted none spread damaged"),
    ],
)
def test_a_decider_is_found_wherever_the_payload_names_one(tmp_path: Path, text: str, names: str) -> None:
    payloads = {
        "last": '{"reason":"x","by":"ada"}',
        "first": '{"by":"ada","reason":"x"}',
        "alone": '{"by": "Ada"}',
        "inside": '{"signed":{"x":1,"by":"ada"}}',
        "under": '{"reason":"x","by":"jo_e"}',
        "brien": '{"by":"o\'brien","x":1}',
        "accent": '{"reason":"x","by":"é"}',
        "quoted": json.dumps({"reason": "x", "by": 'a",by":"ada'}, separators=(",", ":")),
        "none": '{"reason":",by:ada"}',
        "spread": json.dumps({"reason": ',"by":"ada"}'}),
        "damaged": '{"by":"ada"',
    }
    name = tmp_path / f"{abs(hash(text))}.db"
    with contextlib.closing(open_database(name)) as database:
        log = EventLog(database)
        with database.write() as write:
            for number, payload in enumerate(payloads.values(), 1):
                write(
                    "INSERT INTO events (id, at, kind, run_id, trace_id, agent, tool_id, call_id, payload_digest, prev,"
                    " hash, salt, payload) VALUES (?, 0, 'grant.made', '', '', '', '', '', '', '', '', '', ?)",
                    (log.first_id + number, payload),
                )
        found = {list(payloads)[seq - 1] for seq in seqs_of(log, Filter.parse(text).log(0))}
    assert found == set(names.split())
