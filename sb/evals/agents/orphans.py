"""Orphans of agents without group or environment: adopted on Linux, and ended with the run."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

_SET_CHILD_SUBREAPER = 36  # of prctl(2)
_MOST_ROUNDS = 100  # each ends a generation of processes, whose children are adopted then


@contextlib.contextmanager
def ending_orphans() -> Iterator[None]:
    """Adopt the orphans of processes that are started inside, and kill them at the end.

    For a process of its own alone, such as the command's: whatever it is the parent of at the end, in another session
    than its own and not there before, counts as left behind. Elsewhere than on Linux nothing is adopted.
    """
    if not _adopt(on=True):
        yield
        return
    before = _children()
    try:
        yield
    finally:
        _end_children(before)
        _adopt(on=False)


def _adopt(*, on: bool) -> bool:
    """Become the parent of orphaned descendants, or no more; whether the system can do so."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(on), 0, 0, 0) == 0)
    except (OSError, AttributeError):  # a C library without it
        return False


def _end_children(spared: set[int]) -> None:
    for _ in range(_MOST_ROUNDS):
        left = _children() - spared
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue
            except PermissionError:  # it took another user's rights: waiting for it could take forever
                spared = spared | {pid}


def _children() -> set[int]:
    """The processes whose parent is this one and whose session is not."""
    own, session, children = os.getpid(), os.getsid(0), set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(fields[1]) == own and int(fields[3]) != session:
            children.add(int(entry.parent.name))
    return children
