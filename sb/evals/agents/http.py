"""An agent that is a service: a case is posted to it as JSON, and its answer is the response."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from sb.base.secrets.redaction import one_line
from sb.base.text import human_bytes
from sb.errors import UsageError
from sb.evals.agents.command import failed
from sb.evals.agents.lines import MOST_BYTES, AnswerLines, ProtocolError, read_json, request_document
from sb.evals.agents.process import AgentFailure
from sb.evals.answer import Answer, Task

_CHUNK = 1 << 16
_NOT_SENT = ("home", "folder")  # of this machine


class HttpAgent:
    """Posts each case to an address, and follows no redirect. Its tool calls are those that it reports.

    Raises:
        UsageError: the address is none.
    """

    has_kernel = False
    own_clock = False

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            self._address = urlsplit(name)
            wrong = not self._address.hostname or self._address.port == 0
        except ValueError:
            wrong = True
        if wrong or self._address.username is not None:
            raise UsageError(f"{one_line(name, 100)}: not an address", "such as http://127.0.0.1:8000/run")
        self._lock = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()
        self._stopped = False

    def run(self, task: Task) -> Answer:
        begun = time.monotonic()
        lines, error = AnswerLines(), ""
        try:
            _read(lines, self._post(task, begun + task.timeout_s))
            if not lines.ended:
                raise AgentFailure("its response has no final message")
        except (AgentFailure, ProtocolError) as failure:
            error = failed(str(failure), task, "")
        return lines.answer(error, seconds=time.monotonic() - begun)

    def _post(self, task: Task, until: float) -> bytes:
        kind = http.client.HTTPSConnection if self._address.scheme == "https" else http.client.HTTPConnection
        connection = kind(str(self._address.hostname), self._address.port, timeout=task.timeout_s)
        body = {name: value for name, value in request_document(task).items() if name not in _NOT_SENT}
        with self._lock:
            if self._stopped:
                raise AgentFailure("stopped")
            self._open.add(connection)
        path = (self._address.path or "/") + (f"?{self._address.query}" if self._address.query else "")
        headers = {"Content-Type": "application/json", "Accept": "application/json, application/x-ndjson"}
        try:
            connection.request("POST", path, json.dumps(body, default=str), headers)
            _limit(connection, until)
            response = connection.getresponse()
            content = _content(connection, response, until)
        except TimeoutError:
            raise AgentFailure("timeout") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = "stopped" if self._stopped else f"{type(error).__name__}: {one_line(error, 200)}"
            raise AgentFailure(reason) from None
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()
        if response.status != http.client.OK:
            moved = f", to {response.headers.get('Location', '')}; redirects are not followed"
            more = moved if 300 <= response.status < 400 else ""
            raise AgentFailure(one_line(f"it answered {response.status} {response.reason}{more}", 200))
        return content

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for connection in self._open:
                if connection.sock is not None:
                    with suppress(OSError):
                        connection.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.stop()


def _limit(connection: http.client.HTTPConnection, until: float) -> None:
    """Let the next reading wait no longer than that; raises TimeoutError."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    if connection.sock is not None:
        connection.sock.settimeout(left)


def _content(
    connection: http.client.HTTPConnection, response: http.client.HTTPResponse, until: float
) -> bytes:
    content = b""
    while True:
        _limit(connection, until)
        chunk = response.read1(_CHUNK)
        if not chunk:
            return content
        content += chunk
        if len(content) > MOST_BYTES:
            raise AgentFailure(f"its response has more than {human_bytes(MOST_BYTES)}")


def _read(lines: AnswerLines, content: bytes) -> None:
    """Take a response: lines of JSON, a list of the same, or one object with `output` and `calls`."""
    try:
        document = read_json(content)
    except ValueError:
        for line in content.splitlines():
            lines.add(line)
        return
    read_document(lines, document)


def read_document(lines: AnswerLines, document: Any) -> None:
    """Take an answer that is one JSON value: a list of lines, a line, or an object with `output` and `calls`.

    Raises:
        ProtocolError: it is none of these.
    """
    for line in document if isinstance(document, list) else [document]:
        plain = isinstance(line, dict) and "type" not in line
        lines.add_document({"type": "final", **line} if plain else line)
