"""Where is the content of a file kept before a tool changes it?

One file per key in one folder: a header line of fixed length (what the permission bits were), then the content
as it was. It appears complete, by a hard link to a synced temporary file, or not at all.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sb.errors import NotFoundError, SBError, UsageError
from sb.sources import SYSTEM_IDS
from sb.text import human_bytes

_KEY = re.compile(r"[a-z0-9_-][a-z0-9_.-]{0,199}")  # no leading dot: those names are unfinished copies
_HEADER = re.compile(rb"sb-kept 1 (none|0[0-7]{3})\n")
_HEADER_BYTES = 15
_CHUNK = 1 << 18


class TooLargeToKeep(SBError):
    """The content is larger than the store keeps; raised before anything is kept.

    Args:
        limit: the largest size kept, in bytes.
    """

    kind = "too_large_to_keep"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the content is larger than the {human_bytes(limit)} ({limit} bytes) that are kept for undo",
            "raise files.keep_max_bytes",
        )
        self.limit = limit


@dataclass(frozen=True)
class KeptCopy:
    """What is kept under a key.

    Args:
        size: bytes of content.
        sha256: of the content, as lower-case hex.
        mode: the permission bits (0 to 0o777) that the file had.
    """

    key: str
    size: int
    sha256: str
    mode: int


class KeptStore:
    """Copies of files as they were before a change, by key.

    A key is written once: what was there before the first attempt of a call stays what it was.

    Args:
        folder: made on first use, readable by the owner alone.
        max_bytes: the largest content kept.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes

    def keep(self, fd: int | None, *, key: str) -> KeptCopy | None:
        """Copy the content of an open regular file, or record that there was none (`fd` is None).

        A key that is already there is left as it is.

        Returns:
            What the key holds, from this call or an earlier one; None when there was no file.

        Raises:
            TooLargeToKeep: also when the file outgrows the limit while it is copied.
            UsageError: the key is not a plain name.
            OSError: the copy cannot be written.
        """
        try:
            return self.facts(key)
        except NotFoundError:
            self._add(fd, key)
        return self.facts(key)

    def facts(self, key: str) -> KeptCopy | None:
        """What is kept under the key; None when it records that there was no file.

        Raises:
            NotFoundError: nothing was recorded under the key.
        """
        mode, content = self._load(key)
        if mode is None:
            return None
        return KeptCopy(key, len(content), hashlib.sha256(content).hexdigest(), mode)

    def read(self, key: str) -> bytes:
        """The content as it was.

        Raises:
            NotFoundError: no content is kept under the key.
        """
        mode, content = self._load(key)
        if mode is None:
            raise NotFoundError(f"there was no file when {key} was recorded")
        return content

    def remove(self, key: str) -> None:
        """Forget the key, with copies of it that a killed process left unfinished; unknown keys are ignored."""
        path = self._path(key)
        for unfinished in self.folder.glob(f".{key}@*"):
            unfinished.unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise UsageError(f"{key!r} cannot name a kept copy", "keys match [a-z0-9_.-]+, no dot first")
        return self.folder / key

    def _load(self, key: str) -> tuple[int | None, bytes]:
        """Permission bits and content; bits of None record that there was no file."""
        try:
            raw = self._path(key).read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"nothing is kept under {key}") from None
        header = _HEADER.match(raw)
        if header is None:
            raise SBError(f"the kept copy {key} is damaged: it has no header")
        bits = header[1]
        return (None if bits == b"none" else int(bits, 8)), raw[_HEADER_BYTES:]

    def _add(self, fd: int | None, key: str) -> None:
        path = self._path(key)
        status = None if fd is None else os.fstat(fd)
        if status is not None and status.st_size > self.max_bytes:
            raise TooLargeToKeep(self.max_bytes)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        unfinished = self.folder / f".{key}@{SYSTEM_IDS.token(8)}"
        out = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with open(out, "wb") as file:
                bits = "none" if status is None else f"{status.st_mode & 0o777:04o}"
                file.write(f"sb-kept 1 {bits}\n".encode("ascii"))
                if fd is not None:
                    file.writelines(_chunks(fd, self.max_bytes))
                file.flush()
                os.fsync(out)
            try:
                os.link(unfinished, path)
            except FileExistsError:
                return  # another attempt of the same call was first, and its copy is the earlier one
        finally:
            unfinished.unlink()
        _sync_folder(self.folder)


def _chunks(fd: int, limit: int) -> Iterator[bytes]:
    """The file's content from its start, leaving the position of `fd` alone."""
    offset = 0
    while chunk := os.pread(fd, _CHUNK, offset):
        offset += len(chunk)
        if offset > limit:
            raise TooLargeToKeep(limit)
        yield chunk


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
