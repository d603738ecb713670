"""Agents behind an address or an MCP server."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sb.errors import UsageError
from sb.evals.agents import http as http_agents
from sb.evals.agents.http import HttpAgent
from sb.evals.agents.mcp_server import McpAgent
from tests.evals.running_cases import answer
from tests.rows import rows

SERVER = """\
import os
from mcp.server import MCPServer

server = MCPServer("shop")

@server.tool()
def ask(input: str, seed: int = 0) -> dict:  # without a schema
    if input == "fail":
        raise ValueError("no stock")
    return {"output": f"{input}, {os.path.basename(os.getcwd())}", "calls": [{"tool": "orders.read", "args": {"order": 7}}]}

server.run()
"""

# What that library answers, word for word, from a process that need not import it: a tenth of a second instead of one.
RECORDED = """\
import json, sys, time

def tool(name, *texts):
    properties = {text: {"title": text.title(), "type": "string"} for text in texts}
    schema = {"properties": properties, "required": list(texts), "type": "object", "title": name + "Arguments"}
    return {"description": "", "inputSchema": schema, "name": name}

def called(name, arguments):
    if name == "hang":
        time.sleep(60)
    if name == "typed":
        said = {"output": "typed " + arguments["input"], "cost_cents": 3}
        return {"content": [{"type": "text", "text": json.dumps(said)}], "isError": False, "structuredContent": said}
    text = "asked " + arguments["question"]
    return {"content": [{"type": "text", "text": text}], "isError": False, "structuredContent": {"result": text}}

TOOLS = [tool("hang", "input"), tool("typed", "input"), tool("plain", "question"), tool("several", "one", "two")]
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method, given = request["method"], request.get("params") or {}
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if method == "initialize":
        capabilities = {"tools": {"listChanged": False}}
        server = {"name": "shop", "version": ""}
        version = given["protocolVersion"]
        answer["result"] = {"capabilities": capabilities, "protocolVersion": version, "serverInfo": server}
    elif method == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif method == "tools/call":
        answer["result"] = called(given["name"], given["arguments"])
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
"""


class Service(BaseHTTPRequestHandler):
    """Answers by the path."""

    given: ClassVar[list[dict[str, Any]]] = []
    over = threading.Event()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.given.append(body)
        answers = {
            "/object": {"output": "fine", "calls": [{"tool": "a", "args": {"x": 1}, "success": True}]},
            "/list": [{"type": "tool_call", "tool": "a"}, {"type": "final", "output": "fine"}],
            "/nothing": [{"type": "tool_call", "tool": "a"}],
        }
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/object")
            self.end_headers()
            return
        self.send_response(500 if self.path == "/broken" else 200)
        self.end_headers()
        if self.path == "/slow":
            self.over.wait(120)
        elif self.path == "/drips":
            while not self.over.wait(0.1):
                self.wfile.write(b" ")
        elif self.path == "/flood":
            for _ in range(64):
                self.wfile.write(b"x" * (1 << 16))
        elif self.path == "/lines":
            self.wfile.write(b'{"type": "tool_call", "tool": "a"}\n{"type": "final", "output": "fine"}\n')
        elif self.path == "/text":
            self.wfile.write(b"hello\x1b[31m")
        else:
            self.wfile.write(json.dumps(answers.get(self.path)).encode())

    def handle(self) -> None:
        with suppress(ConnectionError):  # whoever asked went away
            super().handle()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    Service.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("path", ["/object", "/list", "/lines"])
def test_a_response_is_an_answer(address: str, path: str, tmp_path: Path) -> None:
    found = answer(HttpAgent(address + path), tmp_path, vars={"x": 1})
    assert (found.error, found.output, [call.tool for call in found.calls]) == ("", "fine", ["a"])
    given = Service.given[-1]
    assert (given["id"], given["input"], given["vars"]) == ("c", "hello", {"x": 1})
    assert not {"home", "folder"} & given.keys()


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/moved", "it answered 302 Found, to /object; redirects are not followed"),
        ("/broken", "it answered 500"),
        ("/slow", "no answer within 0.5 s"),
        ("/drips", "no answer within 0.5 s"),
        ("/flood", "its response has more than 1.0 MiB"),
        ("/text", "line 1 of its answer is not JSON"),
        ("/nothing", "its response has no final message"),
        ("/else", "line 1 of its answer has no"),
    ],
)
def test_what_goes_wrong_is_one_line(
    address: str, path: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_agents, "MOST_BYTES", 1 << 20)
    found = answer(HttpAgent(address + path), tmp_path, timeout_s=0.5 if path in ("/slow", "/drips") else 60)
    assert error in found.error
    assert "\x1b" not in found.error
    assert found.seconds < 60


def test_a_service_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as silent:  # nobody else takes its port, and nothing listens there
        silent.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/run"
        assert "ConnectionRefusedError" in answer(HttpAgent(address), tmp_path).error


@pytest.mark.parametrize("address", ["http://", "http://127.0.0.1:x/", "http://me:pw@127.0.0.1/"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        HttpAgent(address)


@pytest.fixture
def server(tmp_path: Path) -> str:
    path = tmp_path / "server.py"
    path.write_text(SERVER, encoding="utf-8")
    return f"{sys.executable} {path}"


@pytest.fixture
def recorded_server(tmp_path: Path) -> str:
    path = tmp_path / "recorded.py"
    path.write_text(RECORDED, encoding="utf-8")
    return f"{sys.executable} -I -S {path}"


def test_a_tool_of_a_server_is_an_agent(server: str, tmp_path: Path) -> None:
    agent = McpAgent("mcp", server, "ask", tmp_path)
    found = answer(agent, tmp_path, "Order 7")
    assert (found.error, found.output) == ("", "Order 7, work")
    assert [(call.tool, dict(call.args)) for call in found.calls] == [("orders.read", {"order": 7})]
    assert "its tool failed: " in answer(agent, tmp_path, "fail").error


def test_a_tool_that_hangs_ends_at_the_timeout(recorded_server: str, tmp_path: Path) -> None:
    found = answer(McpAgent("mcp", recorded_server, "hang", tmp_path), tmp_path, timeout_s=3.0)
    assert found.error == "the agent: no answer within 3 s"


@rows(
    "tool, output, error",
    [
        ("plain", "asked hello", ""),
        ("typed", "typed hello", ""),
        ("plian", "", "its server has no tool 'plian' (did you mean \"plain\"?)"),
        ("several", "", "its tool takes one, two"),
    ],
)
def test_the_input_is_the_tools_only_text(
    recorded_server: str, tool: str, output: str, error: str, tmp_path: Path
) -> None:
    found = answer(McpAgent("mcp", recorded_server, tool, tmp_path), tmp_path)
    assert found.output == output
    assert error in found.error


def test_a_server_that_dies_is_one_line(tmp_path: Path) -> None:
    found = answer(McpAgent("mcp", "sh -c 'echo broken >&2; exit 3'", "ask", tmp_path), tmp_path)
    assert found.error.startswith("the agent: ")
    assert "broken" in found.log


def test_without_the_extra_a_server_is_refused_with_what_to_install(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.client.stdio", None)
    with pytest.raises(UsageError) as refused:
        McpAgent("mcp:x#ask", server, "ask", tmp_path)
    assert refused.value.hint == "pip install 'secondbrain-sb[mcp]'"
