"""What holds when agents connect over HTTP: a token for each request, and nobody else."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx
import pytest
import uvicorn
from mcp import Client, MCPError

from sb.config import current_config
from sb.kernel.authority.signing import Label
from sb.kernel.boundaries.tokens import AccessTokens
from sb.mcp.serving import MAX_BODY, PATH, HttpDesks, http_app
from sb.parts import open_authority
from sb.runtime import open_runtime
from tests.conftest import CommandLine

T = TypeVar("T")
ADA = Label("ada")
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
ACCEPT = {"Accept": "application/json, text/event-stream"}


class Served:
    """A server on this machine, and the tokens of its home."""

    def __init__(self, port: int, tokens: AccessTokens) -> None:
        self.port = port
        self.tokens = tokens
        self.url = f"http://127.0.0.1:{port}{PATH}"

    def token(self, agent: str, *toolsets: str) -> str:
        return self.tokens.create(agent, toolsets or ("core",), ADA, "a test")[0]

    def post(self, token: str = "", content: Any = None, **headers: str) -> int:
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        body = {"content": content} if content is not None else {"json": HELLO}
        return httpx.post(self.url, headers=ACCEPT | bearer | headers, timeout=20, **body).status_code

    def call(self, token: str, tool: str, **arguments: Any) -> Any:
        async def asked(client: Client) -> Any:
            answer = await client.call_tool(tool, arguments)
            return answer.structured_content if not answer.is_error else str(answer.content[0])

        return self.ask(token, asked)

    def read(self, token: str, uri: str) -> str:
        """The text of a resource, or why there is none."""

        async def asked(client: Client) -> str:
            try:
                return str(getattr((await client.read_resource(uri)).contents[0], "text", ""))
            except MCPError as error:
                return str(error)

        return self.ask(token, asked)

    def resources(self, token: str) -> list[str]:
        async def asked(client: Client) -> list[str]:
            whole = [one.uri for one in (await client.list_resources()).resources]
            made = (await client.list_resource_templates()).resource_templates
            return [*map(str, whole), *(one.uri_template for one in made)]

        return self.ask(token, asked)

    def ask(self, token: str, question: Callable[[Client], Awaitable[T]]) -> T:
        async def asked() -> T:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            headers = {"Authorization": f"Bearer {token}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=20) as http,
                Client(streamable_http_client(self.url, http_client=http)) as client,
            ):
                return await question(client)

        return anyio.run(asked)


@contextmanager
def listening(host: str) -> Iterator[Served]:
    with socket.socket() as found:
        found.bind((host, 0))
        port = found.getsockname()[1]
    config = current_config()
    with open_runtime(config) as runtime, closing(HttpDesks(runtime)) as desks:
        app = http_app(runtime, desks, host, port)
        server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Served(port, AccessTokens(runtime.log, open_authority(config, runtime.log)))
        server.should_exit = True
        thread.join(10)


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    with listening("127.0.0.1") as found:
        yield found


def test_a_request_without_a_token_or_with_a_wrong_one_is_refused(served: Served) -> None:
    token = served.token("scribe")
    assert served.post(token) == 200
    assert served.post() == 401
    assert served.post(token[:-1] + ("0" if token[-1] != "0" else "1")) == 401
    assert served.post("sbt_" + "0" * 16 + "_" + "0" * 64) == 401
    served.tokens.revoke(token[:20], ADA, "lost")
    assert served.post(token) == 401


def test_a_page_in_a_browser_reaches_nothing(served: Served) -> None:
    token = served.token("scribe")
    assert served.post(token, Origin="http://evil.example") == 403
    assert served.post(token, Host="evil.example") == 421
    assert served.post(token, Origin=f"http://127.0.0.1:{served.port}") == 200


def test_at_every_address_a_proxy_of_this_machine_is_answered(home: Path) -> None:
    with listening("0.0.0.0") as served:
        token = served.token("scribe")
        assert served.post(token) == 200
        assert served.post(token, Host="evil.example") == 421


def test_bad_requests_end_in_an_error_and_the_server_goes_on(served: Served) -> None:
    token = served.token("scribe")
    json_type = {"Content-Type": "application/json"}
    assert served.post(token, b"{not json", **json_type) == 400
    assert served.post(token, b"[" * 50_000, **json_type) == 400
    assert served.post(token, b"x" * (MAX_BODY + 1), **json_type) == 413
    assert served.post(token) == 200


def test_the_token_says_who_it_is_and_what_for(served: Served) -> None:
    scribe, clerk = served.token("scribe", "core", "memory"), served.token("clerk")
    saved = served.call(scribe, "remember", content="The plan is secret.", private=True)
    assert served.call(scribe, "search", query="plan")["result"][0]["by"] == "scribe"
    assert served.call(clerk, "search", query="plan") == {"result": []}
    assert "not offered to clerk" in served.call(clerk, "get_memory", id=saved["id"])


def test_a_token_for_calls_alone_reads_no_memory_as_a_resource(served: Served) -> None:
    saved = served.call(served.token("scribe"), "remember", content="The vault is blue")
    uri = f"sb://record/{saved['id']}"
    assert "The vault is blue" in served.read(served.token("scribe", "memory"), uri)
    assert "not offered to scribe" in served.read(served.token("scribe", "kernel"), uri)
    assert served.resources(served.token("scribe", "kernel")) == []
    assert served.resources(served.token("scribe")) == ["sb://handoff/latest", "sb://record/{id}"]


def test_without_tls_it_stays_on_this_machine_unless_told(sb: CommandLine, home: Path) -> None:
    refused = sb("serve", "mcp", "--http", "0.0.0.0:8765")
    assert refused.code == 2
    assert "without encryption" in refused.err
    assert "is no address" in sb("serve", "mcp", "--http", "here").err
    assert "there is no token" in sb("serve", "mcp", "--http", "8765").err


def test_tokens_are_made_listed_and_revoked_by_people(sb: CommandLine, home: Path) -> None:
    assert sb("init").code == 0
    assert "needs a reason" in sb("serve", "token", "create", "scribe").err
    made = sb("serve", "token", "create", "scribe", "--toolset", "core", "--reason", "laptop", "--json").json
    listed = sb("serve", "token", "list", "--json")
    assert made["token"] not in listed.out
    assert [(one["agent"], one["toolsets"]) for one in listed.json["items"]] == [("scribe", ["core"])]
    assert sb("serve", "token", "revoke", made["id"], "--reason", "lost").code == 0
    assert "revoked" in sb("serve", "token", "list").out
    assert sb("serve", "token", "create", "x", "--toolset", "kernl", "--reason", "y").code == 2
