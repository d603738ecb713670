"""Counts of announced workflow steps outside the database: one file a workflow, as long as its number.

Rows that are deleted from the journal are missed by it. It is written after the row and before the step runs, and
needs no fsync: a commit does not survive more either.
"""

from __future__ import annotations

import os
from pathlib import Path

from sb.errors import StoreError


class StepCount:
    """The file of one workflow; it is made by the first step.

    Args:
        path: None where there is nothing outside the database; then nothing is counted.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._fd = -1

    def read(self) -> int:
        """The number of steps known to have been announced; raises StoreError."""
        try:
            return 0 if self._path is None else os.stat(self._path).st_size
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise self._failed("read", error) from None

    def announced(self, position: int) -> None:
        """Note that the step at this position may have run; raises StoreError."""
        if self._path is None:
            return
        try:
            if self._fd < 0:
                self._fd = self._opened(self._path)
            os.pwrite(self._fd, b"\n", position)
        except OSError as error:
            raise self._failed("write", error) from None

    def withdrawn(self, position: int) -> None:
        """Note that the step at this position and those after it did not happen; raises StoreError."""
        if self._path is None or position >= self.read():
            return
        try:
            os.truncate(self._path, position)
        except OSError as error:
            raise self._failed("write", error) from None

    def end(self) -> None:
        """Give back the disk space of a workflow that is finished; its length stays. Raises StoreError."""
        if self._fd < 0:
            return
        try:
            length = os.fstat(self._fd).st_size
            os.ftruncate(self._fd, 0)
            os.ftruncate(self._fd, length)
        except OSError as error:
            raise self._failed("write", error) from None

    def remove(self) -> bool:
        """Forget the number; returns whether there was one. Raises StoreError."""
        self.close()
        if self._path is None:
            return False
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._failed("remove", error) from None
        return True

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _failed(self, what: str, error: OSError) -> StoreError:
        return StoreError(f"cannot {what} {self._path}: {error.strerror}", "docs/guides/workflows.md")

    @staticmethod
    def _opened(path: Path) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(path, flags, 0o600)
