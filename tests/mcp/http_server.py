"""A server that listens on this machine, and its tokens."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import anyio
import httpx
import uvicorn
from mcp import Client, MCPError
from starlette.types import ASGIApp

from sb.config import current_config
from sb.kernel.authority.signing import Label
from sb.kernel.boundaries.tokens import AccessTokens
from sb.mcp.serving import PATH, HttpDesks, http_app
from sb.runtime import open_runtime
from sb.runtime.parts import open_authority

T = TypeVar("T")
WAIT_S = 60  # for an answer, at most: the machine may have much else to do
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
        return self.send(token, content, **headers).status_code

    def send(self, token: str = "", content: Any = None, **headers: str) -> httpx.Response:
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        body = {"content": content} if content is not None else {"json": HELLO}
        return httpx.post(self.url, headers=ACCEPT | bearer | headers, timeout=WAIT_S, **body)

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
            whole = [resource.uri for resource in (await client.list_resources()).resources]
            made = (await client.list_resource_templates()).resource_templates
            return [*map(str, whole), *(template.uri_template for template in made)]

        return self.ask(token, asked)

    def ask(self, token: str, question: Callable[[Client], Awaitable[T]]) -> T:
        async def asked() -> T:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            headers = {"Authorization": f"Bearer {token}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=WAIT_S) as http,
                Client(streamable_http_client(self.url, http_client=http)) as client,
            ):
                return await question(client)

        return anyio.run(asked)


@contextmanager
def listening(
    host: str, proxy: Callable[[ASGIApp], ASGIApp] = lambda app: app, proxied: Sequence[str] = ()
) -> Iterator[Served]:
    config, listener = current_config(), socket.create_server((host, 0))  # so that nobody else takes the port
    port = listener.getsockname()[1]
    with open_runtime(config) as runtime, closing(HttpDesks(runtime)) as desks:
        app = proxy(http_app(runtime, desks, host, port, proxied))
        server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_level="error"))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield Served(port, AccessTokens(runtime.log, open_authority(config, runtime.log)))
        server.should_exit = True
        thread.join(60)
