"""Bubblewrap's options with what it mounts opened before, for a start while other confined commands run.

They can put a link in the place of a folder after it was looked at, which a mount by its path would follow: to the home,
say. Each component is opened here without following links, and the mount is of what was opened.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator, Sequence

from sb.confinement.profile import contains

_BY_NUMBER = {
    "--bind": "--bind-fd",
    "--bind-try": "--bind-fd",
    "--ro-bind": "--ro-bind-fd",
    "--ro-bind-try": "--ro-bind-fd",
}
_FIRST = 40  # above the numbers by which `sb-confine` hands over namespaces and options
_PATH = os.O_CLOEXEC | os.O_NOFOLLOW | getattr(os, "O_PATH", 0)


def opened(options: bytes) -> tuple[bytes, list[int]]:
    """The options, as `bwrap --args` reads them, with the numbers of what is opened, which are inherited.

    Mounts of a path in a folder that confined commands write are changed; what is a link by now, or gone, is left out.
    """
    words = [os.fsdecode(word) for word in options.split(b"\0")[:-1]]
    writable = [words[at + 1] for at in _mounts(words) if words[at] in ("--bind", "--bind-try")]
    numbers, result, at = list[int](), list[str](), 0
    changed = set(_mounts(words))
    while at < len(words):
        path = words[at + 1] if at in changed else ""
        if at not in changed or not any(path != root and contains(root, path) for root in writable):
            result.append(words[at])
            at += 1
            continue
        number = _open(path)
        if number >= 0:
            numbers.append(number)
            result += [_BY_NUMBER[words[at]], str(number), path]
        at += 3
    return b"".join(os.fsencode(word) + b"\0" for word in result), numbers


def _mounts(words: Sequence[str]) -> Iterator[int]:
    """Where a mount of a path on itself begins; of the root there is none."""
    for at, word in enumerate(words[:-2]):
        path = words[at + 1]
        is_mount = word in _BY_NUMBER and path == words[at + 2] and path.startswith("/")
        if is_mount and path not in ("/", "/proc"):
            yield at


def _open(path: str) -> int:
    """A path, opened without following any link; -1 if it is one by now, or gone."""
    handle = os.open("/", _PATH | os.O_DIRECTORY)
    try:
        *above, name = path.strip("/").split("/")
        for folder in above:
            inner = os.open(folder, _PATH | os.O_DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = inner
        found = os.open(name, _PATH, dir_fd=handle)
    except OSError:
        return -1
    finally:
        os.close(handle)
    if stat.S_ISLNK(os.fstat(found).st_mode):
        os.close(found)
        return -1
    number = fcntl.fcntl(found, fcntl.F_DUPFD, _FIRST)
    os.close(found)
    return number
