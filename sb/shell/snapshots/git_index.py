"""Reads git's index: which files are tracked, and which of them differ from it."""

from __future__ import annotations

import os
import stat
import struct
from hashlib import sha256
from typing import NamedTuple

from sb.shell.snapshots.git_objects import LINK_MODE, Unreadable, blob_id

_MOST_BYTES = 64 << 20  # of an index, and of all files whose content is compared
_FIXED = struct.Struct(">10I20sH")
_EXTENDED, _STAGE, _ASSUME_VALID = 0x4000, 0x3000, 0x8000
_SKIP_WORKTREE, _INTENT_TO_ADD = 0x4000, 0x2000
# Extensions without which an index says all; others may change what it means.
_HARMLESS = (b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT")


class Tracked(NamedTuple):
    """One entry of the index.

    Args:
        times: of change and of modification, seconds and nanoseconds each.
        stage: 0 unless it is in conflict. unsure: git was told not to look at the file, or it is only to be added.
    """

    mode: int
    sha: str
    size: int
    times: tuple[int, int, int, int]
    inode: int
    stage: int
    unsure: bool


class Index(NamedTuple):
    """The entries of an index by path, and when it was written (nanoseconds)."""

    entries: dict[str, Tracked]
    written: int

    def conflict(self) -> str:
        """A path that is in conflict, or ""."""
        return next((path for path, entry in self.entries.items() if entry.stage), "")


def read_index(path: str) -> Index:
    """Read an index file of version 2, 3 or 4; an absent one is empty.

    Raises:
        Unreadable: it is a split or sparse index, damaged, or too large.
    """
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            raise Unreadable(f"{path} is no file, or too large")
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return Index({}, 0)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None
    try:
        return Index(_entries(data), status.st_mtime_ns)
    except (struct.error, IndexError, ValueError) as error:
        raise Unreadable(f"the index is damaged: {error}") from None


def tracked_digest(path: str) -> str:
    """A digest of all that is staged, which `git status` leaves as it is though it writes the file; "" if unreadable."""
    try:
        entries = read_index(path).entries
    except Unreadable:
        return ""
    rows = (
        f"{name}\0{entry.mode}\0{entry.sha}\0{entry.stage}\0{entry.unsure}" for name, entry in entries.items()
    )
    return sha256("\n".join(rows).encode("utf-8", "surrogateescape")).hexdigest()


def _entries(data: bytes) -> dict[str, Tracked]:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise Unreadable("the index has an unknown version")
    found: dict[str, Tracked] = {}
    at, before = 12, b""
    for _ in range(count):
        cs, cn, ms, mn, _, inode, mode, _, _, size, sha, flags = _FIXED.unpack_from(data, at)
        name_at = at + _FIXED.size
        extended = 0
        if flags & _EXTENDED:
            extended = struct.unpack_from(">H", data, name_at)[0]
            name_at += 2
        if version == 4:
            strip, name_at = _varint(data, name_at)
            end = data.index(b"\0", name_at)
            if strip > len(before):
                raise ValueError("a name")
            name = before[: len(before) - strip] + data[name_at:end]
            at = end + 1
        else:
            end = data.index(b"\0", name_at)
            name = data[name_at:end]
            at += (end - at + 8) & ~7
        before = name
        unsure = bool(flags & _ASSUME_VALID or extended & (_SKIP_WORKTREE | _INTENT_TO_ADD))
        path = name.decode("utf-8", "surrogateescape")
        found[path] = Tracked(mode, sha.hex(), size, (cs, cn, ms, mn), inode, (flags & _STAGE) >> 12, unsure)
    while at < len(data) - 20:
        extension, length = struct.unpack_from(">4sI", data, at)
        if extension not in _HARMLESS:
            raise Unreadable("the index is split or sparse")
        at += 8 + length
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at, value = at + 1, byte & 0x7F
    while byte & 0x80:
        byte = data[at]
        at, value = at + 1, (value + 1) << 7 | (byte & 0x7F)
    return value, at


class Comparison:
    """Compares working files with the index, as git does: by what the system says of a file, else by content."""

    def __init__(self, root: str, index: Index) -> None:
        self._root = root
        self._index = index
        self._left = _MOST_BYTES

    def differs(self, path: str) -> bool:
        """True if a working file may differ from its entry; a missing one does."""
        entry = self._index.entries[path]
        place = f"{self._root}/{path}"
        try:
            status = os.lstat(place)
        except OSError:
            return True
        executable = bool(status.st_mode & 0o100)
        if stat.S_ISLNK(status.st_mode) != (entry.mode == LINK_MODE) or entry.unsure:
            return True
        if stat.S_ISREG(status.st_mode) and executable != bool(entry.mode & 0o100):
            return True
        if not stat.S_ISREG(status.st_mode):
            return not stat.S_ISLNK(status.st_mode) or blob_id(os.fsencode(os.readlink(place))) != entry.sha
        times = (*divmod(status.st_ctime_ns, 10**9), *divmod(status.st_mtime_ns, 10**9))
        same = times == entry.times and status.st_ino & 0xFFFFFFFF == entry.inode
        same = same and status.st_size & 0xFFFFFFFF == entry.size and status.st_mtime_ns < self._index.written
        return not same and self._content_differs(place, status.st_size, entry)

    def _content_differs(self, place: str, size: int, entry: Tracked) -> bool:
        self._left -= size
        if self._left < 0:
            return True
        try:
            with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                return blob_id(file.read(size + 1)) != entry.sha
        except OSError:
            return True
