"""Statements of people that are also on record outside the database: kills, lifts and incidents.

One JSON line a statement, on the disk before the database commits it. A row that is deleted or put into the database by
something else then differs from the file, and the file decides what counts.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from sb.base.files import sync_folder
from sb.base.values.frozen import frozen
from sb.errors import StoreCorrupt, StoreError

FILE_NAME = "statements.jsonl"


@frozen
class StatementLine:
    """One statement as the file holds it; without a hash, a note that this database was met at this path.

    Args:
        database, path: of the log that it was made on.
        about: what the statement's events are found under.
        seq, hash, at, kind: of its event; `at` in microseconds since the epoch.
        signed: the statement with its signature.
        withdrawn: the line with this hash counts no more: its row was never committed.
    """

    database: str
    path: str
    about: str = ""
    seq: int = 0
    hash: str = ""
    at: int = 0
    kind: str = ""
    signed: Any = None
    withdrawn: bool = False


class Recorded(NamedTuple):
    """The file's records of one database.

    Args:
        lines: in the order in which they were made; those of another database at the same path count too.
        known: whether it says anything about this database. here: and about it at this path.
    """

    lines: tuple[StatementLine, ...] = ()
    known: bool = False
    here: bool = False


class StatementFile:
    """The file; asking whether it has grown is one seek, and it is read again only then.

    Args:
        path: made with mode 0600 by the first write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = str(path)
        self._fd = -1
        self._read_at: tuple[int, int, int] | None = None
        self._lines: tuple[StatementLine, ...] = ()

    def size(self) -> int:
        """In bytes, of the file as it was when it was read last; -1 without a file. Raises StoreError."""
        if self._fd < 0 and self._stat() is None:
            return -1
        try:
            if self._fd < 0:
                self._fd = os.open(self._name, os.O_RDONLY | os.O_CLOEXEC)
            return os.lseek(self._fd, 0, os.SEEK_END)
        except OSError as error:
            raise StoreError(f"cannot read {self.path}: {error.strerror}") from None

    def read(self, database_id: str, path: str) -> Recorded:
        """The records of this database.

        Args:
            path: of the database, without symbolic links.

        Raises:
            StoreError: the file cannot be read, or a line of it makes no sense.
        """
        found = self._stat()
        stamp = None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)
        if stamp != self._read_at or stamp is None:
            self._close_replaced(found)
            self._lines = () if stamp is None else self._parsed()
            self._read_at = stamp
        ours = [line for line in self._lines if database_id == line.database or path == line.path]
        here = any(line.database == database_id and line.path == path for line in ours)
        withdrawn = {line.hash for line in ours if line.withdrawn}
        unique = {line.hash: line for line in reversed(ours) if line.hash and line.hash not in withdrawn}
        return Recorded(tuple(reversed(unique.values())), bool(ours), here)

    def _stat(self) -> os.stat_result | None:
        try:
            found = os.stat(self._name)
            if not S_ISREG(found.st_mode):  # to open a pipe would wait for good
                raise StoreError(
                    f"cannot read {self.path}: it is no file",
                    "put a copy of it back; docs/guides/incidents.md",
                )
            return found
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read {self.path}: {error.strerror}") from None

    def _close_replaced(self, found: os.stat_result | None) -> None:
        """Only then: another thread may be asking for the size."""
        if self._fd >= 0 and (found is None or os.fstat(self._fd).st_ino != found.st_ino):
            self.close()

    def close(self) -> None:
        """Let go of the file; `size` opens it again."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()

    def _parsed(self) -> tuple[StatementLine, ...]:
        try:
            whole, _, _ = self.path.read_bytes().rpartition(b"\n")  # a torn last line was never acknowledged
        except OSError as error:
            raise StoreError(f"cannot read {self.path}: {error.strerror}") from None
        found = []
        for number, line in enumerate(whole.split(b"\n") if whole else (), 1):
            try:
                parsed = _parsed_line(line)
            except (ValueError, TypeError, RecursionError):
                hint = "put a copy of it back; docs/guides/incidents.md"
                raise StoreCorrupt(f"line {number} of {self.path} makes no sense", hint) from None
            found.append(parsed)
        return tuple(found)

    def append(self, lines: Iterable[StatementLine]) -> None:
        """Add lines, and return once they are on the disk; raises StoreError."""
        text = "".join(json.dumps(asdict(line)) + "\n" for line in lines).encode()
        try:
            is_new = not os.path.lexists(self._name)
            fd = os.open(self._name, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                _drop_torn_line(fd)
                if os.write(fd, text) != len(text):
                    raise OSError(0, "the disk is full")
                os.fsync(fd)
            finally:
                os.close(fd)
            if is_new:
                sync_folder(self.path.parent)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}") from None


def _parsed_line(line: bytes) -> StatementLine:
    """The statement of a line; raises ValueError, TypeError or RecursionError."""
    parsed = StatementLine(**json.loads(line))
    for name, expected in StatementLine.__annotations__.items():
        if expected != "Any" and type(getattr(parsed, name)).__name__ != expected:
            raise ValueError(f"{name} is no {expected}")
    return parsed


def _drop_torn_line(fd: int) -> None:
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        os.ftruncate(fd, os.pread(fd, size, 0).rfind(b"\n") + 1)
