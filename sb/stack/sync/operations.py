"""The operations of a stack that concern its other copies: sync, conflicts, export.

Source: the stack protocol, "Sync".
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sb.config import Config
from sb.protocols import SyncResult
from sb.protocols.types import SyncConflict
from sb.stack.container import Container
from sb.store.records.rows import to_seconds

if TYPE_CHECKING:
    from sb.stack.sync.conflicts import Keep
    from sb.stack.sync.synchroniser import Synchroniser


class SyncOperations:
    """The copies of one stack; what does the work is loaded when it is first asked for."""

    _container: Container
    _config: Config
    _remote: str | Path | None

    @cached_property
    def synchroniser(self) -> Synchroniser:
        """The synchronizer; its `sync` also takes who signs, and whom to trust."""
        from sb.stack.sync.synchroniser import Synchroniser

        return Synchroniser(self._container, self._config, self._remote)

    def sync(self) -> SyncResult:
        """Take what is new in the other database, then give it what is new here.

        Returns:
            What was done; nothing without a remote. While that cannot be opened, `errors` says so.

        Raises:
            CheckFailed: something there was edited, or is damaged. DeniedError: nobody who counts here sealed it, or an
                operator has to sign what leaves. Nothing was taken or given then. MaintenanceModeError, StoreError: this
                database cannot be written. UsageError: one database is a copy of the other. ValueError: the remote is this
                stack's own file.
        """
        return self.synchroniser.sync()

    def pull_changes(self, *, since: datetime | None = None) -> SyncResult:
        """Only take what is new in the other database; raises as `sync` does.

        Args:
            since: look again at all that was written there since, by its clock.
        """
        return self.synchroniser.pull(None if since is None else to_seconds(since))

    def get_pending_sync_count(self) -> int:
        """Count the memories that changed since they were last sent to the other database, or to any without a remote."""
        return self.synchroniser.pending()

    def is_online(self) -> bool:
        """True if there is another database, and it can be opened."""
        return self.synchroniser.online()

    def conflicts(self) -> list[SyncConflict]:
        """List the unresolved conflicts, oldest first."""
        return self.synchroniser.conflicts()

    def resolve_conflict(self, conflict_id: str, keep: Keep, reason: str, *, actor: str = "") -> SyncConflict:
        """Resolve a conflict here and, from the next `sync`, everywhere.

        Args:
            keep: `local`, `remote`, or `both`: then the other version becomes a memory of its own.
            actor: who chooses, for the memory's history; by default the core that is attached.

        Raises:
            NotFoundError: there is no such open conflict.
            ValueError: no reason, no such choice, or there can be only one memory of that name.
        """
        return self.synchroniser.resolve(conflict_id, keep, reason, actor=actor)

    def export_stack(self, path: str | Path) -> int:
        """Write this stack, and nothing else of its database, into a new file that opens by itself and can be its remote.

        What others keep for themselves is left out. Returns the file's size in bytes.

        Raises:
            StoreError: the file is there already, or cannot be written.
        """
        return self.synchroniser.export(Path(path))
