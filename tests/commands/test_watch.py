"""`sb watch`: each thing that needs a person is reported once, whatever happens meanwhile, and can be handed on."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SteeredClock
from sb.config import Config, current_config
from sb.kernel import RunContext, SafetyClass
from sb.operator.attention.watching import LOOK_AGAIN_S, MOST_AT_START, Watcher
from sb.protocols.types import MemorySuggestion
from sb.runtime import open_runtime
from sb.stack import SQLiteStack
from sb.store.driver import connect
from tests.conftest import CommandLine, approve_tools

ROOT = Path(__file__).parents[2]
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def ask(*orders: str, agent: str = "clerk") -> None:
    """Have an agent ask for payments that need a person."""
    with open_runtime() as runtime:
        runtime.registry.register_fn("bank.pay", "Pay", lambda to: f"paid {to}", SafetyClass.DESTRUCTIVE)
        approve_tools(runtime)
        ctx = RunContext.create(agent, intent="pay the bills")
        for order in orders:
            runtime.executor.execute(ctx, "bank.pay", {"to": order})


@pytest.fixture
def config(sb: CommandLine) -> Config:
    assert sb("init").code == 0
    return current_config({})


WHY = "Pay: pays bob"
WAITING = f"waiting bank.pay to=bob {WHY}"


def texts(watcher: Watcher) -> list[str]:
    lines = list(watcher.news())
    return [f"{line.state.word} {line.object} {line.why}".strip() for line in lines]


def test_each_request_is_reported_once_and_by_its_object(config: Config) -> None:
    ask("bob")
    watcher = Watcher(config)
    assert texts(watcher) == [WAITING]
    assert texts(watcher) == []
    ask("eve")
    assert texts(watcher) == [WAITING.replace("bob", "eve")]
    watcher.close()


def test_a_kill_a_changed_contract_and_a_new_tool_need_a_person(sb: CommandLine, config: Config) -> None:
    ask("bob")
    watcher = Watcher(config)
    list(watcher.news())
    sb("kill", "agent:clerk", "--reason", "pays the wrong bills")
    with open_runtime() as runtime:
        runtime.registry.register_fn("bank.pay", "Pay somebody", lambda to: to, SafetyClass.DESTRUCTIVE)
        runtime.registry.register_fn("bank.look", "Look", lambda to: to, SafetyClass.READ_ONLY)
        runtime.executor.execute(RunContext.create("ben"), "bank.pay", {"to": "bob"})
        runtime.executor.execute(RunContext.create("ben"), "bank.look", {"to": "bob"})
    found = texts(watcher)
    assert [item for item in found if item.startswith("stopped agent clerk was killed by ")]
    assert "changed bank.pay name changed" in found
    assert "new bank.look never approved" in found
    watcher.close()


def test_many_that_wait_at_the_start_are_counted_in_one_line(config: Config) -> None:
    ask(*(f"bob{number}" for number in range(MOST_AT_START + 3)))
    watcher = Watcher(config)
    found = texts(watcher)
    assert len(found) == MOST_AT_START + 1
    assert found[-1] == "waiting 3 more: sb status counts all of them"
    ask("eve")
    assert texts(watcher) == [WAITING.replace("bob", "eve")]
    watcher.close()


def test_a_suggested_memory_is_reported_once(sb: CommandLine, config: Config) -> None:
    stack = SQLiteStack("default", config.database, components=[])
    watcher = Watcher(config)
    assert texts(watcher) == []
    stack.save_suggestion(MemorySuggestion("s1", "default", "note", {"content": "rents are due"}, 0.9, []))
    assert texts(watcher) == ["suggested rents are due"]
    stack.save_suggestion(MemorySuggestion("s2", "default", "note", {"content": "banks close"}, 0.9, []))
    assert texts(watcher) == ["suggested banks close"]
    assert watcher.count_needs() == 2
    watcher.close()


def test_contracts_beyond_the_first_are_counted_at_the_start_and_not_reported_later(config: Config) -> None:
    with open_runtime() as runtime:
        for number in range(MOST_AT_START + 2):
            name = f"bank.look{number}"
            runtime.registry.register_fn(name, "Look", lambda to: to, SafetyClass.READ_ONLY)
            runtime.executor.execute(RunContext.create("ben"), name, {"to": "bob"})
    watcher = Watcher(config)
    assert texts(watcher)[-1] == "waiting 2 more: sb status counts all of them"
    ask("eve")
    assert texts(watcher) == [WAITING.replace("bob", "eve")]
    watcher.close()


def test_a_cut_log_is_reported(config: Config) -> None:
    ask("bob")
    watcher = Watcher(config)
    list(watcher.news())
    with open_runtime() as runtime:
        runtime.log.anchor_head()
    attacker = connect(config.database)
    for (name,) in attacker.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        attacker.execute(f'DROP TRIGGER "{name}"')
    attacker.execute("DELETE FROM events WHERE id = (SELECT max(id) FROM events)")
    attacker.commit()
    attacker.close()
    assert [text for text in texts(watcher) if text.startswith("broken event log")]
    watcher.close()


def test_a_locked_database_is_trouble_until_it_is_free_again(config: Config) -> None:
    ask("bob")
    other = connect(config.database)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    watcher = Watcher(config)
    assert texts(watcher) == []
    assert watcher.trouble is not None
    assert "locked" in watcher.trouble.message
    other.close()
    assert texts(watcher) == [WAITING]
    assert watcher.trouble is None
    watcher.close()


def test_a_database_that_is_away_for_a_while_is_trouble_until_it_is_back(config: Config) -> None:
    watcher = Watcher(config)
    list(watcher.news())
    ask("bob")
    hidden = config.database.with_suffix(".away")
    for suffix in ("", "-wal", "-shm"):
        if Path(f"{config.database}{suffix}").exists():
            shutil.move(f"{config.database}{suffix}", f"{hidden}{suffix}")
    assert texts(watcher) == []
    assert watcher.trouble is not None
    assert "no database" in watcher.trouble.message
    for suffix in ("", "-wal", "-shm"):
        if Path(f"{hidden}{suffix}").exists():
            shutil.move(f"{hidden}{suffix}", f"{config.database}{suffix}")
    assert texts(watcher) == [WAITING]
    assert watcher.trouble is None
    watcher.close()


def test_a_replaced_database_is_read_from_its_beginning(config: Config, tmp_path: Path) -> None:
    ask("bob")
    copy = tmp_path / "copy.db"
    source = connect(config.database)
    source.execute("VACUUM INTO ?", (str(copy),))
    source.close()
    watcher = Watcher(config)
    assert texts(watcher) == [WAITING]
    for suffix in ("-wal", "-shm"):
        Path(f"{config.database}{suffix}").unlink(missing_ok=True)
    copy.replace(config.database)
    assert WAITING in texts(watcher)
    watcher.close()


def test_a_look_costs_one_small_query_while_nothing_is_written(config: Config) -> None:
    clock = SteeredClock()
    watcher = Watcher(config, clock=clock)
    list(watcher.news())
    statements: list[str] = []
    assert watcher._log is not None
    watcher._log.database._normal.set_trace_callback(statements.append)
    assert (list(watcher.news()), statements) == ([], ["PRAGMA data_version"])
    clock.time += LOOK_AGAIN_S
    assert list(watcher.news()) == []
    assert len(statements) > 2
    watcher.close()


def test_json_lines_have_what_a_program_needs_and_no_secret(sb: CommandLine, config: Config) -> None:
    ask(f"bob token={SECRET}")
    printed = sb("watch", "--once", "--json")
    (need,) = map(json.loads, printed.out.splitlines())
    assert (need["kind"], need["state"], need["agent"]) == ("request", "waiting", "clerk")
    assert need["command"] == f"sb approvals show {need['id']}"
    assert need["expires_at"].endswith("Z")
    assert SECRET not in printed.out + sb("watch", "--once").out


def test_a_command_gets_each_item_and_no_shell_reads_it(
    sb: CommandLine, config: Config, tmp_path: Path
) -> None:
    hostile = f"bob $(touch {tmp_path}/owned); `touch {tmp_path}/owned`\n--help"
    ask(hostile)
    taker = tmp_path / "taker.py"
    taker.write_text(
        "import os, sys, pathlib\n"
        "given = sys.stdin.read(), os.environ['SB_WATCH_OBJECT'], sys.argv[1:]\n"
        f"pathlib.Path({str(tmp_path / 'given')!r}).write_text(repr(given))\n",
        encoding="utf-8",
    )
    outcome = sb("watch", "--once", "--notify", f"{sys.executable} {taker} 'two words'")
    assert (outcome.code, outcome.err) == (0, "")
    body, described, arguments = eval((tmp_path / "given").read_text("utf-8"))
    assert json.loads(body)["object"] == described
    assert "$(touch" in described
    assert "\n" not in described
    assert arguments == ["two words"]
    assert not (tmp_path / "owned").exists()


def test_a_command_that_fails_is_one_line_and_the_watch_goes_on(sb: CommandLine, config: Config) -> None:
    ask("bob", "eve")
    outcome = sb("watch", "--once", "--notify", "false")
    assert outcome.code == 0
    assert len(outcome.out.splitlines()) == 2
    assert outcome.err.splitlines() == ["warning: false ended with 1"] * 2


def test_the_desktop_shows_an_agents_words_as_text(
    sb: CommandLine, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/given\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    ask("<b>bob</b>")
    assert sb("watch", "--once", "--notify", "desktop").err == ""
    app, dashes, title, body, *_ = (tmp_path / "given").read_text("utf-8").splitlines()
    assert (app, dashes, title) == ("--app-name=sb", "--", "sb · clerk")
    assert body == "waiting: bank.pay to=&lt;b&gt;bob&lt;/b&gt;"


@pytest.mark.parametrize(
    ("given", "said"),
    [("no-such-program x", "no program 'no-such-program'"), ("'", "--notify: "), (" ", "no command")],
)
def test_a_notification_that_cannot_work_is_refused_at_the_start(
    sb: CommandLine, config: Config, given: str, said: str
) -> None:
    outcome = sb("watch", "--once", "--notify", given)
    assert outcome.code == 2
    assert said in outcome.err


def test_without_a_database_it_ends_with_3(sb: CommandLine) -> None:
    outcome = sb("watch", "--once")
    assert outcome.code == 3
    assert "no database at" in outcome.err


def test_a_running_watch_reports_what_comes_and_ends_with_130(config: Config) -> None:
    # What runs in the background, as tests may, ignores SIGINT, and so do its children.
    code = (
        "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "runpy.run_module('sb', run_name='__main__', alter_sys=True)"
    )
    command = [sys.executable, "-c", code, "watch", "--interval", "0.1"]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        time.sleep(0.5)
        ask("bob")
        assert running.stdout is not None
        line = running.stdout.readline()
        if "bank.pay · never approved" in line:  # it looked between the tool's contract and the call
            line = running.stdout.readline()
        assert f"waiting   bank.pay to=bob · {WHY} · clerk" in line
    finally:
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in errors


class Chat(http.server.BaseHTTPRequestHandler):
    """An incoming webhook."""

    posts: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        self.posts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def chat() -> Iterator[str]:
    Chat.posts = []
    server = http.server.HTTPServer(("127.0.0.1", 0), Chat)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    server.server_close()


def test_the_chat_relay_of_the_guide_posts_what_needs_a_person(
    sb: CommandLine, config: Config, chat: str
) -> None:
    ask("bob ``` <!channel> @all")
    relay = ROOT / "examples" / "chat_relay.py"
    outcome = sb("watch", "--once", "--notify", f"{sys.executable} {relay} {chat}")
    assert (outcome.code, outcome.err) == (0, "")
    (post,) = Chat.posts
    assert "Decide at a terminal, not here" in post["text"]
    assert "sb approvals show apr_" in post["text"]
    assert post["text"].count("```") == 2
    assert "<!channel>" not in post["text"]
