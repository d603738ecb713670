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
from sb.tools.failures import denied, invalid, os_failures_about, shown

if TYPE_CHECKING:
    from sb.tools.file_restoring import FileRestoring
    from sb.tools.roots import Roots

MOST_FILES = 500  # of one call


class HostedFiles:
    """The files that hosts change, wherever they are, but for what is protected.

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
        """Keep what the files are before a call changes them.

        Raises:
            ToolError: one is protected, no regular file, or too large to keep.
        """
        if len(paths) > MOST_FILES:
            raise denied(
                f"the call changes {len(paths)} files, more than the {MOST_FILES} that can be undone at once"
            )
        for path in paths:
            self._keep_one(path, _key(idempotency_key, path), wanted=keep)

    def _keep_one(self, path: str, key: str, *, wanted: bool) -> None:
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
                f"{shown(path)} is larger than the {human_bytes(error.limit)} that are kept"
            ) from None

    def too_large(self, paths: Sequence[str]) -> bool:
        """Whether one of the files is larger than what is kept, so that a person has to agree first."""
        for path in paths:
            try:
                if Path(path).stat().st_size > self._snapshots.max_bytes:
                    return True
            except OSError:
                continue
        return False

    def kept_of(self, paths: Sequence[str], key: str) -> list[str]:
        """Those of the paths of which it was kept under `key` what they were."""
        return [path for path in paths if self._keeps(_key(key, path))]

    def _keeps(self, key: str) -> bool:
        try:
            self._snapshots.get(key)
        except NotFoundError:
            return False
        return True

    def now(self, paths: Sequence[str]) -> list[dict[str, Any]]:
        """What the files are: path, sha256 and mode each, None for one that is not there or cannot be read."""
        return [self._now(path) for path in paths[:MOST_FILES]]

    def _now(self, path: str) -> dict[str, Any]:
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
            pass  # neither there nor readable: whoever restores it is told which
        return {"path": path, "sha256": None, "mode": None}

    def left(self, paths: Sequence[str], key: str) -> list[dict[str, Any]]:
        """What a call left: `now` without the files that neither were there before nor are now, since a path may be
        kept in each way that a host may read it."""
        files = self.now(paths)
        return [one for one in files if one["sha256"] or self._was_there(_key(key, one["path"]))] or files

    def _was_there(self, key: str) -> bool:
        try:
            return self._snapshots.get(key) is not None
        except NotFoundError:
            return False

    def changed(self, paths: Sequence[str], key: str) -> bool:
        """Whether one of the files is not what was kept of it."""
        for found in self.now(paths):
            try:
                was = self._snapshots.get(_key(key, found["path"]))
            except NotFoundError:
                return True  # nothing says what it was
            if (was and was.sha256) != found["sha256"]:
                return True
        return False

    def restore(self, files: list[dict[str, Any]], key: str, *, idempotency_key: str = "") -> dict[str, Any]:
        """Put files back to what was kept of them under `key`, all of them or, as far as can be told, none.

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
        told = blocked or answers
        return {"ok": not blocked, "detail": "; ".join(str(answer["detail"]) for answer in told)}


def _key(call: str, path: str) -> str:
    """Names what is kept of one file of a call: whoever names fewer files later, or in another order, finds the same."""
    return f"{call}.{sha256(path.encode(errors='surrogatepass')).hexdigest()[:16]}"
