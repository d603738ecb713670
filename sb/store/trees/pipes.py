"""Named pipes at names that git reads, such as `.gitignore`: git waits in opening one until somebody writes to it.

Git's own files of a folder cannot be hidden from it. So a pipe that it waits at gets a writer for a moment, who writes
nothing: git goes on with an empty file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import field

from sb.base.values.frozen import mutable

_READ = frozenset((".gitignore", ".gitattributes", ".gitmodules"))
_WRITER = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_READER = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_ENTRIES = 2_000_000
_BETWEEN_LOOKS = 200  # entries, at the clock


@mutable
class Pipes:
    """The pipes of one work folder that git may wait at.

    Args:
        work: absolute. known: absolute paths of those that are known already.
    """

    work: str
    known: dict[str, None] = field(default_factory=dict)
    looked: bool = False

    @classmethod
    def of(cls, work: str, names: Iterable[str]) -> Pipes:
        """The pipes of a folder, with those among some relative names that git reads."""
        read = (name for name in names if os.path.basename(name) in _READ or "/.git/" in f"/{name}")
        return cls(work, {f"{work}/{name}": None for name in read})

    def look(self, check: Callable[[], object]) -> None:
        """Find all of them, once; also in nested repositories, which git looks into.

        Args:
            check: raises when there is no more time.
        """
        if self.looked:
            return
        self.looked, waiting, seen = True, [self.work], 0
        while waiting and seen < _MOST_ENTRIES:
            folder = waiting.pop()
            in_repository = f"{folder}/".find("/.git/", len(self.work)) >= 0
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen % _BETWEEN_LOOKS == 0:
                        check()
                    if entry.is_dir(follow_symlinks=False):
                        own = folder == self.work and entry.name == ".git"  # which git does not look into
                        if not own and not (in_repository and entry.name == "objects"):
                            waiting.append(entry.path)
                    elif (in_repository or entry.name in _READ) and is_pipe(entry.path):
                        self.known[entry.path] = None

    def wake(self) -> None:
        """Let who waits at one of them go on."""
        for path in self.known:
            with suppress(OSError):
                _write_nothing(path)


def is_pipe(path: str) -> bool:
    """True for a named pipe; links are not followed."""
    with suppress(OSError):
        return stat.S_ISFIFO(os.lstat(path).st_mode)
    return False


def _write_nothing(path: str) -> None:
    """Open a pipe for writing, if somebody reads it, and close it again; raises OSError."""
    if not is_pipe(path):
        return
    try:
        os.close(os.open(path, _WRITER))
    except PermissionError:  # git may read it, and nobody write
        reader = os.open(path, _READER)
        try:
            mode = stat.S_IMODE(os.fstat(reader).st_mode)
            if is_pipe(path) and stat.S_ISFIFO(os.fstat(reader).st_mode):
                os.fchmod(reader, mode | stat.S_IWUSR)
                try:
                    os.close(os.open(path, _WRITER))
                finally:
                    os.fchmod(reader, mode)
        finally:
            os.close(reader)
