"""Files that are older than a call: it moved them to where they are, or an ignore rule hid them before."""

from __future__ import annotations

import ctypes
import os
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

_HERE, _NOT_FOLLOWED, _BIRTH = -100, 0x100, 0x800  # AT_FDCWD, AT_SYMLINK_NOFOLLOW, STATX_BTIME
_MASK_AT, _BIRTH_AT, _LENGTH = 0, 80, 256  # in a struct statx, and its length
_OLDER = "older"  # the field of a row


def born(path: str) -> float | None:
    """The time at which a file was made, in seconds since the epoch; None where the system does not tell."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if (birth := getattr(found, "st_birthtime", None)) is not None:
        return float(birth)
    answer = ctypes.create_string_buffer(_LENGTH)
    try:
        if _libc().statx(_HERE, os.fsencode(path), _NOT_FOLLOWED, _BIRTH, answer) != 0:
            return None
    except AttributeError:  # a C library of before 2018
        return None
    seconds, nanoseconds = struct.unpack_from("qI", answer, _BIRTH_AT)
    return (
        float(seconds + nanoseconds / 1e9) if struct.unpack_from("I", answer, _MASK_AT)[0] & _BIRTH else None
    )


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def is_older(row: Mapping[str, Any]) -> bool:
    """True for the row of a path that was not there before the call, and whose file was."""
    return row.get(_OLDER) is True


def older_files(paths: Iterable[str], at: float, *, by_content: bool = False) -> set[str]:
    """The files and links among the paths that a call made which are older than it, and have no name elsewhere.

    The files of a repository itself count only where all of it came: git renames its own.

    Args:
        at: seconds since the epoch, when the call had not begun.
        by_content: also those whose content alone is older, as that of a file that came from another file system. The
            times of what is unpacked are whole seconds.
    """
    made, found, names = set(paths), dict[str, os.stat_result](), Counter[tuple[int, int]]()
    for path in made:
        repository, inside, _ = path.partition("/.git/")
        if inside and f"{repository}/.git" not in made:
            continue
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if not os.path.isdir(path) or os.path.islink(path):
            found[path] = status
            names[status.st_dev, status.st_ino] += 1

    def is_older_content(status: os.stat_result) -> bool:
        return by_content and status.st_mtime < at and status.st_mtime_ns % 1_000_000_000 != 0

    return {
        path
        for path, status in found.items()
        if names[status.st_dev, status.st_ino] >= status.st_nlink
        and (is_older_content(status) or (born(path) or at) < at)
    }


def marked(rows: Iterable[dict[str, Any]], older: set[str]) -> list[dict[str, Any]]:
    """Rows of paths, with a mark at those that are older than the call."""
    from sb.store.path_states import path_of

    return [item | {_OLDER: True} if path_of(item) in older else item for item in rows]
