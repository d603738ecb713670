"""A client of `sb serve mcp` over stdio: one process, one request at a time. It needs nothing but Python."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import threading
from typing import Any

REVISION = "2025-11-25"  # of the Model Context Protocol


class ServerError(RuntimeError):
    """The server cannot be started, or does not answer."""


class Client:
    """Asks `sb` as one agent. The process starts with the first request, and again if it has ended.

    Args:
        agent: the name that permissions and memories go by.
        timeout_s: how long an answer may take.
    """

    def __init__(self, agent: str, timeout_s: float = 60.0) -> None:
        program = os.environ.get("SECONDBRAIN_SB", "sb")
        self._command = [
            program, "serve", "mcp", "--agent", agent, "--toolset", "core", "--toolset", "kernel"
        ]  # fmt: skip
        self._timeout_s = timeout_s
        self._alone = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()
        self._last_id = 0

    def tools(self) -> list[dict[str, Any]]:
        """Its tools: `name`, `description` and `inputSchema`."""
        with self._alone:
            return list(self._request("tools/list", {})["tools"])

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        """Call a tool; returns whether it worked, and what a model should read.

        Raises:
            ServerError: there was no answer.
        """
        with self._alone:
            answer = self._request("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in answer["content"])
        return not answer.get("isError", False), text

    def close(self) -> None:
        """End the process."""
        with self._alone:
            self._end()

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            self._start()
        return self._answer(method, params)

    def _start(self) -> None:
        self._end()
        self._lines = queue.Queue()
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
            )
        except OSError as error:
            raise ServerError(f"{self._command[0]} cannot be started: {error.strerror}") from error
        threading.Thread(target=_read, args=(self._process, self._lines), daemon=True).start()
        about = {"name": "secondbrain-plugin", "version": "0.1.0"}
        params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": about}
        self._answer("initialize", params)
        self._send({"method": "notifications/initialized"})

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        while True:
            try:
                line = self._lines.get(timeout=self._timeout_s)
            except queue.Empty:
                line = ""
            if not line:
                self._end()
                raise ServerError(f"no answer to {method}: see `sb serve mcp --doctor`")
            message = json.loads(line)
            if message.get("id") == self._last_id and "method" not in message:
                if "error" in message:
                    raise ServerError(message["error"]["message"])
                return dict(message["result"])

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
            # Half characters, which no JSON may hold, become question marks.
            self._process.stdin.write(text.encode(errors="replace").decode() + "\n")
            self._process.stdin.flush()
        except OSError as error:
            self._end()
            raise ServerError(f"sb has ended: {error.strerror}") from error

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(timeout=5)  # it ends when its stdin is closed
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put("")
