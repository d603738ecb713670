"""Snapshots: the content of files before a tool changes them.

One file per key in one folder: a header line of fixed length with the permission bits, then the content. It appears
complete, by a hard link to a synced temporary file, or not at all.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sb.errors import NotFoundError, SBError, UsageError
from sb.files import atomic_file
from sb.text import human_bytes

_KEY = re.compile(r"[a-z0-9_-][a-z0-9_.-]{0,199}")  # no leading dot: those names are unfinished copies
_HEADER = re.compile(rb"sb-kept 1 (none|0[0-7]{3})\n")
_HEADER_BYTES = 15
_CHUNK = 1 << 18


class SnapshotTooLarge(SBError):
    """The content is larger than the limit; raised before anything is written.

    Args:
        limit: the largest content of a snapshot, in bytes.
    """

    kind = "too_large_to_keep"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the content is larger than {human_bytes(limit)} ({limit} bytes), the limit of a snapshot",
            "raise files.keep_max_bytes",
        )
        self.limit = limit


@dataclass(frozen=True)
class Snapshot:
    """What a snapshot holds, without its content.

    Args:
        size: bytes of content.
        sha256: of the content, as lower-case hex.
        mode: the permission bits (0 to 0o777) that the file had.
    """

    key: str
    size: int
    sha256: str
    mode: int


class SnapshotStore:
    """Snapshots of files, by key.

    A key is written once: a second attempt of a call does not replace the snapshot of the first.

    Args:
        folder: made on first use, readable by the owner alone.
        max_bytes: the largest content of a snapshot.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes

    def take(self, fd: int | None, *, key: str) -> Snapshot | None:
        """Take a snapshot of an open regular file, or record that there was no file (`fd` is None).

        A key that already exists is left unchanged.

        Returns:
            The key's snapshot, of this call or an earlier one; None if there was no file.

        Raises:
            SnapshotTooLarge: also when the file outgrows the limit while it is copied.
            UsageError: the key is not a plain name.
            OSError: the snapshot cannot be written.
        """
        try:
            return self.get(key)
        except NotFoundError:
            self._add(fd, key)
        return self.get(key)

    def get(self, key: str) -> Snapshot | None:
        """The key's snapshot; None if it records that there was no file.

        Raises:
            NotFoundError: nothing was recorded under the key.
        """
        mode, content = self._load(key)
        if mode is None:
            return None
        return Snapshot(key, len(content), hashlib.sha256(content).hexdigest(), mode)

    def read(self, key: str) -> bytes:
        """The content of a snapshot.

        Raises:
            NotFoundError: the key has no snapshot, or records that there was no file.
        """
        mode, content = self._load(key)
        if mode is None:
            raise NotFoundError(f"there was no file when {key} was recorded")
        return content

    def remove(self, key: str) -> None:
        """Remove a snapshot, with the unfinished copies that a killed process left; unknown keys are ignored."""
        path = self._path(key)
        for unfinished in self.folder.glob(f".{key}@*"):
            unfinished.unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise UsageError(
                f"{key!r} is no valid snapshot key", "use [a-z0-9_.-]+, without a dot at the start"
            )
        return self.folder / key

    def _load(self, key: str) -> tuple[int | None, bytes]:
        """Permission bits and content; bits of None record that there was no file."""
        try:
            raw = self._path(key).read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"no snapshot {key}") from None
        header = _HEADER.match(raw)
        if header is None:
            raise SBError(f"snapshot {key} is damaged: it has no header")
        bits = header[1]
        return (None if bits == b"none" else int(bits, 8)), raw[_HEADER_BYTES:]

    def _add(self, fd: int | None, key: str) -> None:
        path = self._path(key)
        status = None if fd is None else os.fstat(fd)
        if status is not None and status.st_size > self.max_bytes:
            raise SnapshotTooLarge(self.max_bytes)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        try:
            with atomic_file(path, replace=False) as file:
                bits = "none" if status is None else f"{status.st_mode & 0o777:04o}"
                file.write(f"sb-kept 1 {bits}\n".encode("ascii"))
                if fd is not None:
                    file.writelines(_chunks(fd, self.max_bytes))
        except FileExistsError:
            return  # another attempt of the same call was first, and its copy is the earlier one


def _chunks(fd: int, limit: int) -> Iterator[bytes]:
    """The file's content from its start, leaving the position of `fd` alone."""
    offset = 0
    while chunk := os.pread(fd, _CHUNK, offset):
        offset += len(chunk)
        if offset > limit:
            raise SnapshotTooLarge(limit)
        yield chunk
