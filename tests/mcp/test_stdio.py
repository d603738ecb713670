"""Sessions of programs that start `sb serve mcp`: one as Claude Desktop has it, and bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from evals.mcp_session import play_session
from sb.config import Home, current_config
from sb.mcp.stdio import BUSY, MAX_MESSAGE, MAX_REQUESTS
from sb.memory import Brain
from tests.conftest import CommandLine
from tests.forked import Forks
from tests.hosts.install import conftest as install

made = install.made  # what hooks run from, as those tests make it

SERVE = ["-m", "sb", "serve", "mcp", "--agent", "claude-desktop"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def environment(home: Path) -> dict[str, str]:
    return {"SB_HOME": str(home), "PATH": os.environ["PATH"], "HOME": str(home.parent)}


def request(number: int, tool: str, /, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def allowed(folder: Path) -> str:
    """Configuration that lets the agent write there, and remove with a person's agreement."""
    return (
        f"files:\n  roots: [{folder}]\nagents:\n  claude-desktop:\n"
        "    tools: [files.write, shell.run]\n    ceiling: destructive\n"
    )


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Importing takes most of a server's start, which the session and the interrupt below have as it is."""
    with Forks("sb.cli", "sb.mcp.serving", "sb.mcp.stdio") as started:
        yield started


class Server:
    """The server's process, spoken to line by line."""

    def __init__(self, forks: Forks, home: Path, toolset: str = "core", config: str = "") -> None:
        if config:
            home.mkdir(mode=0o700)
            (home / "config.yaml").write_text(config, encoding="utf-8")
        self.process = forks.start(*SERVE, "--toolset", toolset, env=environment(home))
        self.ask(HELLO)
        self.write(READY)

    def write(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, message: Any) -> Any:
        self.write(message)
        return self.read()

    def read(self) -> Any:
        return json.loads(self.process.stdout.readline())

    def end(self) -> int:
        self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        return code


def test_a_session_of_claude_desktop_remembers_finds_waits_for_approval_and_undoes(
    tmp_path: Path, made: Path
) -> None:
    person = tmp_path / "person"
    install.seed(Home(person / ".sb"), made)
    saved, found, waiting, approved, done, *undoing = [step.answer for step in play_session(person)]
    assert [hit["id"] for hit in found["result"]] == [saved["id"]]
    assert waiting["state"] == "waiting"
    assert waiting["request"] in approved["printed"]
    assert (done["state"], done["change"]) == ("done", undoing[-1]["change"])
    assert undoing[-1]["state"] == "reversed"
    assert (person / "shop" / "exports" / "2025.csv").read_text(
        encoding="utf-8"
    ) == "order,cents\n1002,1900\n"


