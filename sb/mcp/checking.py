"""Checks that the server would work here, by asking it as a client does, and measures what its tools cost a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing

import anyio
from mcp import Client

from sb.base.text import counted
from sb.config import Config
from sb.mcp.desk import AgentDesk
from sb.mcp.server import build_server
from sb.mcp.toolsets import Toolset
from sb.memory.views import estimated_tokens
from sb.runtime import open_runtime


def check(config: Config, agent: str, offered: Sequence[Toolset]) -> Iterator[str]:
    """A line for each thing that was checked.

    Raises:
        SBError: it would not work.
    """
    with open_runtime(config) as runtime, closing(AgentDesk(runtime, agent, offered)) as desk:
        yield f"home {config.home}: database {config.database} opens"
        with desk.memory() as brain:
            reason = brain.vector_search_disabled_reason
        yield f"memory of {agent}: {reason or 'searched by words and by meaning'}"
        listed = anyio.run(_listed, desk, offered)
        yield f"{counted(len(listed), 'tool')} in {', '.join(offered)}: about {_tokens(listed):,} tokens of context"
        for name in listed:
            yield f"  {name}"


async def _listed(desk: AgentDesk, offered: Sequence[Toolset]) -> dict[str, str]:
    """Each tool's name, with what a client is told of it."""
    async with Client(build_server(lambda: desk, offered)) as client:
        tools = (await client.list_tools()).tools
    return {tool.name: json.dumps(tool.model_dump(mode="json", exclude_none=True)) for tool in tools}


def _tokens(listed: dict[str, str]) -> int:
    return sum(map(estimated_tokens, listed.values()))
