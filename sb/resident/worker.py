"""A child of the helper: it waits, answers one request as the process of whoever asks would, and ends."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import marshal
import os
import select
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from sb.config.home import Home
from sb.hosts.hooks.event import HookAnswer
from sb.hosts.hooks.main import Given, main
from sb.hosts.hooks.opening import Opening
from sb.hosts.runs import Run, Runs
from sb.resident import wire
from sb.resident.client import ANSWERED, OTHER, REFUSED
from sb.resident.confined import REFUSED_CODE, Asked, environment_for, read_request, refusal
from sb.resident.warming import Hint, prepare, rehearse

PID_BYTES = 4
BUSY, END, HINT, MORE, WATCH = b"B", b"E", b"H", b"M", b"W"  # what a child tells its parent, after its pid
HOOK = "hook"
_LOADED_FOR_MEMORY = "numpy"
PACKAGE = os.path.dirname(sys.modules["sb"].__file__ or "")
_STREAMS = 3
_UMASK = 0o077  # for confined commands
LONGEST_NEWS = 16_384  # bytes
_QUIET_S = (
    10.0  # without a request until databases are tidied up: longer than a model takes between two calls
)
_GREETING_S = 2.0  # until a client has sent its request; it has read all of it before


class Post(NamedTuple):
    """Facts by which a child judges whom it answers.

    Args:
        home: whose helper this is.
        secret: of the home. inside: the one for confined commands.
        start: the version, as clients name it. place: the digest that a client's must equal.
        stamps: of the code on disk as it is now. loaded: as it was when it was imported.
        rehearsal: the home to rehearse in. hint: what to prepare for, if that is known.
    """

    home: Home
    secret: bytes
    inside: bytes
    start: str
    place: bytes
    stamps: Callable[[], tuple[object, ...]]
    loaded: tuple[object, ...]
    rehearsal: Path
    hint: Hint | None = None


class Listeners(NamedTuple):
    """The sockets of a helper: for hooks and people, and for confined commands."""

    outside: socket.socket
    inside: socket.socket


def work(listeners: Listeners, lifeline: int, parent: socket.socket, post: Post) -> NoReturn:
    """Wait for a request, answer it, and end the process.

    Args:
        lifeline: a pipe that ends with the parent. parent: takes the news of this process.
    """
    gc.disable()  # it ends after one answer, and nobody is to wait for a look at all that was rehearsed
    try:
        child = _Child(parent, post)
        if not _is_asked(listeners):
            child.make_ready()
        accepted = _accepted(listeners, lifeline, child.opening.tidy)
        for listener in listeners:
            listener.close()
        if accepted is None:
            child.opening.close()
        else:
            child.tell(BUSY)
            child.answer(*accepted)
    except (OSError, wire.Untrusted, ValueError, EOFError):
        pass  # who asked has gone, or is nobody to answer
    finally:
        os._exit(0)


def _is_asked(listeners: Listeners) -> bool:
    return bool(select.select(listeners, [], [], 0)[0])


def _accepted(
    listeners: Listeners, lifeline: int, tidy: Callable[[], bool]
) -> tuple[socket.socket, bool] | None:
    """The next client, and whether it is a confined one; None when the parent has ended.

    Args:
        tidy: called when nobody has asked for a while, and again at once as long as it says that there is more to do.
    """
    poll = select.poll()
    for listener in listeners:
        poll.register(listener, select.POLLIN)
    poll.register(lifeline, select.POLLIN)
    wait_ms: float | None = _QUIET_S * 1000
    while True:
        ready = poll.poll(wait_ms)
        if not ready:
            wait_ms = 0.0 if tidy() else None
            continue
        asked = [descriptor for descriptor, _ in ready]
        if lifeline in asked:
            return None
        inside = listeners.outside.fileno() not in asked
        try:
            return listeners[inside].accept()[0], inside
        except BlockingIOError:  # another child has it, or it has gone
            continue


class _Child:
    """One request, before it comes and while it is answered."""

    def __init__(self, parent: socket.socket, post: Post) -> None:
        self._parent = parent
        self._post = post
        self.opening = Opening()
        self._rehearsed: Opening | None = None

    def tell(self, what: bytes, more: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # it has ended, and needs no news
            self._parent.send(os.getpid().to_bytes(PID_BYTES, "big") + what + more)

    def make_ready(self) -> None:
        """Do beforehand what does not depend on the request; if that fails, the request takes longer."""
        with contextlib.suppress(Exception):
            self._rehearsed = rehearse(self._post.rehearsal)
        with contextlib.suppress(Exception):
            if self._post.hint is not None:
                self.opening = prepare(self._post.hint)

    def answer(self, connection: socket.socket, inside: bool) -> None:
        """Answer a client that proves that it knows the secret of the socket that it came by.

        Args:
            inside: it came by the one for confined commands.
        """
        post = self._post
        connection.settimeout(_GREETING_S)
        wire.check_peer(connection)
        if not inside:
            wire.check_peers_place(connection)
        theirs, mine = wire.exactly(connection, wire.CHALLENGE), os.urandom(wire.CHALLENGE)
        name = wire.exactly(connection, wire.RUN) if inside else wire.NO_RUN
        key = self._secret(inside, name) + theirs + mine
        greeting = mine + post.place + os.getpid().to_bytes(PID_BYTES, "big")
        connection.sendall(greeting + wire.proof(key, wire.GREETED, greeting))
        files = socket.recv_fds(connection, 1, _STREAMS)[1]
        message = wire.receive(connection, key, wire.REQUEST)

        def send(*fields: int | bytes) -> None:
            wire.send(connection, key, wire.ANSWER, marshal.dumps(fields))

        loaded = post.stamps() == post.loaded
        if inside:
            self._answer_inside(name.hex(), loaded, read_request(message), files, connection, send)
            return
        version, (kind, *more), surroundings = marshal.loads(message)
        same = version == (post.start if kind == HOOK else PACKAGE)
        if not loaded or (kind == HOOK and not same):
            self.tell(END)
        if not (loaded and same) or not _become(*surroundings):
            send(OTHER)
        elif kind == HOOK:
            self._hook(more[0], more[1], more[2], send)
        else:
            self._run(more[0], files, connection, send)

    def _secret(self, inside: bool, name: bytes) -> bytes:
        """The secret that a client must know.

        Args:
            name: of the run that it belongs to.

        Raises:
            OSError, Untrusted: there is no such run.
        """
        if not inside:
            return self._post.secret
        if name == wire.NO_RUN:
            return self._post.inside
        return wire.pass_in(os.fsencode(Runs(self._post.home).pass_of(name.hex())))[1]

    def _answer_inside(
        self,
        name: str,
        loaded: bool,
        asked: Asked,
        files: list[int],
        connection: socket.socket,
        send: Callable[..., None],
    ) -> None:
        """Answer a confined command, whatever version it has: hooks of a run, and the few commands of the table.

        Args:
            name: of the run, in hexadecimal digits. loaded: this process has the code that is installed now.
        """
        run: Run | None = Runs(self._post.home).find(name)
        environment = environment_for(self._post.home, asked.environment, run)
        if not loaded:
            self.tell(END)
            send(OTHER)
        elif asked.kind == HOOK and run is not None:
            _become(environment, b"/", _UMASK)
            self._hook(asked.arguments, asked.data, asked.nonce, send, name)
        elif asked.kind == HOOK or not _become(environment, asked.folder, _UMASK):
            send(REFUSED)
        elif reason := refusal(asked.arguments):
            send(ANSWERED, REFUSED_CODE, b"", f"sb: {reason}\n".encode("utf-8", "backslashreplace"))
        else:
            self._run(asked.arguments, files, connection, send)

    def _hook(
        self, arguments: list[str], data: bytes, nonce: str, send: Callable[..., None], run: str = ""
    ) -> None:
        def deliver(answer: HookAnswer) -> None:
            texts = (answer.stdout, answer.stderr)
            send(ANSWERED, answer.code, *(text.encode("utf-8", "backslashreplace") for text in texts))

        def afterwards(config: Any, cwd: str) -> None:
            if config is not None and not config.hooks.resident:
                self.tell(END)
            elif config is not None:
                if _LOADED_FOR_MEMORY in sys.modules:  # a session began or ended
                    self.tell(MORE)
                hint = json.dumps(Hint.here(cwd)).encode()
                self.tell(HINT, hint if len(hint) < LONGEST_NEWS - PID_BYTES - 1 else b"null")
                self._watch(config)

        sys.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        given = Given(data, nonce, answer=deliver, afterwards=afterwards, opening=self.opening, run=run)
        main(arguments, given)

    def _watch(self, config: Any) -> None:
        """Have the projects watched whose trees this process dealt with; a later process needs not look at all of one."""
        used = sys.modules.get("sb.store.trees.watching")
        for project in used.wanted() if used is not None else ():
            self.tell(WATCH, os.fsencode(project))
        for project in used.queues() if used is not None else ():
            from sb.hosts.hooks.snapshots.warm_tree import watch

            watch(config, project)

    def _run(
        self,
        arguments: list[str],
        files: list[int],
        connection: socket.socket,
        send: Callable[..., None],
    ) -> None:
        """Run a command on the terminal of whoever asks, and end with them."""
        for number, descriptor in enumerate(files):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - open to the end
            for number, mode in enumerate("rww")
        )
        connection.settimeout(None)
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        from sb.cli import run

        gc.enable()  # a command may take long, and make much
        code = int(run(arguments))
        sys.stdout.flush()
        sys.stderr.flush()
        self.tell(MORE)
        send(ANSWERED, code, b"", b"")


def _end_with(connection: socket.socket) -> None:
    """End this process when the client has gone: its person has interrupted it."""
    if not connection.recv(1):
        os._exit(0)


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
