"""Opens the agent that a reference names: a function, a command, a service, a server's tool, or recorded runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.config import Config
from sb.errors import UsageError
from sb.evals.agents.agent import AgentUnderTest

KINDS = (
    "python:MODULE:FUNCTION",
    'cmd:"COMMAND LINE"',
    "http://HOST:PORT/PATH",
    'mcp:"COMMAND LINE"#TOOL',
    "recorded:FILE",
)
_LONGEST = 100  # characters of a reference in a message


def open_agent(
    reference: str, *, config: Config, start: Path, scratch: Path, reuse: bool = False
) -> AgentUnderTest:
    """The agent that is named.

    Args:
        reference: one of `KINDS`.
        config: of this process, for recordings.
        start: the folder in which it was named. scratch: an empty folder for its processes.
        reuse: let one process of a command answer several cases.

    Raises:
        UsageError: it names none, or it cannot be loaded.
    """
    kind, _, rest = reference.partition(":")
    if reuse and kind != "cmd":
        raise UsageError("--reuse is for cmd: agents", "leave it out")
    openers: dict[str, Callable[[], AgentUnderTest]] = {
        "python": lambda: _module("python").PythonAgent(reference, rest, start, scratch),
        "cmd": lambda: _module("command").CommandAgent(
            reference, _unquoted(rest), start, scratch, reuse=reuse
        ),
        "http": lambda: _module("http").HttpAgent(reference),
        "https": lambda: _module("http").HttpAgent(reference),
        "mcp": lambda: _mcp(reference, rest, start),
        "recorded": lambda: _module("recorded").RecordedAgent.of_file(reference, start / rest, config),
    }
    if kind not in openers or not rest:
        hint = "one of: " + ", ".join(KINDS)
        raise UsageError(f"{one_line(reference, _LONGEST)!r} names no agent", hint)
    return openers[kind]()


def open_run(run_id: str, config: Config) -> AgentUnderTest:
    """A run of the log in place of an agent; raises NotFoundError, StoreError."""
    agent: AgentUnderTest = _module("recorded").RecordedAgent.of_run(run_id, config)
    return agent


def _module(name: str) -> Any:
    """A kind of agent, loaded only where it is named."""
    return import_module(f"sb.evals.agents.{name}")


def _mcp(reference: str, rest: str, start: Path) -> AgentUnderTest:
    line, mark, tool = rest.rpartition("#")
    if not mark or not line or not tool:
        raise UsageError(f"{one_line(reference, _LONGEST)}: names no tool", 'mcp:"COMMAND LINE"#TOOL')
    agent: AgentUnderTest = _module("mcp_server").McpAgent(reference, _unquoted(line), tool, start)
    return agent


def _unquoted(line: str) -> str:
    """A command line without the quotes around all of it, which a shell has taken away already if one was there."""
    if len(line) > 1 and line[0] == line[-1] and line[0] in "'\"" and line[0] not in line[1:-1]:
        return line[1:-1]
    return line
