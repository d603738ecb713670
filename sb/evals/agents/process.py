"""A process that is spoken to in lines: its time and output are bounded, and with it ends whatever it started."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import one_line, redact_text
from sb.base.text import human_bytes, plain
from sb.evals.agents.lines import LONGEST_LINE, MOST_BYTES

TOKEN = "SB_EVAL_TOKEN"  # in the environment of every process of an agent, so that strays are found
LONGEST_LOG = 8 << 10  # bytes of stderr that are kept, from its end
_TICK_S = 0.05  # seconds after which a stop is noticed
_GRACE_S = 1.0  # seconds that an agent has to end after its answer
_CHUNK = 1 << 16


class AgentFailure(Exception):
    """The agent could not be run to its answer; the message is one line."""


class AgentProcess:
    """One process, in a group of its own.

    Args:
        command: program and arguments. folder: its working folder.
        last_words: the unfinished last line.

    Raises:
        AgentFailure: it cannot be started.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        try:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                cwd=folder,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise AgentFailure(f"cannot start {one_line(command[0], 100)}: {reason}") from None
        self.last_words = b""
        self._lines: deque[bytes] = deque()
        self._log = b""
        self._unsent = b""
        self._closing = False
        self._stopped = False
        self._bytes = 0
        self._selector = selectors.DefaultSelector()
        self._open: set[str] = set()
        for name in ("stdin", "stdout", "stderr"):
            os.set_blocking(self._fd(name), False)
            if name != "stdin":
                self._selector.register(self._fd(name), selectors.EVENT_READ, name)
                self._open.add(name)

    def _fd(self, name: str) -> int:
        descriptor: int = getattr(self._popen, name).fileno()
        return descriptor

    def send(self, document: Mapping[str, Any], *, last: bool) -> None:
        """Queue one line for it; with `last` its input ends there."""
        self._unsent += json.dumps(document, ensure_ascii=True, default=str).encode() + b"\n"
        self._closing = last
        self._bytes, self._log = 0, b""
        if "stdin" not in self._open:
            self._open.add("stdin")
            self._selector.register(self._fd("stdin"), selectors.EVENT_WRITE, "stdin")

    def next_line(self, until: float) -> bytes | None:
        """The next whole line of its output; None at the end of it.

        Args:
            until: on the monotonic clock, when to give up.

        Raises:
            AgentFailure: it took too long, wrote too much, or was stopped.
        """
        while not self._lines:
            if "stdout" not in self._open:
                return None
            self._pump(until)
        return self._lines.popleft()

    def _pump(self, until: float) -> None:
        left = until - time.monotonic()
        if self._stopped:
            raise AgentFailure("stopped")
        if left <= 0:
            raise AgentFailure("timeout")
        for key, _ in self._selector.select(min(left, _TICK_S)):
            if key.data == "stdin":
                self._write()
            else:
                self._read(key.data)

    def _write(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._fd("stdin"), self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it reads no more, which is its own affair
            self._unsent = b""
        if not self._unsent:
            self._forget("stdin")
            if self._closing and self._popen.stdin is not None:
                with contextlib.suppress(OSError):
                    self._popen.stdin.close()

    def _read(self, name: str) -> None:
        try:
            data = os.read(self._fd(name), _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._forget(name)
        elif name == "stderr":
            self._log = (self._log + data)[-LONGEST_LOG:]
        else:
            self._bytes += len(data)
            *whole, self.last_words = (self.last_words + data).split(b"\n")
            self._lines += whole
            if self._bytes > MOST_BYTES or len(self.last_words) > LONGEST_LINE:
                limit = MOST_BYTES if self._bytes > MOST_BYTES else LONGEST_LINE
                what = "output" if limit == MOST_BYTES else "one line"
                raise AgentFailure(f"it wrote more than {human_bytes(limit)} as {what}")

    def _forget(self, name: str) -> None:
        self._open.discard(name)
        self._selector.unregister(self._fd(name))

    def wait(self) -> int | None:
        """The exit status once its answer was read; None if it had to be killed with its group."""
        until = time.monotonic() + _GRACE_S
        with contextlib.suppress(AgentFailure):  # then it is ended
            while self._open & {"stdout", "stderr"} and self._popen.poll() is None:
                self._pump(until)
            while self._open & {"stdout", "stderr"} and self._selector.select(0):
                self._pump(until)
        try:
            code: int | None = self._popen.wait(max(until - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            code = None
        self.kill()
        return code

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def log(self) -> str:
        """The end of what it wrote to stderr since the last line that it was sent, masked."""
        return redact_text(plain(self._log.decode("utf-8", "replace")))

    def rest(self) -> list[bytes]:
        """The lines read and not asked for yet."""
        left = [*self._lines, *([self.last_words] if self.last_words else [])]
        self._lines.clear()
        return left

    def stop(self) -> None:
        """End it from another thread: whoever waits for a line raises."""
        self._stopped = True
        self._signal_group()

    def kill(self) -> None:
        """End it with everything in its group, and close its pipes. Does nothing a second time."""
        self._signal_group()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_GRACE_S)
        self._selector.close()
        for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _signal_group(self) -> None:
        end_group(
            self._popen.pid, leader=self.alive
        )  # the number of one that was waited for may be another's


def end_group(pid: int, *, leader: bool = True) -> None:
    """Kill a process group, if there is one, and its leader unless that was waited for."""
    for end in (os.killpg, os.kill) if leader else (os.killpg,):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)


def ending(code: int) -> str:
    """The end of a process, in words."""
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"it was killed by {name}"


def end_strays(token: str) -> int:
    """Kill the processes that carry this token and left their group; returns how many. Only where /proc lists them."""
    ended = 0
    mark = f"{TOKEN}={token}".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            carries = mark in entry.read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile, or belongs to somebody else
            continue
        if carries and int(entry.parent.name) != os.getpid():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(entry.parent.name), signal.SIGKILL)
                ended += 1
    return ended
