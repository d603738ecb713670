"""A child of the helper: it waits, answers one request as the process of whoever asks would, and ends."""

from __future__ import annotations

import io
import marshal
import os
import select
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from sb.resident import wire
from sb.resident.client import ANSWERED, OTHER

MESSAGE = 5  # bytes of what a child tells its parent: its pid and one of these
BUSY, END = b"B", b"E"
_GREETING_S = 2.0  # until a client has sent its request; it has read all of it before


class Post(NamedTuple):
    """What a child needs to judge whom it answers.

    Args:
        secret: of the home. start: the version, as clients name it. place: what a client's must equal.
        stamps: of the code on disk as it is now. loaded: as it was when it was imported.
    """

    secret: bytes
    start: str
    place: tuple[object, ...]
    stamps: Callable[[], tuple[object, ...]]
    loaded: tuple[object, ...]


def work(listener: socket.socket, lifeline: int, tell: int, post: Post) -> NoReturn:
    """Wait for a request, answer it, and end the process.

    Args:
        lifeline: a pipe that ends with the parent. tell: the pipe to the parent.
    """
    try:
        connection = _accepted(listener, lifeline)
        listener.close()

        def report(what: bytes) -> None:
            os.write(tell, os.getpid().to_bytes(MESSAGE - 1, "big") + what)

        report(BUSY)
        _answer(connection, post, report)
    except (OSError, wire.Untrusted, ValueError, EOFError):
        pass  # who asked has gone, or is nobody to answer
    finally:
        os._exit(0)


def _accepted(listener: socket.socket, lifeline: int) -> socket.socket:
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(lifeline, select.POLLIN)
    while True:
        if any(descriptor == lifeline for descriptor, _ in poll.poll()):
            os._exit(0)
        try:
            return listener.accept()[0]
        except BlockingIOError:  # the client has gone again
            continue


def _answer(connection: socket.socket, post: Post, report: Callable[[bytes], None]) -> None:
    connection.settimeout(_GREETING_S)
    wire.check_peer(connection)
    theirs = wire.exactly(connection, wire.CHALLENGE)
    mine = os.urandom(wire.CHALLENGE)
    key = post.secret + theirs + mine
    said = mine + os.getpid().to_bytes(4, "big")
    connection.sendall(said + wire.proof(key, wire.GREETED, said))
    start, place, surroundings, request = marshal.loads(wire.receive(connection, key, wire.REQUEST))

    def send(*fields: object) -> None:
        wire.send(connection, key, wire.ANSWER, marshal.dumps(fields))

    current = start == post.start and post.stamps() == post.loaded
    if not current:
        report(END)
    if not current or place != post.place or not _become(*surroundings):
        send(OTHER)
        return
    _hook(request, send, report)


def _become(environment: dict[bytes, bytes], folder: bytes, umask: int) -> bool:
    """Take over the environment, folder and umask of whoever asks; returns whether that was possible."""
    os.environ.clear()
    os.environb.update(environment)
    os.umask(umask)
    try:
        os.chdir(folder)
    except OSError:
        return False
    time.tzset()
    tempfile.tempdir = None
    return True


def _hook(request: tuple[Any, ...], send: Callable[..., None], report: Callable[[bytes], None]) -> None:
    from sb.hosts.hooks.event import Answer
    from sb.hosts.hooks.main import Given, main

    _, arguments, data, nonce = request

    def deliver(answer: Answer) -> None:
        texts = (answer.stdout, answer.stderr)
        send(ANSWERED, answer.code, *(text.encode("utf-8", "backslashreplace") for text in texts))

    def afterwards(config: Any) -> None:
        if config is not None and not config.hooks.resident:
            report(END)

    sys.stdin = io.TextIOWrapper(io.BytesIO())
    main(arguments, Given(data, nonce, answer=deliver, afterwards=afterwards))
