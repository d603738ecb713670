"""The console's database connections, reopened when the file was replaced.

Each use has a connection of its own, so that a long search does not hold up the rows on screen. Everything here may
block and is called from worker threads only.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from sb.screens.signing_agent import remote_decider, signing_socket

from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS, Clock, Ids
from sb.base.values.frozen import frozen
from sb.config import Config
from sb.errors import DeniedError, SBError, SchemaMismatch
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import operators_here
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.autonomy.levels import Levels
from sb.kernel.autonomy.proposals import Proposals
from sb.kernel.baselines.store import ContractBaselineStore
from sb.kernel.contracts import KERNEL_SURFACE
from sb.kernel.incident_response.kill_switch import KillSwitch
from sb.log.event_log import EventLog
from sb.store.database import open_database
from sb.store.migrate import require_current

if TYPE_CHECKING:
    from sb.entity.composition import Present
    from sb.kernel.authority.signing import Decider
    from sb.kernel.incident_response.kill import Kill
    from sb.memory.operator_view import Overseer
    from sb.memory.quarantine.review import Quarantine
    from sb.operator.attention.inbox import Group, InboxReader, Waiting
    from sb.present.needs import Need
    from sb.present.overview import Overview
    from sb.runtime import Runtime
    from sb.stack import SQLiteStack
    from sb.stack.review_queue import ReviewQueue


@frozen
class Operators:
    """Operators who may decide, and those who can do so here.

    Args:
        enrolled: the names of all operators.
        here: those whose keys lie in this home; in a browser's tab, whoever decides for it.
        trouble: what a person has to know about them, or "".
    """

    enrolled: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    trouble: str = ""


PATIENCE_S = 30.0
NOBODY = Operators()
UNSIGNED = "unsigned"


@frozen
class Look:
    """The result of one look at the database.

    Args:
        version: differs from the last one when something was written; None when nothing could be read.
        trouble: why it could not be read, or "".
        operators: who may decide.
    """

    version: tuple[int, int] | None
    trouble: str = ""
    operators: Operators = NOBODY


class _Deciding(NamedTuple):
    """The services that make decisions."""

    approvals: type[Approvals] = Approvals
    kill_switch: type[KillSwitch] = KillSwitch
    baselines: type[ContractBaselineStore] = ContractBaselineStore
    proposals: type[Proposals] = Proposals


def _deciding() -> _Deciding:
    """In a browser's tab another process decides."""
    if signing_socket() is None:
        return _Deciding()
    from sb.screens.state.remote import RemoteApprovals, RemoteBaselines, RemoteKillSwitch, RemoteProposals

    return _Deciding(RemoteApprovals, RemoteKillSwitch, RemoteBaselines, RemoteProposals)


