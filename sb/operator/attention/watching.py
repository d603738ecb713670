"""Watch for what needs a person: each thing is reported once, whatever happens to the database meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.config import Config
from sb.errors import SBError, StoreError
from sb.kernel.review.findings import Status, log_standing
from sb.log.event_log import EventLog
from sb.operator.attention.inbox import InboxReader
from sb.present.needs import Need, broken
from sb.present.states import state
from sb.runtime.parts import open_authority
from sb.store.database import open_database

MOST_AT_START = 20  # of each kind that already wait; then one line counts the others
EVERYTHING = sys.maxsize
LOOK_AGAIN_S = 15.0  # even when nothing was written: a process may have died, or an anchor been changed
_PATIENCE_S = 1.0


class Watcher:
    """Follows the log of one configuration.

    Args:
        config: names the database and its anchors.
    """

    def __init__(self, config: Config, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.trouble: SBError | None = None  # why the last look gave nothing
        self._config = config
        self._clock = clock
        self._log: EventLog | None = None
        self._file: tuple[int, int] | None = None
        self._version = -1
        self._looked_at = 0.0
        self._reader: InboxReader | None = None
        self._known: frozenset[str] = frozenset()
        self._started = False
        self._count = 0

    def news(self) -> Iterator[Need]:
        """New needs of a person since the last look; at first, all. One small query when nothing changed.

        A database that is locked or missing gives nothing, and says so in `trouble`; the next look tries again.
        """
        try:
            if self._changed():
                yield from self._look()
            self.trouble = None
        except SBError as error:
            self.close()
            self.trouble = error

    def count_needs(self) -> int:
        """The number of needs; the former one while the database cannot be read."""
        list(self.news())
        return self._count

    def close(self) -> None:
        """Close the database; the next look opens it again."""
        if self._log is not None:
            self._log.database.close()
            self._log = self._reader = None
        self._version = -1

    def _changed(self) -> bool:
        """True if anything was written since the last look, or that was long ago."""
        version = int(self._opened().database.query("PRAGMA data_version")[0][0])
        late = self._clock.monotonic() - self._looked_at >= LOOK_AGAIN_S
        if version == self._version and not late:
            return False
        self._version, self._looked_at = version, self._clock.monotonic()
        return True

    def _opened(self) -> EventLog:
        """The log of the file that is there now; what was known of another file means nothing in it."""
        try:
            found = os.stat(self._config.database)
        except OSError as error:
            raise StoreError(f"no database at {self._config.database} ({error.strerror})") from None
        if self._file != (found.st_dev, found.st_ino):
            self.close()
            self._known, self._started = frozenset(), False
            self._file = (found.st_dev, found.st_ino)
        if self._log is None:
            database = open_database(
                self._config.database, create=False, patience_s=_PATIENCE_S, clock=self._clock
            )
            self._log = EventLog.of_home(database, self._config.home, clock=self._clock)
        return self._log

    def _look(self) -> Iterator[Need]:
        log = self._opened()
        most = EVERYTHING if self._started else MOST_AT_START
        self._reader = self._reader or InboxReader(log)
        authority = open_authority(self._config, log)
        found = self._reader.all_needs(self._config, authority, most=most, known=self._known)
        checks = [broken("kill", "kill switch", finding, "sb kill list") for finding in found.problems]
        standing = log_standing(log)
        if standing.status is Status.FAIL:
            checks.append(broken("log", "event log", standing, "sb log verify"))
        fresh = [*found.items, *(item for item in checks if item.key not in self._known)]
        self._count = found.total + len(checks)
        if not self._started and self._count > len(fresh):
            fresh.append(_more(self._count - len(fresh)))
        # What is over is forgotten, and reported if it comes back.
        self._known = found.keys | {item.key for item in checks}
        self._started = True
        yield from fresh


def _more(count: int) -> Need:
    """The line that counts what is not listed."""
    text = f"{count:,} more: sb status counts all of them"
    return Need("more", "", state("waiting"), text, key="more", command="sb approvals list --limit 0")
