"""A session as Claude Desktop has it: with the entry that `sb install claude-desktop --mcp` writes, and an operator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM = Path(sys.executable).parent / "sb"
_CONFIG = """files:
  roots: [{folder}]
agents:
  claude-desktop:
    tools: [files.read, files.write, files.delete]
    ceiling: local_write
policy:
- {{approve: files.delete, reason: exports are kept for seven years}}
"""
_CALL = {"tool": "files.delete", "args": {"path": "exports/2025.csv"}}
_SHOWN = ("state", "decision", "request", "change", "id", "text", "next", "detail")


class Step(NamedTuple):
    """One step of the session.

    Args:
        asked: the tool call as the model makes it, or the operator's command line.
        answer: the tool's answer; that of a command as `printed`.
    """

    asked: str
    answer: dict[str, Any]

    def lines(self) -> str:
        """The answer in short, for a picture."""
        if "printed" in self.answer:
            return str(self.answer["printed"])
        found = self.answer.get("result")
        answer = found[0] if isinstance(found, list) and found else self.answer
        return "\n".join(f"  {name}: {answer[name]}" for name in _SHOWN if answer.get(name))


def play_session(person: Path) -> list[Step]:
    """Play it in this folder, which becomes the home folder of a person with one project, `shop`.

    Raises:
        CalledProcessError: a command failed. RuntimeError: a call was answered with an error.
    """
    exports = person / "shop" / "exports"
    exports.mkdir(parents=True)
    (exports / "2025.csv").write_text("order,cents\n1002,1900\n", encoding="utf-8")
    home = person / ".sb"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(_CONFIG.format(folder=exports.parent), encoding="utf-8")
    run_sb(person, "install", "claude-desktop", "--mcp", "--yes")
    (file,) = person.rglob("claude_desktop_config.json")
    entry = json.loads(file.read_bytes())["mcpServers"]["secondbrain"]
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=_environment(person), cwd=exports.parent
    )
    return anyio.run(_played, server, person)


async def _played(server: StdioServerParameters, person: Path) -> list[Step]:
    steps: list[Step] = []
    async with Client(stdio_client(server)) as client:

        async def call(tool: str, /, **arguments: Any) -> dict[str, Any]:
            answer = await client.call_tool(tool, arguments)
            if answer.is_error:
                raise RuntimeError(f"{tool}: {answer.content}")
            asked = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
            steps.append(Step(f"{tool}({asked})", dict(answer.structured_content or {})))
            return steps[-1].answer

        async def agreed(request: str, reason: str) -> None:
            arguments = ("approvals", "approve", request, "--reason", reason)
            printed = await anyio.to_thread.run_sync(lambda: run_sb(person, *arguments))
            line = f'$ sb approvals approve {request} --reason "{reason}"'
            steps.append(Step(line, {"printed": printed}))

        await call("remember", content="Grace wants her refund of order 1002 by Friday.")
        await call("search", query="when does Grace want her refund?")
        waiting = await call("call_tool", **_CALL)
        await agreed(waiting["request"], "the books are closed")
        done = await call("call_tool", **_CALL)
        undo = {"change": done["change"], "reason": "2025 is needed"}
        undone = await call("undo_call", **undo)
        if undone["state"] == "waiting":
            await agreed(undone["request"], "bring it back")
            await call("undo_call", **undo)
    return steps


def run_sb(person: Path, *arguments: str) -> str:
    """The output of `sb` for this person."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        env=_environment(person),
        cwd=person,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _environment(person: Path) -> dict[str, str]:
    return {"HOME": str(person), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
