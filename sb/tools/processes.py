"""Processes: run a program in an open folder, and end it with everything that it started."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING

from sb.base.values.frozen import frozen, mutable

if TYPE_CHECKING:
    import selectors
    import subprocess

_CHUNK = 1 << 16
_STDIN_CHUNK = 512  # bytes that POSIX lets a writable pipe take at once
_POLL_S = 0.05
_MOST_DRAINED = 16  # chunks of each pipe, once the program has ended: what a pipe can hold, a megabyte
_REAP_S = 5.0  # a killed process that sleeps in the kernel can take longer; it is then left to the kernel

# For systems where an open folder cannot be named as a path: step into it, then become the program, without what
# Python's own start added to the environment. An error number comes back through a pipe that a successful exec
# closes.
_STEP_IN = """
import os, sys
folder, status = int(sys.argv[1]), int(sys.argv[2])
os.set_inheritable(status, False)
for name in set(os.environ) - set(sys.argv[3].split("=")):
    del os.environ[name]
try:
    os.fchdir(folder)
    os.close(folder)
    os.execvp(sys.argv[4], sys.argv[4:])
except OSError as error:
    os.write(status, str(error.errno).encode("ascii"))
"""


@mutable
class Captured:
    """The first `limit` bytes of a stream."""

    limit: int
    data: bytearray = field(default_factory=bytearray)
    truncated: bool = False

    def add(self, chunk: bytes) -> None:
        room = self.limit - len(self.data)
        self.data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room

    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@frozen
class Ended:
    """The result of a program.

    Args:
        exit_code: negative: the signal that ended it.
        timed_out: it was killed because its time was up.
    """

    exit_code: int
    stdout: Captured
    stderr: Captured
    timed_out: bool


def run_program(
    argv: Sequence[str],
    *,
    folder: int,
    env: Mapping[str, str],
    stdin: bytes,
    timeout_s: float,
    max_output: int,
    step_in: bool = not sys.platform.startswith("linux"),
) -> Ended:
    """Run a program in a session of its own, and kill its process group when it ends, in whatever way.

    Args:
        folder: descriptor of the working folder.
        max_output: bytes of each stream; a program that writes more is killed.
        step_in: enter the folder in a helper process, for systems without /proc.

    Raises:
        OSError: the program cannot be started.
    """
    deadline = time.monotonic() + timeout_s
    process = (
        _start_stepping_in(argv, folder, env) if step_in else _start(argv, env, cwd=f"/proc/self/fd/{folder}")
    )
    run = _Run(process, max_output, stdin)
    try:
        run.pump(deadline)
    finally:
        run.end()
    return Ended(process.returncode, run.stdout, run.stderr, run.timed_out)


def _start(
    argv: Sequence[str], env: Mapping[str, str], *, cwd: str | None = None, pass_fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    import subprocess

    return subprocess.Popen(
        argv,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def _start_stepping_in(argv: Sequence[str], folder: int, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    failed, status = os.pipe()
    with open(failed, "rb") as failure:
        try:
            helper = [sys.executable, "-I", "-S", "-c", _STEP_IN, str(folder), str(status), "=".join(env)]
            process = _start([*helper, *argv], env, pass_fds=(folder, status))
        finally:
            os.close(status)
        number = failure.read()
    if number:
        with process:
            raise OSError(int(number), os.strerror(int(number)), argv[0])
    return process


class _Run:
    """One running program and its three pipes."""

    def __init__(self, process: subprocess.Popen[bytes], max_output: int, stdin: bytes) -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self._process = process
        self._stdin = process.stdin
        self._input = memoryview(stdin)
        self.stdout = Captured(max_output)
        self.stderr = Captured(max_output)
        self._outputs = {process.stdout: self.stdout, process.stderr: self.stderr}
        self.timed_out = False

    def pump(self, deadline: float) -> None:
        """Feed and read the program until it ends, writes too much, or runs out of time."""
        import selectors

        with selectors.DefaultSelector() as selector:
            for pipe, captured in self._outputs.items():
                selector.register(pipe, selectors.EVENT_READ, captured)
            selector.register(self._stdin, selectors.EVENT_WRITE)
            self._feed(selector)
            ended = self._pump_open_pipes(selector, deadline)
        if not ended and not self._over_cap():
            self.timed_out = not self._wait_for_exit(deadline)

    def _pump_open_pipes(self, selector: selectors.BaseSelector, deadline: float) -> bool:
        """True when the program has ended, False when its pipes are closed, it wrote too much or time is up."""
        while selector.get_map() and not self._over_cap():
            if self._has_exited():
                self._kill()  # what it left running may hold the pipes open, and is not waited for
                self._drain(selector)
                return True
            left = deadline - time.monotonic()
            ready = selector.select(min(max(left, 0), _POLL_S))
            if left <= 0:
                return False
            self._move(selector, ready)
        return False

    def _drain(self, selector: selectors.BaseSelector) -> None:
        """Read what is in the pipes, however long that takes: on a busy machine it is there for a while."""
        for _ in range(_MOST_DRAINED):
            ready = selector.select(0)
            if not ready or self._over_cap():
                return
            self._move(selector, ready)

    def _move(
        self, selector: selectors.BaseSelector, ready: Iterable[tuple[selectors.SelectorKey, int]]
    ) -> None:
        for key, _ in ready:
            if key.fileobj is self._stdin:
                self._feed(selector)
            elif chunk := os.read(key.fd, _CHUNK):
                key.data.add(chunk)
            else:
                selector.unregister(key.fileobj)

    def _feed(self, selector: selectors.BaseSelector) -> None:
        """Write what the program takes now, and close its input when that was all, or when it closed it."""
        try:
            written = os.write(self._stdin.fileno(), self._input[:_STDIN_CHUNK]) if self._input else 0
            self._input = self._input[written:]
        except BrokenPipeError:
            self._input = memoryview(b"")
        if not self._input:
            selector.unregister(self._stdin)
            self._stdin.close()

    def _over_cap(self) -> bool:
        return self.stdout.truncated or self.stderr.truncated

    def _wait_for_exit(self, deadline: float) -> bool:
        pause = 0.0005
        while not self._has_exited():
            if time.monotonic() + pause > deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 2, _POLL_S)
        return True

    def _has_exited(self) -> bool:
        """Without reaping it where that can be told: its process group's number must not go to another."""
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # reaped by a host process that ignores SIGCHLD
            return True

    def _kill(self) -> None:
        # Nothing is left in the group, or (on macOS) only processes that have ended.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill what is left of the process group, reap the program and close its pipes."""
        import subprocess

        self._kill()
        for pipe in (self._stdin, *self._outputs):
            pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_S)
