"""Run test programs in processes of their own, without importing everything each time.

A server imports them once. For each run it forks, and the child becomes `python -m MODULE …` or `python FILE …`: a
process like any other, that a signal may kill. Tests of how a process begins start a real one.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Self

ROOT = Path(__file__).parents[1]
LONGEST_S = 300  # then SIGALRM ends the program


class Started:
    """A program that runs beside the test, with a pipe into it and one out of it, as `subprocess.Popen` has them."""

    def __init__(self, forks: Forks, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self._forks = forks
        self.pid, self.stdin, self.stdout = pid, stdin, stdout

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """The exit code, once it has ended; LONGEST_S after its start it is ended."""
        return self._code

    @cached_property
    def _code(self) -> int:
        return self._forks.answer({"wait": self.pid})


class Forks:
    """Runs programs, one after the other or beside the test; close it, or use it as a context manager.

    Args:
        imports: the modules that are imported once.
    """

    def __init__(self, *imports: str) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__, *imports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=ROOT,
        )

    def run(
        self,
        *command: str,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
    ) -> subprocess.CompletedProcess[str]:
        """Run `-m MODULE …` or `FILE …` as `subprocess.run` would.

        Args:
            env: by default that of this process, as it is now.
        """
        with TemporaryDirectory() as folder:
            streams = [Path(folder, name) for name in ("in", "out", "err")]
            streams[0].write_bytes(input)
            code = self.answer(_request(command, streams, env, cwd))
            out, err = (path.read_text(encoding="utf-8") for path in streams[1:])
        return subprocess.CompletedProcess(command, code, out, err)

    def start(self, *command: str, env: Mapping[str, str], cwd: Path = ROOT) -> Started:
        """Start `-m MODULE …` or `FILE …` as `subprocess.Popen` would, with no stderr."""
        with TemporaryDirectory() as folder:
            pipes = [Path(folder, name) for name in ("in", "out")]
            for pipe in pipes:
                os.mkfifo(pipe)
            request = _request(command, [*pipes, Path(os.devnull)], env, cwd)
            pid = self.answer({**request, "beside": True})
            return Started(self, pid, open(pipes[0], "wb"), open(pipes[1], "rb"))

    def answer(self, request: dict[str, Any]) -> int:
        """The server's answer: an exit code, or the id of a process that was started."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps(request), file=self._server.stdin)
        return int(self._server.stdout.readline())

    def close(self) -> None:
        self._server.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _request(
    command: tuple[str, ...], streams: list[Path], env: Mapping[str, str] | None, cwd: Path
) -> dict[str, Any]:
    return {
        "command": command,
        "streams": list(map(str, streams)),
        "env": dict(os.environ if env is None else env),
        "cwd": str(cwd),
    }


def _serve() -> dict[str, Any] | None:
    """The function that this process was forked to run, or None at the end of the server itself."""
    with os.fdopen(os.dup(0), encoding="utf-8") as requests, os.fdopen(os.dup(1), "w", 1) as answers:
        for line in requests:
            request = dict(json.loads(line))
            child = request.get("wait") or os.fork()
            if not child:
                return request
            beside = "beside" in request
            print(child if beside else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers)
    return None


def _become(request: dict[str, Any]) -> int:
    """Run what was asked for; returns the exit code."""
    signal.alarm(LONGEST_S)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    for number, path in enumerate(request["streams"]):
        mode = os.O_RDWR | os.O_CREAT | os.O_APPEND
        if os.path.exists(path) and stat.S_ISFIFO(
            os.stat(path).st_mode
        ):  # with its other end at the test alone
            mode = os.O_WRONLY if number else os.O_RDONLY
        opened = os.open(path, mode, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    first, *rest = request["command"]
    try:
        if first == "-m":
            sys.argv = rest
            sys.path[0] = request["cwd"]
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = [first, *rest]
            sys.path[0] = str(Path(first).parent)
            runpy.run_path(first, run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> None:
    """End as the interpreter does, but for taking apart what was imported, which takes longer than most programs."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.path[0] = os.getcwd()
    for module in sys.argv[1:]:
        importlib.import_module(module)
    gc.freeze()  # or a child's first collection would copy all that was imported
    asked = _serve()
    if asked is not None:
        _end(_become(asked))
