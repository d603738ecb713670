"""The resident helper of a home, from outside: start it, tell whether it runs, end it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from sb.config.home import Home

COMMAND = "resident"  # what starts it, of the file that hooks start with
LOCK, SOCKET, SECRET, STARTING = "lock", "socket", "secret", "starting"
RUN = "run"  # where a confined host finds the pass of its run
LONGEST_PATH = 100  # bytes of a socket's path: macOS takes 103, Linux 107
_RETRY_S = 60.0  # after a start that led to nothing
_POLL_S = 0.02
# Clean, and without the threads of a library for arithmetic, which would not survive a fork.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
_OF_A_USER = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


class Running(NamedTuple):
    """A helper that runs.

    Args:
        since: seconds since the epoch. version: the folder of `SB_HOME/runtime` that it was started from.
    """

    pid: int
    since: float
    version: str


def running(home: Home) -> Running | None:
    """The helper of a home; None if there is none."""
    with _lock_of(home) as lock:
        return None if lock is None or _is_free(lock) else _read(lock)


def has_no_path(home: Home) -> bool:
    """True if the path of a home is too long for a socket in it."""
    return len(os.fsencode(home.resident / SOCKET)) > LONGEST_PATH


def start(home: Home, start: str, python: str = "") -> None:
    """Start a helper, unless that was tried just now; it outlives this process.

    Args:
        start: the file that hooks start with. python: the interpreter, by default this one.
    """
    if has_no_path(home):
        return
    folder = home.resident
    folder.mkdir(mode=0o700, exist_ok=True)
    stamp = folder / STARTING
    with contextlib.suppress(FileNotFoundError):
        if abs(time.time() - stamp.stat().st_mtime) < _RETRY_S:
            return
    stamp.touch(mode=0o600)
    caches = ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
    python = python or sys.executable
    command = [python, "-I", "-S", *caches, start, COMMAND, str(home.folder)]
    nowhere = [
        (os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in range(3)
    ]  # a host that waits for the end of our output does not wait for the helper
    # For what confined commands ask; whoever asks from outside sends an environment.
    own = {name: os.environ[name] for name in _OF_A_USER if name in os.environ}
    os.posix_spawn(python, command, {**_ENVIRONMENT, **own}, file_actions=nowhere)


def kill(home: Home) -> None:
    """End a helper that hangs, and all that it judges; whoever waits for that judges by itself."""
    found = running(home)
    if found is not None:
        _signal(found.pid, signal.SIGKILL)


def stop(home: Home, *, wait_s: float = 2.0) -> bool:
    """End the helper of a home; returns whether one was running.

    Args:
        wait_s: seconds until it is killed.
    """
    found = running(home)
    if found is None:
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(found.pid, number)
        until = time.monotonic() + wait_s
        while (now := running(home)) is not None and now.pid == found.pid and time.monotonic() < until:
            time.sleep(_POLL_S)
    return True


def remove(home: Home) -> None:
    """End the helper of a home, and remove its folders."""
    import shutil  # with three libraries for compression, which a hook that starts a helper need not load

    stop(home)
    for folder in (home.resident, home.helper):
        shutil.rmtree(folder, ignore_errors=True)


def make_folders(home: Home) -> None:
    """Make the folders that a helper has its sockets in: what is there can be closed to confined commands.

    Raises:
        OSError: they cannot be made.
    """
    for folder in (home.resident, home.helper, home.helper / RUN):
        folder.mkdir(mode=0o700, exist_ok=True)


def _signal(pid: int, number: signal.Signals) -> None:
    """To the helper and its children: it leads a process group of its own."""
    with contextlib.suppress(OSError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, number)


@contextlib.contextmanager
def _lock_of(home: Home) -> Iterator[int | None]:
    try:
        lock = os.open(home.resident / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield lock
    finally:
        os.close(lock)


def _is_free(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(lock: int) -> Running | None:
    try:
        record = json.loads(os.read(lock, 4096))
        pid = int(record["pid"])
        return Running(pid, float(record["since"]), str(record["version"])) if pid > 1 else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
