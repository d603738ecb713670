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
        self._of: object = None

    def prepare(self, config: Config) -> Runtime:
        """Open a runtime before somebody asks; whoever asks with another configuration does not get it."""
        runtime = self._ready = self._opened(config)
        # Who closes the database while it is open here leaves its log as it is: as long as nobody works, there should
        # be none, as without this process. Whoever puts a backup in its place need not know of it.
        runtime.database.query("PRAGMA wal_checkpoint(TRUNCATE)")
        self._of = _identity(runtime)
        return runtime

    def runtime(self, config: Config) -> Runtime:
        """A runtime of this configuration, its database as it is now.

        Raises:
            SBError: configuration or database cannot be used.
        """
        ready, self._ready = self._ready, None
        if ready is None or ready.config != config or _identity(ready) != self._of:
            return self._opened(config)
        ready.executor.settle_orphans()
        with contextlib.suppress(StoreError):  # the next process tries again
            ready.approvals.sweep()
        return ready

    def _opened(self, config: Config) -> Runtime:
        return self._open.enter_context(open_runtime(config, hosted=True))

    def close(self) -> None:
        self._open.close()


def _identity(runtime: Runtime) -> tuple[Any, ...] | None:
    """What changes when a database is replaced or its schema changes."""
    try:
        status = os.stat(runtime.config.database)
        (schema,) = runtime.database.query("PRAGMA schema_version")
    except (OSError, StoreError):
        return None
    return status.st_dev, status.st_ino, tuple(schema)
