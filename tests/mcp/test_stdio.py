"""What a program that starts `sb serve mcp` can rely on: a session as Claude Desktop has one, and bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from sb.config import current_config
from sb.memory import Brain
from tests.conftest import CommandLine

SERVE = [sys.executable, "-m", "sb", "serve", "mcp", "--agent", "claude-desktop"]
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


def request(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Server:
    """The server's process, spoken to line by line."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            SERVE,
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.ask(HELLO)
        self.write(READY)

    def write(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, message: Any) -> Any:
        self.write(message)
        return self.read()

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(20)
        self.process.stdout.close()
        return code


def test_a_session_remembers_finds_asks_waits_acts_and_takes_back(
    home: Path, tmp_path: Path, sb: CommandLine
) -> None:
    home.mkdir(mode=0o700)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.txt").write_text("a", encoding="utf-8")
    (home / "config.yaml").write_text(
        f"files:\n  roots: [{tmp_path}]\nagents:\n  claude-desktop:\n"
        "    tools: [files.write, shell.run]\n    ceiling: destructive\n",
        encoding="utf-8",
    )
    server = StdioServerParameters(
        command=SERVE[0], args=[*SERVE[1:], "--toolset", "core", "--toolset", "kernel"], env=environment(home)
    )

    async def played() -> None:
        async with Client(stdio_client(server)) as client:

            async def call(tool: str, /, **arguments: Any) -> Any:
                answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, answer.content
                return answer.structured_content

            await call("orient", project="shop")
            await call("remember", content="Grace wants her refund by Friday.")
            hits = (await call("search", query="when does Grace want the refund?"))["result"]
            assert "Friday" in hits[0]["text"]
            args = {"tool": "shell.run", "args": {"argv": ["rm", "-rf", "old"]}}
            waiting = await call("call_tool", **args)
            assert waiting["state"] == "waiting"
            approved = await anyio.to_thread.run_sync(
                lambda: sb("approvals", "approve", waiting["request"], "--reason", "go on")
            )
            assert approved.code == 0, approved.err
            assert (await call("request_status", request=waiting["request"]))["decision"] == "approved"
            done = await call("call_tool", **args)
            assert done["state"] == "done"
            written = await call("call_tool", tool="files.write", args={"path": "new.txt", "content": "x"})
            undone = await call("undo_call", change=written["call_id"], reason="not wanted")
            if undone["state"] == "waiting":
                sb("approvals", "approve", undone["request"], "--reason", "yes")
                undone = await call("undo_call", change=written["call_id"], reason="not wanted")
            assert undone["state"] == "reversed"
            assert not (tmp_path / "new.txt").exists()

    anyio.run(played)


def test_lines_that_are_no_message_end_nothing(home: Path) -> None:
    server = Server(home)
    for bad in (b"", b"not json", b"[]", b'{"jsonrpc": "2.0"}', b'{"id": 7}', b"\xff\xfe", b"[" * 10_000):
        server.write(bad)
    server.write(request(9, "search", query="anything"))
    while (answer := server.read()).get("id") != 9:
        assert "error" in answer
    assert answer["result"]["isError"] is False
    unknown = server.ask({"jsonrpc": "2.0", "id": 10, "method": "no/such"})
    assert unknown["error"]["code"] == -32601
    assert server.end() == 0


def test_two_servers_on_one_database_lose_nothing_and_a_kill_neither(home: Path) -> None:
    one, other = Server(home), Server(home)
    for number in range(5):
        for server in (one, other):
            saved = server.ask(
                request(number + 2, "log_event", summary=f"event {number} of {server.process.pid}")
            )
            assert saved["result"]["isError"] is False
    one.process.send_signal(signal.SIGKILL)
    one.process.wait(20)
    for stream in (one.process.stdin, one.process.stdout):
        assert stream is not None
        stream.close()
    assert other.ask(request(99, "search", query="event"))["result"]["isError"] is False
    assert other.end() == 0
    with Brain("claude-desktop", config=current_config(), warm=False) as brain:
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