class Records:
    """The database of one configuration, opened when it is needed and again when it was replaced.

    Args:
        config: names the database and its anchors; the file need not exist yet.
        patience_s: seconds that a decision waits while another process writes.
    """

    def __init__(
        self,
        config: Config,
        *,
        patience_s: float = PATIENCE_S,
        clock: Clock = SYSTEM_CLOCK,
        ids: Ids = SYSTEM_IDS,
    ) -> None:
        self.config = config
        self.patience_s = patience_s
        self.clock = clock
        self.ids = ids
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._runtime: Runtime | None = None
        self._logs: dict[str, EventLog] = {}
        self._baselines: dict[tuple[str, str], tuple[EventLog, ContractBaselineStore]] = {}
        self._memories: dict[tuple[str, str], Overseer] = {}
        self._review: tuple[EventLog, ReviewQueue] | None = None
        self._reviewing = threading.Lock()
        self._inbox: tuple[EventLog, InboxReader] | None = None
        self._reading_inbox = threading.Lock()
        self._overview: tuple[EventLog, Overview] | None = None
        self._overviewing = threading.Lock()
        self._file: tuple[int, int] | None = None
        self._generation = (
            0  # counts the databases at this path: numbers of rows mean something within one only
        )
        self._operators: tuple[object, Operators] = (None, NOBODY)
        self._schema_checked_at: int | None = (
            None  # the data version for which this version's schema was found
        )

    def log(self, use: str = "rows") -> EventLog:
        """The log, over this use's own connection.

        Raises:
            StoreError: there is no database, or it cannot be used.
        """
        with self._lock:
            if use not in self._logs:
                database = open_database(
                    self.config.database,
                    create=False,
                    patience_s=self.patience_s,
                    clock=self.clock,
                    ids=self.ids,
                )
                home = self.config.home
                self._logs[use] = EventLog.of_home(database, home, clock=self.clock, ids=self.ids)
            return self._logs[use]

    def authority(self, use: str = "rows") -> Authority:
        """The authority that says who may decide."""
        return Authority(self.config.operators.file, self.log(use))

    def approvals(self) -> Approvals:
        """The queue, to decide."""
        return _deciding().approvals(self.log("write"), self.authority("write"))

    def runtime(self) -> Runtime:
        """Everything that reversals run through, opened with the first use and kept.

        Raises:
            ConfigError: the configuration is wrong.
            StoreError: there is no database, or it cannot be used.
        """
        from sb.runtime import open_runtime

        with self._opening:
            if self._runtime is None:
                database = open_database(self.config.database, create=False)  # the runtime would make one
                database.close()
                self._runtime = runtime = open_runtime(self.config, clock=self.clock, ids=self.ids)
                runtime.executor.approvals = _deciding().approvals(runtime.log, runtime.approvals.authority)
            return self._runtime

    def kill_switch(self, use: str) -> KillSwitch:
        """The kill switch."""
        dual_control = self.config.kill.dual_control
        return _deciding().kill_switch(self.log(use), self.authority(use), dual_control=dual_control)

    def proposals(self, use: str) -> Proposals:
        """The proposals of higher autonomy."""
        return _deciding().proposals(Levels(self.log(use), self.authority(use)))

    def baselines(self, use: str, surface: str = KERNEL_SURFACE) -> ContractBaselineStore:
        """The approved contracts of a surface; what was added up of them is kept for each use."""
        log, place = self.log(use), (use, surface)
        with self._lock:
            if place not in self._baselines or self._baselines[place][0] is not log:
                authority = Authority(self.config.operators.file, log)
                self._baselines[place] = (log, _deciding().baselines(log, authority, surface))
            return self._baselines[place][1]

    def memory(self, use: str, name: str = "") -> Overseer:
        """All that is remembered; what makes vectors is loaded with the first use that needs it, and kept.

        Args:
            name: who changes something, "" where nothing is changed.
        """
        from sb.memory.operator_view import OPERATOR, Overseer

        log, place = self.log(use), (use, name)
        with self._lock:
            if place not in self._memories or self._memories[place].database is not log.database:
                settings = {
                    "database": log.database,
                    "config": self.config,
                    "clock": self.clock,
                    "ids": self.ids,
                }
                self._memories[place] = Overseer(name or OPERATOR, **settings)
            return self._memories[place]

    @contextmanager
    def overview(self) -> Iterator[Overview]:
        """The overview of agents, for one thread at a time; counts are cached."""
        from sb.present.overview import Overview

        with self._overviewing:
            log = self.log("work")
            if self._overview is None or self._overview[0] is not log:
                self._overview = log, Overview(self.config, log)
            yield self._overview[1]

    def inbox(self) -> list[Group]:
        """All that waits for a decision, the highest stake first."""
        from sb.operator.attention.inbox import InboxReader

        contracts = self.baselines("needs").entries()
        with self._reading_inbox:
            log = self.log("needs")
            if self._inbox is None or self._inbox[0] is not log:
                self._inbox = log, InboxReader(log)
            reader = self._inbox[1]
            return reader.waiting(contracts, proposals=reader.proposals(self.config))

    def describe(self, entries: Sequence[Waiting]) -> dict[str, Need]:
        """Entries as lists show them, by key; for a screenful, not for all."""
        with self._reading_inbox:
            return self._inbox[1].describe(entries) if self._inbox else {}

    def quarantine(self, use: str) -> Quarantine:
        """The quarantine of memory, to look at or to decide in."""
        from sb.memory.quarantine.review import Quarantine

        return Quarantine(self.memory(use).space, self.log(use), self.authority(use))

    def memory_decision(self, word: str, uid: str, by: Decider, reason: str) -> AbstractContextManager[None]:
        """Log what is decided about a memory inside; see `sb.memory.decisions.decision_about`."""
        from sb.memory.decisions import decision_about

        return decision_about(self.log("write"), self.authority("write"), word, uid, by, reason)

    @contextmanager
    def review(self) -> Iterator[ReviewQueue]:
        """The review queue of memory, for one thread at a time; reads are cached."""
        from sb.stack.review_queue import ReviewQueue

        with self._reviewing:
            log = self.log("review")
            if self._review is None or self._review[0] is not log:
                self._review = log, ReviewQueue(log.database, log.clock)
            yield self._review[1]

    def stack(self, use: str, stack_id: str) -> SQLiteStack:
        """One stack, to decide in; it need not be closed."""
        from sb.stack import SQLiteStack

        database = self.log(use).database
        stack = SQLiteStack(stack_id, database=database, config=self.config, clock=self.clock, ids=self.ids)
        stack.view_as_operator()
        return stack

    def present(self, use: str) -> Present:
        """The composition of cores."""
        from sb.entity.composition import Present

        return Present(self.log(use).database, self.config, clock=self.clock, ids=self.ids)

    def look(self) -> Look:
        """Look whether anything was written since the last look, by anybody; cheap."""
        try:
            found = os.stat(self.config.database)
        except OSError as error:
            return Look(None, f"no database at {self.config.database} ({error.strerror})")
        file = (found.st_dev, found.st_ino)
        if self._file not in (None, file):
            self._close_all()
            self._generation += 1
        self._file = file
        try:
            database = self.log("look").database
            version = database.query("PRAGMA data_version")[0][0]
            if version != self._schema_checked_at:
                require_current(database.query, database.path)
                self._schema_checked_at = version
        except (
            SchemaMismatch
        ) as error:  # a newer version upgraded it: nothing more is read or decided by this one
            self._close_all()
            return Look(None, f"{error.message} ({error.hint})")
        except SBError as error:
            return Look(None, error.message)
        return Look((self._generation, int(version)), operators=self._about_operators())

    def _about_operators(self) -> Operators:
        """Read again only when who may decide has changed."""
        authority = self.authority("look")
        token = (self._generation, authority.token())
        if token != self._operators[0]:
            try:
                self._operators = (token, self._read_operators(authority))
            except SBError:
                self._operators = (token, Operators(trouble="operators unreliable"))
        return self._operators[1]

    def _read_operators(self, authority: Authority) -> Operators:
        active = tuple(operator.name for operator in authority.roster().active())
        if not active:
            return Operators(trouble=UNSIGNED)
        socket = signing_socket()
        if socket is not None:
            with suppress(DeniedError):  # the first decision says what is wrong
                return Operators(active, (remote_decider(socket).name,))
            return Operators(active)
        return Operators(active, tuple(operators_here(authority, KeyFolder(self.config.home.keys))))

    def close(self) -> None:
        """Close every connection, and anchor what was written; the next use opens it again."""
        with self._opening:
            if self._runtime is not None:
                self._runtime.close()
                self._runtime = None
        self._close_all()

    def _close_all(self) -> None:
        with self._opening:
            if self._runtime is not None:
                self._runtime.database.close()
                self._runtime = None
        with self._lock:
            while self._logs:
                self._logs.popitem()[1].database.close()


class Stops:
    """Stops, and what is not enforced: they need somebody, and stand below what waits for a decision."""

    def __init__(self) -> None:
        self.active: Sequence[Kill] | None = ()  # None where they cannot be read
        self.weak = 0  # as the Inbox has counted what is not enforced

    def take(self, stops: Sequence[Kill] | None) -> None:
        """Note the stops that were read."""
        self.active = stops

    @property
    def count(self) -> int:
        """The number of both."""
        return len(self.active or ()) + self.weak

    @property
    def word(self) -> str:
        """The stops in a word, for the first line of every screen; "" for none."""
        if self.active is None:
            return "stops unreadable"
        if any(kill.scope == "global" for kill in self.active):
            return "all stopped"
        return f"{len(self.active)} stopped" if self.active else ""


def active_stops(records: Records) -> list[Kill] | None:
    """The active stops, None where they cannot be read; called in a worker."""
    try:
        return records.kill_switch("stops").active()
    except SBError:
        return None
