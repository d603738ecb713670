"""MCP on stdin and stdout with bounds: of a message, of requests without an answer, of what waits to be read."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Self, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

_T = TypeVar("_T")
MAX_MESSAGE = 4 << 20  # bytes
MAX_REQUESTS = 64  # without an answer
BUSY = -32_000  # the code of a refused request, from those that JSON-RPC leaves to servers
_READ = 1 << 16  # bytes
_WRITE = 4_096  # bytes that a pipe takes without blocking once it says that it can be written to
# An escape of JSON: a whole character of two halves, half a one (the group), or any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_LAST_ANSWER_S = 2.0  # for a client that no longer reads


@asynccontextmanager
async def bounded_stdio() -> AsyncIterator[tuple[Messages, Answers]]:
    """The two streams that a server runs on. stdin and stdout are ours meanwhile: nothing else reads or writes there.

    One message waits to be written at a time, so while a client does not read, it is not read from either.
    """
    with _own_stdio() as (source, sink):
        sending, written = anyio.create_memory_object_stream[bytes](0)
        async with anyio.create_task_group() as tasks:
            finished = anyio.Event()
            tasks.start_soon(_write_all, sink, written, finished)
            answers = Answers(sending)
            yield Messages(source, answers), answers
            sending.close()
            with anyio.move_on_after(_LAST_ANSWER_S):
                await finished.wait()
            tasks.cancel_scope.cancel()


class Answers:
    """Messages of the server, and the requests that it still owes an answer."""

    def __init__(self, sending: MemoryObjectSendStream[bytes]) -> None:
        self._sending = sending
        self._open: set[str] = set()

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._open.discard(str(message.id))
        await self._write(message)

    async def refuse(self, request: RequestId | None, code: int, reason: str) -> None:
        """Answer with an error, in place of the server."""
        error = ErrorData(code=code, message=reason)
        await self._write(JSONRPCError(jsonrpc="2.0", id=request, error=error))

    async def admit(self, request: JSONRPCRequest) -> SessionMessage | None:
        """The request for the server; None if it was refused, since it is one too many or its id is in use."""
        key = str(request.id)  # the SDK takes 1 and "1" for the same
        if key in self._open:
            await self.refuse(
                request.id, INVALID_REQUEST, f"request {key} is not answered yet: use another id"
            )
            return None
        if len(self._open) >= MAX_REQUESTS:
            await self.refuse(request.id, BUSY, f"{MAX_REQUESTS} requests are not answered yet: wait for one")
            return None
        self._open.add(key)
        return SessionMessage(
            request, ServerMessageMetadata(on_request_unanswered=partial(self._settle, key))
        )

    async def _settle(self, key: str) -> None:
        """A cancelled request gets no answer, and is open no longer."""
        self._open.discard(key)

    async def _write(self, message: JSONRPCMessage) -> None:
        with suppress(anyio.BrokenResourceError):  # the client is gone: its stdin will end as well
            await self._sending.send(
                message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            )

    async def aclose(self) -> None:
        self._sending.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Messages:
    """Messages of the client. Malformed lines are answered with an error, and end nothing."""

    def __init__(self, source: int, answers: Answers) -> None:
        self._lines = _lines(source)
        self._answers = answers

    async def receive(self) -> SessionMessage | Exception:
        async for line in self._lines:
            message = await self._parsed(line)
            if isinstance(message, JSONRPCRequest):
                admitted = await self._answers.admit(message)
                if admitted is not None:
                    return admitted
            elif message is not None:
                return SessionMessage(message)
        raise anyio.EndOfStream

    async def _parsed(self, line: bytes | None) -> JSONRPCMessage | None:
        if line is None:
            await self._answers.refuse(None, INVALID_REQUEST, f"a message has at most {MAX_MESSAGE} bytes")
            return None
        try:
            message = jsonrpc_message_adapter.validate_json(_whole_characters(line), by_name=False)
        except ValidationError as error:
            if any(problem["type"] == "json_invalid" for problem in error.errors(include_input=False)):
                await self._answers.refuse(None, PARSE_ERROR, "not JSON")
            else:
                await self._answers.refuse(None, INVALID_REQUEST, "not a JSON-RPC message")
            return None
        # The SDK takes a request whose id is none for a notification, and its client would wait for ever.
        if isinstance(message, JSONRPCNotification) and "id" in json.loads(line, parse_int=str):
            await self._answers.refuse(None, INVALID_REQUEST, "an id is a text or a whole number")
            return None
        return message

    async def aclose(self) -> None:
        await self._lines.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _lines(source: int) -> AsyncGenerator[bytes | None]:
    """Lines that are not blank; None in place of each one that is too long, which is not kept."""
    rest, too_long = bytearray(), False
    while chunk := await _when_ready(anyio.wait_readable, source, partial(os.read, source, _READ)):
        *ended, begun = chunk.split(b"\n")
        for part in ended:
            rest += part
            if too_long or len(rest) > MAX_MESSAGE:
                yield None
            elif rest.strip():
                yield bytes(rest)
            rest, too_long = bytearray(), False
        if too_long or len(rest) + len(begun) > MAX_MESSAGE:
            rest, too_long = bytearray(), True
        else:
            rest += begun
    if rest.strip():
        yield bytes(rest)


def _whole_characters(line: bytes) -> bytes:
    """JSON with a replacement for each half of a character, which clients leave where they cut a text between them."""
    return _ESCAPE.sub(lambda match: b"\\ufffd" if match[1] else match[0], line) if b"\\u" in line else line


async def _write_all(sink: int, written: MemoryObjectReceiveStream[bytes], finished: anyio.Event) -> None:
    """Write each message whole: whoever sent it may be cancelled meanwhile."""
    with written, suppress(BrokenPipeError):
        async for message in written:
            for start in range(0, len(message), _WRITE):
                left = message[start : start + _WRITE]
                while left:
                    left = left[await _when_ready(anyio.wait_writable, sink, partial(os.write, sink, left)) :]
    finished.set()


async def _when_ready(wait: Callable[[int], Awaitable[None]], stream: int, act: Callable[[], _T]) -> _T:
    """The result of an act on a stream once that would not block."""
    with suppress(PermissionError):  # from epoll, for a file: that is always ready
        await wait(stream)
    return act()


@contextmanager
def _own_stdio() -> Iterator[tuple[int, int]]:
    """stdin and stdout as descriptors of our own. Others find nothing in stdin, and write to stderr."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        sys.stdout.flush()
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(sink, 1)
        for descriptor in (source, sink, nothing):
            os.close(descriptor)
