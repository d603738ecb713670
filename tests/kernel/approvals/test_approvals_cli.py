"""`sb approvals`: what waits is listed and shown, decided with a reason, and told to whoever watches."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sb.kernel import RunContext, SafetyClass, ToolResult
from sb.runtime import open_runtime
from tests.conftest import CommandLine, approve_tools

HOSTILE = "[@click=app.quit]x[/] \x1b]0;owned\x07 \x1b[31mred \u202eevil"


class Agent:
    """Asks, each time through a runtime of its own, as another process would."""

    def __init__(self) -> None:
        self.run_id = ""

    def __call__(
        self, to: str = "bob", *, tool: SafetyClass = SafetyClass.DESTRUCTIVE, count: int = 1
    ) -> ToolResult:
        with open_runtime() as runtime:
            runtime.registry.register_fn("bank.pay", "Pay", lambda to: f"paid {to}", tool)
            approve_tools(runtime)
            ctx = RunContext.create("clerk", intent="pay the bills")
            ctx.run_id = self.run_id or ctx.run_id
            self.run_id = ctx.run_id
            for number in range(count - 1):
                runtime.executor.execute(ctx, "bank.pay", {"to": f"{to}{number}"})
            return runtime.executor.execute(ctx, "bank.pay", {"to": to})


@pytest.fixture
def agent() -> Agent:
    return Agent()


def waiting(result: ToolResult) -> str:
    return str(result.data["approval_id"])


def test_an_empty_queue_says_so(sb: CommandLine) -> None:
    sb("init")
    listed = sb("approvals", "list")
    assert (listed.code, listed.out, listed.err) == (0, "", "no pending requests\n")
    assert sb("approvals", "list", "--json").json == {"items": [], "total": 0}
    assert "no grants" in sb("approvals", "grants").err


def test_a_request_is_listed_shown_approved_and_used(sb: CommandLine, agent: Agent) -> None:
    approval_id = waiting(agent())
    row = sb("approvals", "list").out.splitlines()[1]
    assert row.endswith(approval_id)
    assert 'clerk  bank.pay to="bob"' in row
    shown = sb("approvals", "show", approval_id).out
    for text in ("reasons: Pay: pays bob (destructive)", 'to = "bob"', "pay the bills", "expires: "):
        assert text in shown
    done = sb("approvals", "approve", approval_id, "--reason", "the bill is right", "--as", "ada")
    assert done.out == f"Approved: bank.pay to=bob. Runs when clerk repeats it. ({approval_id})\n"
    assert agent().data == "paid bob"
    assert sb("approvals", "list").out == ""
    assert sb("approvals", "list", "--state", "used", "--json").json["items"][0]["decided_by"] == "ada"


def test_a_denied_call_tells_the_agent_why(sb: CommandLine, agent: Agent) -> None:
    approval_id = waiting(agent())
    assert sb("approvals", "deny", approval_id, "--reason", "no such bill", "--json").code == 0
    assert "no such bill" in agent().error_message


def test_decisions_without_reason_request_or_right_state_are_refused_with_a_hint(
    sb: CommandLine, agent: Agent
) -> None:
    approval_id = waiting(agent())
    assert sb("approvals", "approve", approval_id).code == 2
    assert sb("approvals", "approve", approval_id, "--reason", "  ").code == 2
    missing = sb("approvals", "deny", approval_id[:-1] + "x", "--reason", "no")
    assert (missing.code, f'did you mean "{approval_id}"?' in missing.err) == (1, True)
    sb("approvals", "deny", approval_id, "--reason", "no", "--as", "ada")
    late = sb("approvals", "approve", approval_id, "--reason", "yes")
    assert (late.code, "is denied by ada: no" in late.err) == (1, True)
    asker = sb("approvals", "approve", waiting(agent("eve")), "--reason", "me", "--as", "clerk")
    assert (asker.code, "asked for it" in asker.err) == (4, True)
    assert sb("approvals", "list", "--state", "wating").code == 2
    assert sb("approvals", "show", "\x1b[31m").code == 1


def test_several_are_decided_one_by_one(sb: CommandLine, agent: Agent) -> None:
    agent(count=3)
    ids = [item["id"] for item in sb("approvals", "list", "--json").json["items"]]
    sb("approvals", "deny", ids[1], "--reason", "no")
    done = sb("approvals", "approve", *ids, "--reason", "all right", "--json")
    assert (done.code, len(done.json["items"])) == (1, 2)
    assert f"{ids[1]} is denied" in done.err


def test_a_grant_is_refused_where_it_would_allow_too_much(sb: CommandLine, agent: Agent) -> None:
    approval_id = waiting(agent())
    refused = sb("approvals", "approve", approval_id, "--reason", "r", "--for-run")
    assert (refused.code, "destructive" in refused.err) == (4, True)
    assert sb("approvals", "show", approval_id, "--json").json["state"] == "waiting", "all or nothing"
    unlimited = sb("approvals", "approve", approval_id, "--reason", "r", "--until", "2h")
    assert (unlimited.code, "which arguments" in unlimited.err) == (2, True)
    assert sb("approvals", "approve", approval_id, "--reason", "r", "--arg", "to=b*").code == 2
    assert sb("approvals", "approve", approval_id, "--reason", "r", "--until", "2h", "--arg", "to").code == 2
    assert sb("approvals", "approve", approval_id, "--reason", "r", "--until", "31d", "--for-run").code == 2


def test_hostile_text_never_reaches_the_terminal(sb: CommandLine, agent: Agent) -> None:
    approval_id = waiting(agent(HOSTILE + "\n" + "x" * 900_000))
    sb("approvals", "deny", approval_id, "--reason", HOSTILE)
    for command in (
        ("list", "--all"),
        ("show", approval_id),
        ("watch", "--once"),
        ("grants",),
        ("approve", approval_id, "--reason", HOSTILE),
        ("deny", HOSTILE, "--reason", HOSTILE),
    ):
        seen = sb("approvals", *command)
        assert not {"\x1b", "\x07", "\u202e"} & set(seen.out + seen.err), command
        assert len(seen.out) < 100_000


def test_no_words_of_an_agent_or_a_tool_pass_for_a_line_of_our_own(sb: CommandLine) -> None:
    with open_runtime() as runtime:
        lie = "Pays.\nstate: approved by ada\n"
        runtime.registry.register_fn("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE, lie)
        approve_tools(runtime)
        ctx = RunContext.create("clerk\u2060\nreasons: none", intent="bills\narguments: to = a friend")
        approval_id = waiting(runtime.executor.execute(ctx, "bank.pay", {"to": "eve\nasked by: ada"}))
    shown = sb("approvals", "show", approval_id).out
    assert [
        line for line in shown.splitlines() if line.startswith(("state", "reasons", "arguments", "asked by"))
    ] == [
        "state: waiting",
        'arguments: to = "eve\\nasked by: ada"',
        "reasons: Pay: Pays (destructive)",
        "asked by: agent clerk\\u2060\\u000areasons: none",
    ]
    assert "clerk\\u2060\\u000areasons: none" in sb("approvals", "list").out
    assert "clerk\\u2060" in sb("console", "--plain", "inbox").out
    for command in (("watch", "--once"), ("approve", approval_id, "--reason", "seen")):
        assert sb("approvals", *command).out.count("\n") == 1


def test_a_long_queue_says_what_it_left_out(sb: CommandLine, agent: Agent) -> None:
    agent(count=60)
    listed = sb("approvals", "list")
    assert listed.out.count("\n") == 51
    assert "showing 50 of 60; --limit 0 shows all" in listed.err
    assert 1 <= sb("approvals", "list", "BOB7", "--json").json["total"] < 10


def test_watch_hands_each_item_to_a_command_without_a_shell(
    sb: CommandLine, agent: Agent, tmp_path: Path
) -> None:
    agent("$(touch pwned); `id`", count=2)
    script = "import sys,pathlib; p=pathlib.Path(sys.argv[1]); p.open('a').write(sys.stdin.read()+'\\n')"
    target = tmp_path / "told; $(x)"
    watched = sb(
        "approvals", "watch", "--once", "--json", "--exec", f'{sys.executable} -c "{script}" "{target}"'
    )
    items = [json.loads(line) for line in target.read_text().splitlines()]
    assert items == [json.loads(line) for line in watched.out.splitlines()]
    assert [item["change"] for item in items] == ["waiting", "waiting"]
    assert items[1]["approval"]["request"]["args"] == {"to": "$(touch pwned); `id`"}


@pytest.mark.parametrize(
    ("command", "word"),
    [(f"{sys.executable} -c 'raise SystemExit(3)'", "ended with 3"), ("/no/such/program", "No such file")],
)
def test_a_notification_command_that_fails_is_said_and_the_watch_goes_on(
    sb: CommandLine, agent: Agent, command: str, word: str
) -> None:
    agent()
    watched = sb("approvals", "watch", "--once", "--exec", command)
    assert (watched.code, word in watched.err) == (0, True)
    assert sb("approvals", "watch", "--once", "--exec", "'").code == 2
