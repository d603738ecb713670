"""Snapshots of single files, in packs; and those that earlier versions wrote, which can still be read.

Earlier versions wrote one file per key: a header line of fixed length with the permission bits, then the content.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.base.text import human_bytes
from sb.errors import NotFoundError, SBError
from sb.store.pack_file import ABSENT, FILE, Entry
from sb.store.packs import PackStore, Size, TooMuch, require_key

GIB = 1 << 30
PACKS = "packs"  # the folder of the packs
_HEADER = re.compile(rb"sb-kept 1 (none|0[0-7]{3})\n")
_HEADER_BYTES = 15


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


class Snapshot(NamedTuple):
    """The entries of a snapshot, without content.

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
    """Snapshots of files, by key; a key is written once.

    Args:
        folder: of all snapshots. Packs are in a folder of their own below it.
        max_bytes: the largest content of one file.
        cap_bytes, keep_days: as for `PackStore`.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        *,
        cap_bytes: int = GIB,
        keep_days: float = 14,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.packs = PackStore(
            folder / PACKS, cap_bytes=cap_bytes, keep_days=keep_days, clock=clock, protected=[folder]
        )

    def take(self, path: str, *, key: str, session: str = "") -> Snapshot | None:
        """Take a snapshot of a regular file, or record that there is none.

        A key that already exists is left unchanged.

        Args:
            path: absolute, without links.
            session: the run that it is taken in.

        Returns:
            The key's snapshot, of this call or an earlier one; None if there was no file.

        Raises:
            SnapshotTooLarge: the file is too large.
            CannotKeep: the store is full, or the snapshot cannot be taken.
            UsageError: the key is not a plain name.
        """
        try:
            self.packs.take(
                key,
                [path],
                session=session,
                max_bytes=self.max_bytes,
                session_share=0.25 if session else 1.0,
                hard_links=True,
                files_only=True,
            )
        except TooMuch:
            raise SnapshotTooLarge(self.max_bytes) from None
        return self.get(key)

    def get(self, key: str) -> Snapshot | None:
        """The key's snapshot of one file; None if it records that there was no file.

        Raises:
            NotFoundError: nothing was recorded under the key.
        """
        if self.packs.has(key):
            entry = _only(key, self.packs.get(key).entries)
            if entry.kind == ABSENT:
                return None
            return Snapshot(key, entry.size, entry.sha256, entry.mode & 0o777)
        mode, content = self._load(key)
        if mode is None:
            return None
        return Snapshot(key, len(content), hashlib.sha256(content).hexdigest(), mode)

    def read(self, key: str) -> bytes:
        """The content of a snapshot of one file.

        Raises:
            NotFoundError: the key has no snapshot, or records that there was no file.
        """
        if self.packs.has(key):
            with self.packs.open(key) as reader:
                return reader.content(_only(key, reader.pack.entries))
        mode, content = self._load(key)
        if mode is None:
            raise NotFoundError(f"there was no file when {key} was recorded")
        return content

    def holds(self, key: str, paths: Iterable[str] = ()) -> bool:
        """True if a snapshot is left of a call, also one of an earlier version.

        Args:
            paths: of the call; earlier versions wrote one snapshot for each.
        """
        if self.packs.has(key):
            return True
        return any(
            (self.folder / name).is_file() for name in (key, *(key_of_file(key, path) for path in paths))
        )

    def purge(self, *, older_than: float | None = None) -> tuple[int, int]:
        """Remove snapshots, also of earlier versions: all, or those taken before a time (seconds since the epoch).

        Returns:
            Number of snapshots removed, and their bytes.

        Raises:
            CannotKeep: another process holds the store.
        """
        number, size = self.packs.purge(older_than=older_than)
        for path in self._old():
            status = path.stat()
            if older_than is None or status.st_mtime < older_than:
                path.unlink(missing_ok=True)
                number, size = number + 1, size + status.st_size
        return number, size

    def size(self) -> Size:
        """The size of the store with snapshots of earlier versions, counted now."""
        found, old = self.packs.size(), [path.stat().st_size for path in self._old()]
        return Size(found.packs + len(old), found.stored + sum(old), found.cap)

    def _old(self) -> list[Path]:
        return [path for path in self.folder.glob("*") if path.is_file()]

    def _load(self, key: str) -> tuple[int | None, bytes]:
        """Permission bits and content, as an earlier version wrote them; bits of None record that there was no file."""
        require_key(key)
        try:
            raw = (self.folder / key).read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            raise NotFoundError(f"no snapshot {key}") from None
        header = _HEADER.match(raw)
        if header is None:
            raise SBError(f"snapshot {key} is damaged: it has no header")
        bits = header[1]
        return (None if bits == b"none" else int(bits, 8)), raw[_HEADER_BYTES:]


def key_of_file(call: str, path: str) -> str:
    """The key under which earlier versions kept one file of a call."""
    return f"{call}.{hashlib.sha256(path.encode(errors='surrogatepass')).hexdigest()[:16]}"


def _only(key: str, entries: tuple[Entry, ...]) -> Entry:
    if len(entries) != 1 or entries[0].kind not in (FILE, ABSENT):
        raise NotFoundError(f"snapshot {key} is not of one file")
    return entries[0]
