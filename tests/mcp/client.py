"""The official client, connected to a server in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

import anyio
from mcp import Client

from sb.config import current_config
from sb.mcp.desk import AgentDesk
from sb.mcp.server import build_server
from sb.mcp.toolsets import Toolset
from sb.runtime import Runtime, open_runtime


class Session:
    """A client's session.

    Args:
        runtime: that of the server, for what a person decides meanwhile.
    """

    def __init__(self, client: Client, runtime: Runtime) -> None:
        self.client = client
        self.runtime = runtime

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """The value that a tool returns."""
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error, answer.content
        value = answer.structured_content or {}
        return value["result"] if set(value) == {"result"} else value

    async def error(self, tool: str, /, **arguments: Any) -> str:
        """The error that a tool answers."""
        answer = await self.client.call_tool(tool, arguments)
        assert answer.is_error, answer.structured_content
        return str(getattr(answer.content[0], "text", ""))


@asynccontextmanager
async def connected(
    *offered: Toolset, agent: str = "scribe", mode: Any = "auto", **settings: Any
) -> AsyncIterator[Session]:
    toolsets = offered or tuple(Toolset)
    with (
        open_runtime(current_config(settings)) as runtime,
        closing(AgentDesk(runtime, agent, toolsets)) as desk,
    ):
        async with Client(build_server(lambda: desk, toolsets), mode=mode) as client:
            yield Session(client, runtime)


def session(scene: Callable[[Session], Awaitable[None]], *offered: Toolset, **more: Any) -> None:
    """Play a scene in a session of its own."""

    async def played() -> None:
        async with connected(*offered, **more) as exchange:
            await scene(exchange)

    anyio.run(played)
