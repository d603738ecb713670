"""Synchronize a stack with another database."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sb.config import Config
from sb.errors import StoreError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider
from sb.log import kinds
from sb.log.event_log import EventLog
from sb.memory.access import SHARE
from sb.memory.bundle_import import IMPORT
from sb.memory.bundles import MEMORY_EXPORTED
from sb.memory.quarantine.refusals import attacks_on_record
from sb.memory.space import Space
from sb.protocols import SyncResult
from sb.protocols.types import StackState, SyncConflict
from sb.stack.container import Container
from sb.stack.provenance import check_writable
from sb.stack.sync.conflicts import Conflicts, Keep, open_conflicts
from sb.stack.sync.exchange import Exchange, Reach
from sb.stack.sync.export import exported
from sb.stack.sync.feed import Feed
from sb.stack.sync.pending import pending
from sb.stack.sync.seals import Sealer
from sb.store.database import open_database

SYNCED = "memory.synced"
kinds.register(SYNCED, "A stack was synchronised with another database")


class Synchroniser:
    """Keeps one stack in step with another database.

    Args:
        remote: the file of that database; None without one.

    Raises:
        ValueError: that is this stack's own file.
    """

    def __init__(self, container: Container, config: Config, remote: str | Path | None) -> None:
        self._container = container
        self._space = container.space
        self._config = config
        self._remote = None if remote is None else os.path.realpath(remote)
        if self._remote and self._remote == os.path.realpath(self._space.database.path):
            raise ValueError(f"{remote} is this stack's own file, not another one")

    def sync(self, *, by: Decider | None = None, from_anybody: bool = False) -> SyncResult:
        """Take what is new there, then give what is new here; see `SQLiteStack.sync`.

        Args:
            by: the operator who signs what leaves; needed only where the other database is another home's.
            from_anybody: also take what no operator of this home signed, though there are operators.
        """
        return self._run(Exchange.run, by, from_anybody)[0]

    def pull(self, since: float | None) -> SyncResult:
        """Only take; see `SQLiteStack.pull_changes`."""

        def taken(exchange: Exchange) -> None:
            exchange.pull(since)
            exchange.part()

        return self._run(taken, None, False)[0]

    def take_in(self, file: str) -> tuple[SyncResult, int]:
        """Only take, as from a file that somebody gave: what nobody of this home sealed is quarantined.

        Args:
            file: what the other database is a copy of.

        Returns:
            What was done, and how many memories wait.
        """

        def taken(exchange: Exchange) -> None:
            exchange.pull()
            exchange.part()

        return self._run(taken, None, False, file)

    def pending(self) -> int:
        """Counts the memories that the other database has not received."""
        return pending(self._space, self._container.stack_id, self._reach, self._remote)

    def online(self) -> bool:
        """True if there is another database that can be opened."""
        if self._remote is None:
            return False
        try:
            open_database(self._remote, create=False, read_only=True).close()
        except StoreError:
            return False
        return True

    def conflicts(self) -> list[SyncConflict]:
        """Lists the unresolved conflicts."""
        return open_conflicts(self._container)

    def resolve(self, conflict: str, keep: Keep, reason: str, *, actor: str = "") -> SyncConflict:
        """Resolves a conflict; see `SQLiteStack.resolve_conflict`."""
        check_writable(self._container)
        with attacks_on_record(self._space):
            return Conflicts(self._container, self._feed(None)).resolve(
                conflict, keep, reason, actor or self._container.reader
            )

    def export(self, path: Path) -> int:
        """Write the stack into a new file; see `SQLiteStack.export_stack`."""
        seen = replace(
            self._reach_without_withheld(), view=self._container.scopes
        )  # a core takes along what it may read
        size = exported(self._feed(None), self._config, seen, path)
        untrusted = {"by": self._container.reader, "stack": self._container.stack_id}
        with self._log().write() as write:
            write.append(MEMORY_EXPORTED, untrusted, trusted={"bytes": size})
        return size

    def _run(
        self, action: Callable[[Exchange], None], by: Decider | None, from_anybody: bool, file: str = ""
    ) -> tuple[SyncResult, int]:
        if self._remote is None:
            return SyncResult(), 0
        shown = file or self._remote
        check_writable(self._container)
        space = self._space
        try:
            database = open_database(self._remote, create=False, clock=space.clock, ids=space.ids)
        except StoreError as error:
            return SyncResult(errors=[f"Offline: {error.message}"]), 0
        try:
            local = self._feed(by)
            other = Space(database, self._config.memory, clock=space.clock, ids=space.ids)
            # What was changed in a file since somebody sealed it is nobody's, whoever looks at it first.
            remote = Feed(other, local.stack, local.sealer.nobody() if file else local.sealer)
            if Container(other, local.stack, read_only=False).state is StackState.MAINTENANCE:
                return SyncResult(errors=[f"stack {local.stack} is in maintenance in {self._remote}"]), 0
            reach = self._reach_without_withheld()
            exchange = Exchange(
                local, remote, shown, reach, from_anybody=from_anybody, door=IMPORT if file else ""
            )
            exchange.greet()
            with attacks_on_record(space):
                action(exchange)
        finally:
            database.close()
        if exchange.result.pulled or exchange.result.pushed or exchange.found:
            self._note(exchange.result, shown)
        return exchange.result, exchange.quarantined

    @property
    def _reach(self) -> Reach:
        container = self._container
        cores, rights = tuple(container.cores), container.space.rights
        readers = cores or ("",)

        def shares(scope: str) -> bool:
            return container.is_operators or any(rights.may(reader, SHARE, scope) for reader in readers)

        rules = rights.rules(readers)
        return Reach(self._config.memory.sync_scopes, cores, shares=shares, rules=rules)

    def _reach_without_withheld(self) -> Reach:
        """The reach without what may not be read; what the reading policy withholds is put on record."""
        places = self._space.places.of_stack(self._container.stack_id)
        withheld = self._space.reader.withheld_ids(tuple(places))
        self._container.note_denied()
        return replace(self._reach, withheld=withheld)

    def _feed(self, by: Decider | None) -> Feed:
        authority = Authority(self._config.operators.file, self._log())
        sealer = Sealer(self._config, authority, self._space.clock, by)
        return Feed(self._space, self._container.stack_id, sealer)

    def _log(self) -> EventLog:
        return EventLog(self._space.database, clock=self._space.clock, ids=self._space.ids)

    def _note(self, result: SyncResult, shown: str) -> None:
        """Put on record what came and went."""
        untrusted = {"stack": self._container.stack_id, "with": shown, "by": self._container.reader}
        counts = {"pulled": result.pulled, "pushed": result.pushed, "conflicts": result.conflicts}
        with self._log().write() as write:
            write.append(SYNCED, untrusted, trusted=counts)
