"""The runtime that judges an event: opened for it, or by a process that waits to be asked."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from sb.config import Config
from sb.errors import StoreError
from sb.runtime import Runtime, open_runtime


class Opening:
    """Opens runtimes, and closes them once the host has its answer: a database that is closed last is tidied up."""

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self._ready: Runtime | None = None
        self._used: Runtime | None = None  # the one that was ready, once somebody has asked for it
        self._of: object = None

    def prepare(self, config: Config) -> Runtime:
        """Open a runtime before somebody asks; whoever asks with another configuration does not get it."""
        runtime = self._ready = self._opened(config)
        self._of = _identity(runtime)
        return runtime

    def tidy(self) -> bool:
        """Do a step of memory's housekeeping if that is due; True if there is more, else empty the write-ahead log.

        Who closes the database while it is open here leaves that log as it is: as long as nobody works, there should
        be none, as without this process. Whoever puts a backup in its place need not know of it. But the first commit
        into an emptied log waits for the disk, so this is for times in which nobody asks.
        """
        if self._ready is not None:
            from sb.memory.housekeeping import tidy_a_little
            from sb.memory.space import Space

            if tidy_a_little(Space(self._ready.database, self._ready.config.memory)):
                return True
            with contextlib.suppress(StoreError):  # another process is at it, and will do it
                self._ready.database.query("PRAGMA wal_checkpoint(TRUNCATE)")
        return False

    def runtime(self, config: Config) -> Runtime:
        """A runtime of this configuration, its database as it is now.

        Raises:
            SBError: configuration or database cannot be used.
        """
        ready, self._ready = self._ready, None
        if ready is None or ready.config != config or _identity(ready) != self._of:
            return self._opened(config)
        self._used = ready
        return ready

    def _opened(self, config: Config) -> Runtime:
        return self._open.enter_context(open_runtime(config, hosted=True))

    def close(self) -> None:
        """Close what was opened; the host has its answer by now."""
        if self._used is not None:  # it was tidied up when it was prepared, which may be long ago
            with contextlib.suppress(StoreError):  # the next process tries again
                self._used.executor.settle_orphans()
                self._used.approvals.sweep()
        self._open.close()


def _identity(runtime: Runtime) -> tuple[Any, ...] | None:
    """Marks of a database file that change when it is replaced or its schema changes."""
    try:
        status = os.stat(runtime.config.database)
        (schema,) = runtime.database.query("PRAGMA schema_version")
    except (OSError, StoreError):
        return None
    return status.st_dev, status.st_ino, tuple(schema)
