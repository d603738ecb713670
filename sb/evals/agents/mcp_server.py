"""An agent that is a tool of an MCP server: a case is the tool's argument, and its result the answer."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import secrets
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any, TextIO, cast

from sb.base.secrets.redaction import one_line, redact_text
from sb.base.text import nearest, plain
from sb.errors import SBError, UsageError
from sb.evals.agents.command import command_words, failed
from sb.evals.agents.http import read_document
from sb.evals.agents.lines import AnswerLines, ProtocolError, read_json, request_document
from sb.evals.agents.process import LONGEST_LOG, TOKEN, AgentFailure, end_strays
from sb.evals.answer import Answer, Task
from sb.evals.home_calls import HomeWatch
from sb.evals.kernel import environment


class McpAgent:
    """Starts an MCP server for each case, and calls one tool of it.

    Its tool calls are those of the kernel in its home, else those that the result's structured content carries.

    Args:
        line: the server's command line, without a shell. tool: the tool's name.
        start: the folder that relative words of the command line are looked up in.

    Raises:
        UsageError: the extra is not installed, or the line names no program.
    """

    has_kernel = True
    own_clock = False

    def __init__(self, name: str, line: str, tool: str, start: Path) -> None:
        self.name = name
        self._words = command_words(line, start)
        self._tool = tool
        self._token = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._running: set[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = set()
        self._stopped = False
        try:
            importlib.import_module("mcp.client.stdio")
        except ImportError as error:
            raise UsageError(
                f"{name}: agents that speak MCP need an extra: {error}", "pip install 'secondbrain-sb[mcp]'"
            ) from None

    def run(self, task: Task) -> Answer:
        begun = time.monotonic()
        watch = HomeWatch(task.home, task.folder, task.approve)
        lines, error, log = AnswerLines(), "", ""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors, watch.answering():
            try:
                asyncio.run(self._converse(task, lines, errors))
            except (AgentFailure, ProtocolError) as failure:
                error = str(failure)
            errors.seek(max(errors.seek(0, 2) - LONGEST_LOG, 0))
            log = redact_text(plain(errors.read()))
        if error:
            error = failed(error, task, log)
        try:
            calls = watch.calls()
        except SBError as failure:
            calls, error = (), error or f"the calls of its home cannot be read: {failure.message}"
        return lines.answer(error, calls=calls, seconds=time.monotonic() - begun, log=log)

    async def _converse(self, task: Task, lines: AnswerLines, errors: IO[str]) -> None:
        """Ask the server; raises AgentFailure, ProtocolError."""
        asking = asyncio.create_task(self._ask(task, errors))
        entry = (asyncio.get_running_loop(), asking)
        with self._lock:
            self._running.add(entry)
            if self._stopped:
                asking.cancel()
        try:
            async with asyncio.timeout(task.timeout_s):
                result = await asking
        except TimeoutError:
            raise AgentFailure("timeout") from None
        except asyncio.CancelledError:
            raise AgentFailure("stopped") from None
        except AgentFailure:
            raise
        except Exception as failure:  # noqa: BLE001 - the SDK raises groups of whatever its transports meet
            raise AgentFailure(_reason(failure)) from None
        finally:
            with self._lock:
                self._running.discard(entry)
        _take(lines, result)

    async def _ask(self, task: Task, errors: IO[str]) -> Any:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        env = environment(
            task.home, SB_EVAL_SEED=str(task.seed), SB_EVAL_CASE=task.case_id, **{TOKEN: self._token}
        )
        parameters = StdioServerParameters(
            command=self._words[0], args=self._words[1:], env=env, cwd=task.folder
        )
        async with Client(stdio_client(parameters, errlog=cast("TextIO", errors))) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            if self._tool not in tools:
                raise AgentFailure(f"its server has no tool {self._tool!r}{nearest(self._tool, tools)}")
            return await client.call_tool(self._tool, _arguments(tools[self._tool], task))

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for loop, asking in self._running:
                loop.call_soon_threadsafe(asking.cancel)

    def close(self) -> None:
        self.stop()
        end_strays(self._token)


def _arguments(tool: Any, task: Task) -> dict[str, Any]:
    """The arguments of the tool: those parts of the request that its schema names, or the input as its only text."""
    schema = tool.input_schema or {}
    names = list(schema.get("properties") or {})
    request = request_document(task)
    if "input" in names or not names:
        return {name: value for name, value in request.items() if name in names or name == "input"}
    required = list(schema.get("required") or names)
    if len(required) != 1:
        raise AgentFailure(f'its tool takes {", ".join(names)}: name the one for the case\'s input "input"')
    return {required[0]: task.input}


def _take(lines: AnswerLines, result: Any) -> None:
    """Take a tool's result: its structured content, or its text as JSON, where that has an output; else the text."""
    text = "\n".join(part.text for part in result.content if getattr(part, "type", "") == "text")
    if result.is_error:
        raise AgentFailure(f"its tool failed: {one_line(text, 200)}")
    found = result.structured_content
    if found is None:  # a server that declares no schema sends an object as text
        with contextlib.suppress(ValueError):
            found = read_json(text.encode("utf-8", "replace"))
    elif found:
        try:
            found = read_json(json.dumps(found).encode())
        except ValueError as error:
            raise ProtocolError(f"its result {error}") from None
    if isinstance(found, dict) and "output" in found:
        read_document(lines, found)
    else:
        lines.add_document({"type": "final", "output": text})


def _reason(failure: BaseException) -> str:
    """The first failure of what may be a group."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return (
        str(failure)
        if isinstance(failure, AgentFailure)
        else f"{type(failure).__name__}: {one_line(failure, 200)}"
    )