def test_lines_that_are_no_message_are_answered_with_an_error(forks: Forks, home: Path) -> None:
    server = Server(forks, home)
    for bad, code in (
        (b"not json", PARSE_ERROR),
        (b"\xff\xfe", PARSE_ERROR),
        (b"[" * 10_000, PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b'{"jsonrpc": "2.0"}', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID_REQUEST),
        (b'[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]', INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', INVALID_REQUEST),
        (b"x" * (MAX_MESSAGE + 1), INVALID_REQUEST),
    ):
        answer = server.ask(bad)
        assert (answer["id"], answer["error"]["code"]) == (None, code), bad[:50]
    server.write(b"")
    answer = server.ask(request(9, "search", query="anything"))
    assert (answer["id"], answer["result"]["isError"]) == (9, False)
    saved = server.ask(request(8, "remember", content="Grace pays in \ud83d\ude00, Ada in cash \ud83d"))
    found = server.ask(request(7, "search", query="how does Grace pay?"))
    assert saved["id"] == 8, "half a character, which clients leave where they cut a text"
    assert found["result"]["structuredContent"]["result"][0]["text"].endswith("Ada in cash \ufffd")
    unknown = server.ask({"jsonrpc": "2.0", "id": 10, "method": "no/such"})
    assert unknown["error"]["code"] == -32601
    assert server.end() == 0


def test_requests_without_an_answer_are_bounded_and_their_ids_not_reused(
    forks: Forks, home: Path, tmp_path: Path
) -> None:
    slow = {"tool": "shell.run", "args": {"argv": ["rm", "-rf", "old"]}, "wait_s": 50.0}
    (tmp_path / "old").mkdir()
    server = Server(forks, home, "kernel", config=allowed(tmp_path))
    for number in range(MAX_REQUESTS):
        server.write(request(number + 2, "call_tool", **slow))
    assert server.ask(request(2, "list_tools"))["error"]["code"] == INVALID_REQUEST
    refused = server.ask(request(999, "list_tools"))
    assert (refused["id"], refused["error"]["code"]) == (999, BUSY)
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    server.write(cancelled)
    deadline = time.monotonic() + 60
    while "result" not in (answer := server.ask(request(999, "list_tools"))):
        assert time.monotonic() < deadline, "a cancelled request still counts"
    assert answer["id"] == 999
    assert server.end() == 0


def test_writes_that_are_cancelled_are_whole_or_not_there(forks: Forks, home: Path) -> None:
    server = Server(forks, home)
    for number in range(2, 12):
        server.write(request(number, "log_event", summary=f"cancelled event {number}"))
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": number}}
        server.write({"jsonrpc": "2.0", **cancelled})
    server.write(request(99, "search", query="cancelled event", limit=50))
    while (answer := server.read())["id"] != 99:
        assert answer["result"]["isError"] is False  # it was done before it could be cancelled
    hits = {hit["text"] for hit in answer["result"]["structuredContent"]["result"]}
    assert server.end() == 0
    whole = {f"cancelled event {number}" for number in range(2, 12)}
    with Brain("claude-desktop", config=current_config()) as brain:
        assert hits <= {hit.content for hit in brain.search("cancelled event", 50)} <= whole


def test_a_client_that_never_reads_is_not_read_and_costs_no_memory(forks: Forks, home: Path) -> None:
    server = Server(forks, home)
    os.set_blocking(server.process.stdin.fileno(), False)
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode() + b"\n"
    taken, quiet_since = 0, time.monotonic()
    while time.monotonic() - quiet_since < 2:
        try:
            taken += os.write(server.process.stdin.fileno(), line * 100)
            quiet_since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.05)
        assert taken < 10 << 20, "everything is taken in, though nothing is read"
    server.process.stdin.close()
    server.process.stdout.close()  # a client that dies
    assert server.process.wait() == 0


def test_an_interrupt_on_a_terminal_ends_it(home: Path) -> None:
    ours, terminal = os.openpty()
    with subprocess.Popen(
        [sys.executable, *SERVE],
        env=environment(home),
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            os.write(ours, json.dumps(HELLO).encode() + b"\n")
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["id"] == 1
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
    os.close(ours)
    os.close(terminal)


def test_two_servers_on_one_database_lose_nothing_and_a_kill_neither(forks: Forks, home: Path) -> None:
    victim, other = Server(forks, home), Server(forks, home)
    for number in range(5):
        for server in (victim, other):
            saved = server.ask(
                request(number + 2, "log_event", summary=f"event {number} of {server.process.pid}")
            )
            assert saved["result"]["isError"] is False
    victim.process.kill()
    assert victim.process.wait() == -signal.SIGKILL
    for stream in (victim.process.stdin, victim.process.stdout):
        stream.close()
    assert other.ask(request(99, "search", query="event"))["result"]["isError"] is False
    assert other.end() == 0
    with Brain("claude-desktop", config=current_config()) as brain:
        assert len(brain.search("event", 50)) == 10


def test_the_doctor_says_what_it_offers_and_what_that_costs(sb: CommandLine, home: Path) -> None:
    shown = sb("serve", "mcp", "--doctor")
    assert shown.code == 0, shown.err
    assert "6 tools in core: about" in shown.out
    tokens = int(shown.out.split("about ")[1].split(" ")[0].replace(",", ""))
    assert tokens < 2_500
    assert sb("serve", "mcp", "--doctor", "--toolset", "kernl").code == 2


def test_a_server_for_an_agent_without_a_name_is_refused_in_one_line(sb: CommandLine, home: Path) -> None:
    refused = sb("serve", "mcp", "--agent", " ")
    assert (refused.code, "--agent: agent is ' '" in refused.err) == (2, True)
