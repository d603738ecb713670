"""Snapshots of the files that a host is about to change, and their restoration."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.errors import NotFoundError
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.store.snapshots import SnapshotStore, SnapshotTooLarge
from sb.text import human_bytes
from sb.tools.failures import denied, display, invalid, os_failures_about

if TYPE_CHECKING:
    from sb.tools.file_restoring import FileRestoring
    from sb.tools.roots import Roots

MOST_FILES = 500  # of one call


class HostedFiles:
    """Files that hosts change, wherever they are, except protected ones.

    Args:
        snapshots: takes what they were, under the call's idempotency key and the file's path.
        protected: files and folders that no host may change: SB_HOME, and the database.
    """

    def __init__(self, snapshots: SnapshotStore, protected: Sequence[Path]) -> None:
        self._snapshots = snapshots
        self._protected = protected

    # Built for the calls that change files: most others are judged without.
    @cached_property
    def _roots(self) -> Roots:
        from sb.tools.roots import Roots

        return Roots([Path("/")], self._protected)

    @cached_property
    def _restoring(self) -> FileRestoring:
        from sb.tools.file_restoring import FileRestoring

        return FileRestoring(self._roots, self._snapshots)

    def keep(
        self,
        tool: str,
        paths: list[str],
        input: dict[str, Any],
        keep: bool = True,
        *,
        idempotency_key: str = "",
    ) -> None:
        """Take snapshots of the files that a call is about to change.

        Raises:
            ToolError: one is protected, no regular file, or too large to keep.
        """
        if len(paths) > MOST_FILES:
            raise denied(f"the call changes {len(paths)} files; at most {MOST_FILES} can be undone at once")
        for path in paths:
            self._take_snapshot(path, _key(idempotency_key, path), wanted=keep)

    def _take_snapshot(self, path: str, key: str, *, wanted: bool) -> None:
        try:
            with (
                self._roots.parent(path) as (folder, name),
                folder.open_present(name) as fd,
                os_failures_about(folder.path / name),
            ):
                if wanted:
                    self._snapshots.take(fd, key=key)
        except ToolError as error:
            if error.code is not ToolErrorCode.NOT_FOUND:
                raise
            self._snapshots.take(None, key=key)  # its folder is not there either
        except SnapshotTooLarge as error:
            raise denied(
                f"{display(path)} is larger than {human_bytes(error.limit)}, the limit of a snapshot (files.keep_max_bytes)"
            ) from None

    def too_large(self, paths: Sequence[str]) -> bool:
        """Whether a file is too large for a snapshot, so that a person must approve first."""
        for path in paths:
            try:
                if Path(path).stat().st_size > self._snapshots.max_bytes:
                    return True
            except OSError:
                continue
        return False

    def with_snapshots(self, paths: Sequence[str], key: str) -> list[str]:
        """The paths that have a snapshot of the call."""
        return [path for path in paths if self._has_snapshot(_key(key, path))]

    def _has_snapshot(self, key: str) -> bool:
        try:
            self._snapshots.get(key)
        except NotFoundError:
            return False
        return True

    def states(self, paths: Sequence[str]) -> list[dict[str, Any]]:
        """The state of files: path, sha256 and mode each, None for one that is missing or unreadable."""
        return [self._state(path) for path in paths[:MOST_FILES]]

    def _state(self, path: str) -> dict[str, Any]:
        from sb.tools.file_changes import sha256_of

        try:
            with (
                self._roots.parent(path) as (folder, name),
                folder.open_present(name) as fd,
                os_failures_about(folder.path / name),
            ):
                if fd is not None:
                    return {"path": path, "sha256": sha256_of(fd), "mode": os.fstat(fd).st_mode & 0o777}
        except ToolError:
            pass  # neither there nor readable: restoring it says which
        return {"path": path, "sha256": None, "mode": None}

    def states_after(self, paths: Sequence[str], key: str) -> list[dict[str, Any]]:
        """The state of files after a call, without those that neither existed before nor exist now: a path may be named in
        each way that a host may read it."""
        files = self.states(paths)
        return [one for one in files if one["sha256"] or self._was_there(_key(key, one["path"]))] or files

    def _was_there(self, key: str) -> bool:
        try:
            return self._snapshots.get(key) is not None
        except NotFoundError:
            return False

    def have_changed(self, paths: Sequence[str], key: str) -> bool:
        """Whether one of the files differs from its snapshot."""
        for found in self.states(paths):
            try:
                was = self._snapshots.get(_key(key, found["path"]))
            except NotFoundError:
                return True  # nothing says what it was
            if (was and was.sha256) != found["sha256"]:
                return True
        return False

    def restore(self, files: list[dict[str, Any]], key: str, *, idempotency_key: str = "") -> dict[str, Any]:
        """Restore files from their snapshots under `key`: all, or none as far as can be told.

        Raises:
            ToolError: VALIDATION_ERROR when one of them is not what the call left.
        """
        answer = self.restorable(files, key)
        if not answer["ok"]:
            raise invalid(str(answer["detail"]))
        return {
            "files": [
                self._restoring.restore(one["path"], _key(key, one["path"]), one["sha256"], one["mode"])
                for one in files
            ]
        }

    def restorable(self, files: list[dict[str, Any]], key: str) -> dict[str, Any]:
        """Whether `restore` with the same arguments would work now, and what it would do."""
        answers = [
            self._restoring.restorable(one["path"], _key(key, one["path"]), one["sha256"], one["mode"])
            for one in files
        ]
        blocked = [answer for answer in answers if not answer["ok"]]
        shown = blocked or answers
        return {"ok": not blocked, "detail": "; ".join(str(answer["detail"]) for answer in shown)}


def _key(call: str, path: str) -> str:
    """The snapshot key of one file of a call, whatever other files the call names."""
    return f"{call}.{sha256(path.encode(errors='surrogatepass')).hexdigest()[:16]}"
