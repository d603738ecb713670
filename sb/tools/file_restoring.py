"""files.restore: put a file back to its snapshot, and preview that.

Only where the file still is what the call left: whatever somebody did to it since is not overwritten.
"""

from __future__ import annotations

import os
from typing import Any

from sb.base.sources import SYSTEM_IDS
from sb.base.text import human_bytes
from sb.base.values.frozen import frozen
from sb.errors import NotFoundError, SBError
from sb.kernel.contracts import ToolError
from sb.store.snapshots import Snapshot, SnapshotStore
from sb.tools.failures import display, failures_of_packs, invalid, not_found, os_failures_about
from sb.tools.file_changes import file_state, replace_file, require_in_place, sha256_of
from sb.tools.folders import Folder
from sb.tools.pack_restoring import PackRestoring
from sb.tools.roots import Roots


@frozen
class _State:
    """The state of a path: hash of the content and permission bits, both None for no file."""

    sha256: str | None
    mode: int | None


class FileRestoring:
    """The functions of files.restore and files.restorable."""

    def __init__(self, roots: Roots, snapshots: SnapshotStore) -> None:
        self._roots = roots
        self._snapshots = snapshots
        self._packs = PackRestoring(roots, snapshots.packs)

    def restore(
        self,
        path: str,
        kept: str,
        sha256: str | None = None,
        mode: int | None = None,
        *,
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Restore bytes, permission bits and existence; a file that is restored already is left alone.

        Args:
            kept: the key of the snapshot. sha256, mode: of the file after the call; None for no file.

        Raises:
            ToolError: VALIDATION_ERROR when the file is not what the call left.
        """
        if self._snapshots.packs.has(kept):
            return self._restore_from_pack(path, kept, sha256, mode)
        with (
            self._roots.parent(path) as (folder, name),
            folder.open_present(name) as fd,
            os_failures_about(folder.path / name),
        ):
            found = file_state(fd)
            former = self._former(kept)
            back = _before(former)
            if _state(fd) != back:
                _require_unchanged(folder, name, fd, _State(sha256, mode))
                if former is None:
                    require_in_place(folder, name, found)
                    os.unlink(name, dir_fd=folder.fd)
                    os.fsync(folder.fd)
                else:
                    content = self._snapshots.read(kept)
                    replace_file(folder, name, content, fd, found, mode_after=former.mode)
        return {"path": path, "existed": former is not None, "sha256": back.sha256, "mode": back.mode}

    def restorable(
        self, path: str, kept: str, sha256: str | None = None, mode: int | None = None
    ) -> dict[str, Any]:
        """Preview of `restore` with the same arguments: whether it would work now, and its changes."""
        try:
            if self._snapshots.packs.has(kept):
                return self._restorable_from_pack(path, kept, sha256, mode)
            with (
                self._roots.parent(path) as (folder, name),
                folder.open_present(name) as fd,
                os_failures_about(folder.path / name),
            ):
                former = self._former(kept)
                if _state(fd) == _before(former):
                    return {
                        "ok": True,
                        "detail": f"{display(folder.path / name)} is already restored",
                    }
                _require_unchanged(folder, name, fd, _State(sha256, mode))
        except ToolError as error:
            return {"ok": False, "detail": str(error)}
        return _would(path, former)

    def restore_over(
        self,
        path: str,
        kept: str,
        sha256: str | None = None,
        mode: int | None = None,
        *,
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Restore a file also where it changed since; what is there now is kept first.

        Raises:
            ToolError: it cannot be kept, or `kept` is a snapshot of an earlier version.
        """
        real = self._absolute(path)
        row = {"path": real, "sha256": sha256, "mode": mode}
        with failures_of_packs():
            self._snapshots.take(real, key=idempotency_key or SYSTEM_IDS.token(16))
            self._packs.restore([row], kept, force=True)
        back = _before(self._former(kept))
        return {"path": path, "existed": back.sha256 is not None, "sha256": back.sha256, "mode": back.mode}

    def _restore_from_pack(self, path: str, key: str, sha256: str | None, mode: int | None) -> dict[str, Any]:
        row = {"path": self._absolute(path), "sha256": sha256, "mode": mode}
        former = self._former(key)
        with failures_of_packs():
            self._packs.restore([row], key)
        back = _before(former)
        return {"path": path, "existed": former is not None, "sha256": back.sha256, "mode": back.mode}

    def _restorable_from_pack(
        self, path: str, key: str, sha256: str | None, mode: int | None
    ) -> dict[str, Any]:
        real = self._absolute(path)
        former = self._former(key)
        with failures_of_packs():
            changes = self._packs.changes([{"path": real, "sha256": sha256, "mode": mode}], key)
        obstacles = [change.obstacle for change in changes if change.obstacle]
        if obstacles:
            return {"ok": False, "detail": "; ".join(obstacles)}
        if not changes:
            return {"ok": True, "detail": f"{display(real)} is already restored"}
        return _would(path, former)

    def _absolute(self, path: str) -> str:
        root, parts = self._roots.locate(path)
        return "/" + "/".join(root + parts)

    def digest(self, path: str) -> dict[str, Any]:
        """The hash of one file's content; raises ToolError when it cannot be read."""
        with (
            self._roots.parent(path) as (folder, name),
            folder.open_present(name) as fd,
            os_failures_about(folder.path / name),
        ):
            return {"path": path, "sha256": _state(fd).sha256}

    def _former(self, key: str) -> Snapshot | None:
        """The snapshot; raises ToolError if there is none."""
        try:
            return self._snapshots.get(key)
        except NotFoundError:
            raise not_found(f"no snapshot of the file is left ({display(key)})") from None
        except SBError as error:
            raise invalid(error.message) from None


def _would(path: str, former: Snapshot | None) -> dict[str, Any]:
    if former is None:
        return {"ok": True, "detail": f"would delete {path}, which did not exist before"}
    size = human_bytes(former.size)
    return {"ok": True, "detail": f"would restore {path} ({size}, mode {former.mode:04o})"}


def _before(former: Snapshot | None) -> _State:
    return _State(None, None) if former is None else _State(former.sha256, former.mode)


def _state(fd: int | None) -> _State:
    if fd is None:
        return _State(None, None)
    return _State(sha256_of(fd), os.fstat(fd).st_mode & 0o777)


def _require_unchanged(folder: Folder, name: str, fd: int | None, left: _State) -> None:
    """Raise ToolError if the file changed since the call."""
    found, path = _state(fd), display(folder.path / name)
    if found.sha256 != left.sha256:
        if found.sha256 is None:
            raise invalid(f"{path} was deleted since; it was not restored")
        what = "was created again" if left.sha256 is None else "was changed since"
        raise invalid(f"{path} {what}; it was not restored")
    if left.mode is not None and found.mode != left.mode:
        raise invalid(
            f"{path}: its mode was changed since, from {left.mode:04o} to {found.mode or 0:04o}; it was not restored"
        )
