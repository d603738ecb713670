"""Cost of the MCP server: a search over stdio beside the same search in Python, and its start.

`python -m evals.bench.mcp` runs both in turn over 1 000 records, in the same seconds, and beside them a server of the SDK
whose tool only answers: what a call costs that does nothing.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.mcpserver import MCPServer

from evals.bench.memory import Texts, configured, fill
from evals.retrieval.agent_records import load_questions
from sb.config import Config
from sb.memory import Brain

_RECORDS, _SEARCHES, _STARTS = 1_000, 100, 5
_ADDED, _START = 2.5, 2.0  # times what the SDK takes for nothing
_ANSWERING = StdioServerParameters(command=sys.executable, args=["-m", "evals.bench.mcp", "answering"])


def report() -> Iterator[str]:
    """A line for searches, one for the start."""
    with tempfile.TemporaryDirectory() as folder:
        config = configured(Path(folder))
        with Brain("mcp", config=config, scope="project:bench") as brain:
            fill(brain, _RECORDS, Texts(), "project:bench")
        yield anyio.run(_searches, config)
        yield anyio.run(_starts, config.home.folder)


def _server(home: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "sb", "serve", "mcp"], env={**os.environ, "SB_HOME": str(home)}
    )


async def _searches(config: Config) -> str:
    questions = [question.question for question in load_questions()][:_SEARCHES]
    plain, over, nothing = list[float](), list[float](), list[float]()
    with Brain("mcp", config=config, scope="project:bench") as brain:
        async with (
            Client(stdio_client(_server(config.home.folder))) as client,
            Client(stdio_client(_ANSWERING)) as idle,
        ):
            for question in [questions[0], *questions]:
                arguments = {"query": question, "project": "bench"}
                before = time.perf_counter()
                brain.search(question, 8)
                between = time.perf_counter()
                await client.call_tool("search", arguments)
                after = time.perf_counter()
                await idle.call_tool("search", arguments)
                plain.append((between - before) * 1e3)
                over.append((after - between) * 1e3)
                nothing.append((time.perf_counter() - after) * 1e3)
    direct, served, floor = (_undisturbed(times[1:]) for times in (plain, over, nothing))
    added = served - direct
    return (
        f"search {direct:.2f} ms in Python, {served:.2f} over MCP: {added:.2f} more, {added / floor:.1f} times a call of"
        f" the SDK that does nothing, {floor:.2f}  bar {_ADDED:g} times  {'ok' if added <= _ADDED * floor else 'OVER'}"
    )


def _undisturbed(times: list[float]) -> float:
    """The tenth of them: what the machine does besides makes some longer, and none shorter."""
    return quantiles(times, n=10)[0]


def answering() -> MCPServer[None]:
    """A server whose search answers eight memories, and looks for none."""
    server: MCPServer[None] = MCPServer("answering", log_level="WARNING")
    memory = dict.fromkeys(("id", "kind", "scope", "by", "at"), "x" * 20) | {"text": "a word or two " * 8}

    @server.tool()
    def search(query: str, project: str = "") -> list[dict[str, str]]:
        return [memory] * 8

    return server


async def _starts(home: Path) -> str:
    ours, floors = list[float](), list[float]()
    for _ in range(_STARTS):
        for server, spent in ((_server(home), ours), (_ANSWERING, floors)):
            before = _of_children()
            async with Client(stdio_client(server)):
                pass
            spent.append(_of_children() - before)
    took, floor = min(ours), min(floors)
    return (
        f"start and end of the server {took:.2f} s of CPU, {took / floor:.1f} times one of the SDK that does nothing,"
        f" {floor:.2f}  bar {_START:g} times  {'ok' if took <= _START * floor else 'OVER'}"
    )


def _of_children() -> float:
    """Seconds of CPU that processes took that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    if sys.argv[1:]:
        answering().run("stdio")
        sys.exit()
    for line in report():
        print(line)
