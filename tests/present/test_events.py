"""Rows of the log: a verdict word first, then the object, whatever event it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.kernel import RunContext, SafetyClass
from sb.kernel.authority.signing import Label
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.log.event import NOBODY, Event, Subject, payload_of
from sb.log.kinds import namespaces
from sb.present.calls import call_object
from sb.present.events import event_line, event_lines, verdict
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools
from tests.rows import rows


def tools(runtime: Runtime) -> None:
    def send(to: str) -> None:
        raise ToolError(ToolErrorCode.TIMEOUT, f"no answer from {to}")

    def fail() -> None:
        raise ToolError(ToolErrorCode.NOT_FOUND, "nothing there")

    runtime.registry.register_fn("notes.look", "Look", lambda path: path, SafetyClass.READ_ONLY)
    runtime.registry.register_fn("notes.save", "Save", lambda path: path, SafetyClass.LOCAL_WRITE)
    runtime.registry.register_fn("bank.pay", "Pay", lambda to, amount: to, SafetyClass.DESTRUCTIVE)
    runtime.registry.register_fn("mail.send", "Send", send, SafetyClass.NETWORK)
    runtime.registry.register_fn("notes.fail", "Fail", fail, SafetyClass.READ_ONLY)
    approve_tools(runtime)


@pytest.fixture
def lines(home: Path, clock: SteeredClock, ids: CountingIds) -> list[tuple[str, str, str]]:
    """The list's lines of a run: verdict, tone and object of each event, oldest first."""
    with open_runtime(clock=clock, ids=ids) as runtime:
        tools(runtime)
        first = runtime.log.head().seq
        ctx = RunContext.create("clerk", intent="tidy up", clock=clock, ids=ids)
        for tool_id, args in (
            ("notes.look", {"path": "a.md"}),
            ("notes.save", {"path": "b.md"}),
            ("bank.pay", {"to": "ada", "amount": 5}),
            ("mail.send", {"to": "bob"}),
            ("notes.fail", {}),
            ("no.such", {"x": 1}),
        ):
            runtime.executor.execute(ctx, tool_id, args)
        runtime.executor.finish_run(ctx)
        found = event_lines(runtime.log, range(first + 1, runtime.log.head().seq + 1))
        return [(item.verdict.word, item.verdict.tone, item.object) for _, item in sorted(found.items())]


def test_each_event_has_one_word_and_its_object(lines: list[tuple[str, str, str]]) -> None:
    assert lines[0] == ("started", "soft", "tidy up")
    assert ("ok", "soft", "look a.md") in lines
    assert lines[-1][0] == "ended"
    assert [word for word, _, about in lines if about == "bank.pay amount=5, to=ada"] == ["request", "asked"]
    assert ("failed", "danger", "notes.fail") in lines
    assert (
        "failed",
        "danger",
        "no.such",
    ) in lines  # of a tool that nobody knows, the names of arguments are on record


def test_an_outcome_names_the_object_that_its_announcement_has(lines: list[tuple[str, str, str]]) -> None:
    assert [word for word, _, about in lines if about == "save b.md"] == ["started", "ok"]


def test_a_call_without_an_answer_is_unknown_and_stands_out(lines: list[tuple[str, str, str]]) -> None:
    assert ("unknown", "danger", "mail.send to=bob") in lines


def test_what_operators_did_is_told_by_its_object(home: Path, clock: SteeredClock, ids: CountingIds) -> None:
    with open_runtime(clock=clock, ids=ids) as runtime:
        tools(runtime)
        runtime.kill.throw("agent", "clerk", Label("ada"), "runs wild")
        lines = event_lines(runtime.log, range(1, runtime.log.head().seq + 1))
        found = [(line.verdict.word, line.object, line.agent, line.why) for _, line in sorted(lines.items())]
    assert ("stopped", "agent clerk", "ada", "runs wild") in found
    assert any(word == "approved" and about.startswith("contracts of bank.pay") for word, about, *_ in found)


ODD: tuple[object, ...] = (
    [],
    {},
    [{}],
    None,
    7,
    -1.5,
    True,
    "x" * 5_000,
    "\x1b[31m",
    {"statement": []},
    {"args": {"input": 3}},
)


@rows("value", ODD)
def test_an_event_that_was_edited_to_anything_is_still_listed(value: object) -> None:
    names = (
        "args",
        "state",
        "rule",
        "code",
        "reason",
        "by",
        "signed",
        "intent",
        "reverses",
        "latency_ms",
        "budget",
        "result_bytes",
    )
    for kind in (*namespaces(), "never.heard.of"):
        for phase in ("intent", "outcome", "refused", "in_doubt", value):
            payload = {**dict.fromkeys(names, value), "phase": phase}
            about = Subject("run_1", "", "clerk", "host.write", "call_1")
            line = event_line(Event("kernel", 1, 0, kind, about, "", "", "", payload))
            assert "\x1b" not in f"{line.object}{line.why}{line.agent}"


def test_every_kind_of_event_has_a_word_of_its_own(home: Path) -> None:
    for kind in namespaces():
        event = Event("kernel", 1, 0, kind, NOBODY, "", "", "", None)
        known = kind == "kernel.tool.dispatch" or verdict(event).word != "event"
        assert known or not kind.startswith(("kernel.", "approval.", "grant.", "recovery.", "kill.")), kind
        assert len(verdict(event).word) <= 10


@rows(
    "tool_id, args, text",
    [
        ("host.shell.read", {"command": "git  push\n origin", "cwd": "/x"}, r"git push\n origin"),
        ("shell.run", {"argv": ["rm", "-rf", "two words"]}, "rm -rf 'two words'"),
        ("host.read", {"tool": "Read", "input": {"file_path": "/a/b.py"}}, "read /a/b.py"),
        (
            "host.write",
            {"tool": "Edit", "paths": ["/a/b.py", "/a/c.py"], "input": {}},
            "edit /a/b.py and 1 more",
        ),
        (
            "host.mcp",
            {"tool": "mcp__github__create_pr", "input": {"title": "x"}},
            "mcp__github__create_pr title=x",
        ),
        ("bank.pay", None, "bank.pay"),
        ("bank.pay", {"to": "\x1b[31mada\u202e"}, "bank.pay to=\\u001b[31mada\\u202e"),
    ],
)
def test_the_object_of_a_call_is_what_it_acts_on(tool_id: str, args: object, text: str) -> None:
    assert call_object(tool_id, args) == text


@rows("body", ["{", "[1]", "5", "null", "\x00"])
def test_a_row_that_cannot_be_read_says_which_it_is(body: str) -> None:
    event = Event("kernel", 8, 0, "kernel.tool.dispatch", NOBODY, "", "", "", payload_of(body))
    line = event_line(event)
    assert (line.verdict.word, line.verdict.tone) == ("unreadable", "danger")
    assert line.object == "row 8 cannot be read: sb log verify"
