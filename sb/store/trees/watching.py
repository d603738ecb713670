"""Watch of a project's folders by inotify: whether anything in them changed since its tree was stored.

The kernel queues an event before the call that caused it returns, so an empty queue means that nothing happened. The
resident helper opens the queue, and its children, which answer hooks, read it; a thread that reads it for them would
lag. What the kernel tells nobody is a write through a mapped file or a link elsewhere: while a program has a file
mapped to write (`mapped`), a watch counts for nothing.
"""

from __future__ import annotations

import errno
import json
import os
import select
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.files import write_atomic

MOST_FOLDERS = 20_000
_MOST_PROJECTS = 4
_STATE, _FOLDERS = "watch.json", "watched.json"
_NEVER = "never"  # in place of a queue: not every folder can be watched
# Of <sys/inotify.h>: what changes content, names or state, and what ends a watch.
_CHANGES = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
_FOLDER_ALONE, _NO_LINK = 0x01000000, 0x02000000
_MADE, _OF_FOLDER = 0x80 | 0x100, 0x40000000
_LOST = 0x400 | 0x800 | 0x2000 | 0x4000 | 0x8000
_REMOTE = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "drvfs", "vboxsf", "prl_fs", "virtiofs")
)
_queues: dict[str, _Queue] = {}
_wanted: set[str] = set()


class _Queue(NamedTuple):
    """A queue of the kernel. `name` tells it from those of earlier helpers."""

    inotify: Any
    name: str


def open_queue(project: str) -> bool:
    """Open the queue of a project, for this process and the children that it makes from now on; False if it is open.

    Raises:
        OSError: the system has none, or none left.
    """
    if project in _queues:
        return False
    from inotify_simple import INotify

    while len(_queues) >= _MOST_PROJECTS:
        close_queue(next(iter(_queues)))
    inotify = INotify(nonblocking=True)
    _queues[project] = _Queue(inotify, f"{os.getpid()}-{inotify.fileno()}-{os.urandom(8).hex()}")
    return True


def close_queue(project: str) -> None:
    """Close the queue of a project."""
    _queues.pop(project).inotify.close()


def wanted() -> set[str]:
    """The projects whose trees this process dealt with, and that have no queue."""
    return _wanted


def queues() -> Collection[str]:
    """The projects that have a queue in this process."""
    return _queues.keys()


class Watch:
    """The watch of one project, while its trees are locked.

    Args:
        home: the folder of its trees. project: absolute.
    """

    def __init__(self, home: Path, project: str) -> None:
        self._home = home
        self._queue = _queues.get(project)
        self._state = self._read(_STATE) if self._queue else {}
        self._covers = self._queue is not None and self._state.get("queue") == self._queue.name
        if self._queue is None:
            _wanted.add(project)

    @property
    def is_missing(self) -> bool:
        """True if there is a queue, and folders that it does not watch."""
        return self._queue is not None and not self._covers and self._state.get("queue") != _NEVER

    def is_quiet(self) -> bool:
        """True if nothing changed since `settle`."""
        if self._queue is None or not self._covers or not self._state.get("clean"):
            return False
        return not select.select([self._queue.inotify], [], [], 0)[0]

    def begin(self) -> None:
        """Forget what happened so far: all is looked at from here on."""
        if self._queue is None:
            return
        self._note(clean=False)  # before they are read: this process may end
        for event in self._queue.inotify.read(timeout=0):
            made = event.mask & _OF_FOLDER and event.mask & _MADE
            self._covers = self._covers and not made and not event.mask & _LOST

    def settle(self, folders: Iterable[str]) -> None:
        """Note that all was looked at since `begin`.

        Args:
            folders: absolute, those that came into view since the last time.
        """
        if self._queue is None:
            return
        if self._covers and (new := set(folders)):
            self._covers = new <= set(self._read(_FOLDERS).get("folders", ()))
        self._note(clean=self._covers)

    def cover(self, folders: Collection[str]) -> bool:
        """Watch folders, which count from the next `begin` on; returns False if there are more than can be watched.

        Args:
            folders: absolute, all of the project that are looked at.
        """
        if self._queue is None:
            return False
        mask = _CHANGES | _FOLDER_ALONE | _NO_LINK
        try:
            if len(folders) > MOST_FOLDERS:
                raise OSError(errno.ENOSPC, "more folders than are watched")
            for folder in folders:
                with suppress(FileNotFoundError, NotADirectoryError):
                    self._queue.inotify.add_watch(folder, mask)
        except OSError:
            self._write(_STATE, {"queue": _NEVER, "clean": False})
            return False
        self._covers = True
        self._write(_FOLDERS, {"folders": sorted(folders)})
        self._note(clean=False)
        return True

    def _note(self, *, clean: bool) -> None:
        known = self._state.get("queue", "") if self._state.get("queue") == _NEVER else ""
        name = self._queue.name if self._queue and self._covers else known
        state = {"queue": name, "clean": clean and self._covers}
        if state != self._state:
            self._write(_STATE, state)
            self._state = state

    def _write(self, name: str, body: dict[str, Any]) -> None:
        write_atomic(self._home / name, json.dumps(body).encode(), durable=False)

    def _read(self, name: str) -> dict[str, Any]:
        try:
            body = json.loads((self._home / name).read_bytes())
        except (OSError, ValueError):
            return {}
        return body if isinstance(body, dict) else {}


def is_watchable(project: str, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """True for a folder of this system's own disks: of others, changes by other machines are not told.

    Args:
        mounts: the system's list.
    """
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    entries = [fields for line in lines if len(fields := line.split(" ")) > 2]
    inside = [
        fields
        for fields in entries
        if f"{project}/".startswith(fields[1].replace("\\040", " ").rstrip("/") + "/")
    ]
    if not inside:
        return False
    kind = max(inside, key=lambda fields: len(fields[1]))[2]
    return kind not in _REMOTE and not kind.startswith("fuse")
