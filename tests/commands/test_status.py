"""`sb` and `sb status`: true counts, ten lines, and the next command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sb.base.fitting import cell_width
from sb.config import current_config, load_config
from sb.kernel import RunBudget, RunContext, SafetyClass
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.operator.attention.inbox import NOUNS
from sb.operator.attention.summary import Summary, summary
from sb.protocols.types import MemorySuggestion
from sb.runtime import Runtime, open_runtime
from sb.stack import SQLiteStack
from tests.conftest import CommandLine, approve_tools

SECRET = "_".join(("ghp", "a1" * 18))


@pytest.fixture
def runtime(home: Path) -> Iterator[Runtime]:
    def silent(to: str) -> None:
        raise ToolError(ToolErrorCode.TIMEOUT, f"no answer from {to}")

    with open_runtime() as opened:
        opened.registry.register_fn("bank.pay", "Pay", lambda to: to, SafetyClass.DESTRUCTIVE)
        opened.registry.register_fn("mail.send", "Send", silent, SafetyClass.NETWORK)
        approve_tools(opened)
        yield opened


def call(runtime: Runtime, tool: str, to: str, agent: str = "clerk") -> None:
    ctx = RunContext.create(
        agent,
        metadata={"host": "claude-code", "project": "/data/ada/shop"},
        budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9),
    )
    runtime.executor.execute(ctx, tool, {"to": to})


def now(home: Path) -> Summary:
    return summary(load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home.parent, flags={}))


def test_a_blank_home_names_the_next_command(sb: CommandLine, home: Path) -> None:
    done = sb("status")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == f"No database at {home}/brain.db."
    assert "sb init" in done.out.splitlines()[1]
    found = sb("status", "--json").json
    assert (found["exists"], found["total"], found["next"]) == (False, 0, "sb init")
    assert not home.exists()


def test_sb_alone_is_sb_status(sb: CommandLine, home: Path) -> None:
    assert sb().out == sb("status").out
    sb("init")
    assert sb().out == sb("status").out
    assert sb().code == 0
    other = str(home / "other.db")
    assert sb("--db", other).out.startswith(f"No database at {other}.")


def test_a_home_where_nothing_waits_says_so_and_how_to_go_on(sb: CommandLine) -> None:
    sb("init")
    lines = sb("status").out.splitlines()
    assert lines[0] == "Nothing needs you."
    assert "Enforced   contracts, undo, policy, agents, log (never verified)" in lines
    assert [line.split()[0] for line in lines[1:]] == ["Connected", "Enforced", "warn", "Next"]
    assert lines[-1] == "Next       sb operator init"


def test_counts_are_true_and_of_like_requests_the_soonest_to_expire_is_first(
    sb: CommandLine, runtime: Runtime, home: Path
) -> None:
    call(runtime, "mail.send", "bob")
    call(runtime, "bank.pay", "ada")
    for number in range(60):
        call(runtime, "bank.pay", f"p{number}")
    found = now(home)
    assert (found.counts["requests"], found.counts["unknown"], found.total) == (61, 1, 62)
    assert [item.object for item in found.items[:2]] == ["bank.pay to=ada", "bank.pay to=p0"]
    lines = [*found.lines()]
    assert lines[0] == "62 need you: 61 requests, 1 unknown outcome"
    assert "  bank.pay to=ada (and 60 alike)  " in lines[1]
    assert "  mail.send to=bob  " in lines[2]
    assert not [line for line in lines if "more: sb console" in line]
    assert lines[-1] == f"Next       sb approvals show {found.items[0].reference}"
    document = sb("status", "--json").json
    counts = dict.fromkeys(NOUNS, 0) | {"requests": 61, "unknown": 1}
    assert document["counts"] == counts
    assert document["items"][0]["command"] == found.next_step
    times = [item["expires_at"] for item in document["items"] if item["expires_at"]]
    assert times == sorted(times)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_ten_lines_fit_the_terminal_however_much_is_wrong(
    sb: CommandLine, runtime: Runtime, home: Path, width: int
) -> None:
    for number in range(9):
        call(runtime, "bank.pay", f"{number} 日本語 " + "x" * 300)
    sb("kill", "agent:scribe", "--reason", "it wrote nonsense")
    (home / "config.yaml").write_text("contract_enforcement: off\nreversibility: observe\n", encoding="utf-8")
    lines = [*now(home).lines(width)]
    assert len(lines) <= 10
    assert max(map(cell_width, lines)) <= width
    assert lines[0] == "10 need you: 9 requests, 1 kill"
    assert "and 8 alike" in lines[1] or width < 80
    assert lines[2].split()[:2] == ["stopped", "agent"]
    assert lines[-3].startswith("fail       contracts: ")
    assert lines[-2] == "           and 2 more: sb doctor"
    assert lines[-1].startswith("Next       sb approvals show apr_")


def test_the_beginning_of_an_id_on_a_terminal_names_the_request(
    sb: CommandLine, runtime: Runtime, home: Path
) -> None:
    call(runtime, "bank.pay", "ada")
    line = next(line for line in now(home).lines(80) if "bank.pay" in line)
    assert sb("approvals", "show", line.split()[-1]).code == 0


def test_the_command_beside_each_item_shows_it(sb: CommandLine, runtime: Runtime) -> None:
    call(runtime, "mail.send", "bob")
    call(runtime, "bank.pay", "ada")
    commands = [item["command"] for item in sb("status", "--json").json["items"]]
    assert [command.split()[1] for command in commands] == ["approvals", "log"]
    for command in commands:
        assert sb(*command.split()[1:]).code == 0


def test_connected_agents_are_named_with_their_project(runtime: Runtime, home: Path) -> None:
    call(runtime, "mail.send", "bob")
    found = now(home)
    assert [(agent.host, agent.project_name) for agent in found.connected] == [("claude-code", "shop")]
    assert "Connected  claude-code in shop, just now" in found.lines()


def test_agents_over_mcp_are_connected_by_their_own_names(runtime: Runtime, home: Path) -> None:
    for agent in ("claude-desktop", "scribe"):
        ctx = RunContext.create(agent, metadata={"host": "mcp", "project": "/"})
        runtime.executor.execute(ctx, "mail.send", {"to": "bob"})
    found = replace(now(home), installed=("claude-desktop", "cursor"))
    assert (
        "Connected  scribe over MCP, just now; claude-desktop over MCP, just now; cursor waits for its first session"
    ) in found.lines()


def test_a_lost_operators_file_is_what_to_mend_first(sb: CommandLine, home: Path) -> None:
    sb("init")
    sb("operator", "init", "ana", "--no-passphrase", "--yes")
    (home / "operators.json").unlink()
    done = sb("status")
    assert done.code == 0
    assert "operators.json is gone" in next(line for line in done.out.splitlines() if line.startswith("fail"))
    assert done.out.splitlines()[-1].startswith("Next       put it back")


def test_a_log_that_does_not_fit_its_anchor_is_what_to_look_at_first(sb: CommandLine, home: Path) -> None:
    sb("init")
    sb("kill", "agent:scribe", "--reason", "test")
    (home / "anchors.jsonl").write_text(
        json.dumps({"seq": 999, "hash": "0" * 64, "at": "2026-01-01T00:00:00Z"}) + "\n", encoding="utf-8"
    )
    done = sb("status")
    assert done.code == 0
    assert [line for line in done.out.splitlines() if line.startswith("fail")]
    assert done.out.splitlines()[-1] == "Next       sb log verify"


def test_memories_to_review_need_a_person_as_on_home(sb: CommandLine) -> None:
    sb("init")
    stack = SQLiteStack("default", current_config().database, components=[])
    for number in range(2):
        content = {"statement": f"cache {number} never expires"}
        stack.save_suggestion(MemorySuggestion(f"sug-{number}", "default", "belief", content, 0.9, []))
    lines = sb("status").out.splitlines()
    assert lines[0] == "2 need you: 2 memory reviews"
    assert lines[1].split("  ")[1:3] == ["suggested", "cache 0 never expires (and 1 alike)"]
    assert lines[-1] == "Next       sb suggestions show sug-0 --stack default"
    document = sb("status", "--json").json
    assert (document["suggestions"], document["counts"]["reviews"], document["total"]) == (2, 2, 2)
    assert [item["kind"] for item in document["items"]] == ["review", "review"]
    for item in document["items"]:
        assert sb(*item["command"].split()[1:]).code == 0


def test_secrets_of_a_request_are_not_printed(sb: CommandLine, runtime: Runtime) -> None:
    call(runtime, "bank.pay", f"token {SECRET}")
    assert SECRET not in sb("status").out + sb("status", "--json").out


def test_nothing_is_written(sb: CommandLine, runtime: Runtime, home: Path) -> None:
    call(runtime, "bank.pay", "ada")
    before = runtime.log.database.query("SELECT count(*), max(id) FROM events")
    files = sorted(path.name for path in home.rglob("*"))
    sb("status")
    assert runtime.log.database.query("SELECT count(*), max(id) FROM events") == before
    assert sorted(path.name for path in home.rglob("*")) == files


def test_a_damaged_database_is_exit_code_3(sb: CommandLine, home: Path) -> None:
    sb("init")
    (home / "brain.db").write_bytes(b"\x00" * 9000)
    done = sb("status")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("sb: error: ")


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_sources_that_cannot_be_read_are_said_with_what_follows(
    sb: CommandLine, home: Path, mode: str
) -> None:
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(f"context_sources: {mode}\n", encoding="utf-8")
    assert sb("init").code == 0
    assert "sources" in sb("status").out.partition("Enforced")[2], "an empty file is none that is broken"
    (home / "sources.yaml").write_text("sources: [nothing\n", encoding="utf-8")
    (line,) = [line for line in sb("status").out.splitlines() if "sources:" in line]
    assert line.startswith("fail" if mode == "enforce" else "warn")
    assert ("are refused" in line) == (mode == "enforce")
