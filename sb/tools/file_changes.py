"""files.write and files.delete: whole, undoable, and safe to retry.

A call changes a file only if it still equals the snapshot that the call took. So a second attempt with the same
idempotency key finds the file unchanged, or the work done, or the work of somebody else, which it leaves alone.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack
from typing import Any

from sb.base.sources import SYSTEM_IDS
from sb.base.text import human_bytes
from sb.errors import NotFoundError
from sb.kernel.contracts import ToolError
from sb.kernel.error_kinds import ErrorKind, tool_failure
from sb.store.pack_scan import CannotKeep
from sb.store.snapshots import Snapshot, SnapshotStore, SnapshotTooLarge
from sb.tools.content import from_content
from sb.tools.failures import denied, display, not_found, os_failures_about
from sb.tools.file_reading import readable
from sb.tools.folders import Folder, file_identity
from sb.tools.roots import Roots


class FileChanges:
    """The functions of files.write and files.delete."""

    def __init__(self, roots: Roots, snapshots: SnapshotStore) -> None:
        self._roots = roots
        self._snapshots = snapshots

    def write(
        self,
        path: str,
        content: str,
        encoding: str = "utf-8",
        parents: bool = False,
        keep: bool = True,
        *,
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Write a regular file; permission bits stay, and unless `keep` is False a snapshot is taken.

        Raises:
            ToolError: PERMISSION_DENIED also when the former content is too large to keep; VALIDATION_ERROR also
                when somebody else changed the file meanwhile.
        """
        data = from_content(content, encoding)
        new = hashlib.sha256(data).hexdigest()
        key = idempotency_key or SYSTEM_IDS.token(16)
        with (
            self._roots.parent(path, make=parents) as (folder, name),
            folder.open_present(name) as fd,
            os_failures_about(folder.path / name),
        ):
            found = file_state(fd)
            prior = self._keep(key, folder, name) if keep else None
            present = None if fd is None else sha256_of(fd)
            if present != new:
                if keep and present != (prior and prior.sha256):
                    raise _changed_meanwhile(folder, name)
                replace_file(folder, name, data, fd, found)
            created = prior is None if keep else fd is None
            mode = os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_mode & 0o777
            return _facts(folder, name, prior, size=len(data), sha256=new, mode=mode, created=created)

    def delete(self, path: str, keep: bool = True, *, idempotency_key: str = "") -> dict[str, Any]:
        """Delete a regular file, with a snapshot unless `keep` is False.

        Raises:
            ToolError: as `write`; NOT_FOUND unless an earlier attempt of the same call deleted it.
        """
        key = idempotency_key or SYSTEM_IDS.token(16)
        with (
            self._roots.parent(path) as (folder, name),
            folder.open_present(name) as fd,
            os_failures_about(folder.path / name),
        ):
            found = file_state(fd)
            prior = self._deleted_before(key) if fd is None else None
            if fd is None and prior is None:
                raise not_found(f"{display(folder.path / name)} does not exist")
            if fd is not None:
                prior = self._keep(key, folder, name) if keep else None
                if prior is not None and sha256_of(fd) != prior.sha256:
                    raise _changed_meanwhile(folder, name)
                require_in_place(folder, name, found)
                os.unlink(name, dir_fd=folder.fd)
                os.fsync(folder.fd)
        return _facts(folder, name, prior, size=0, sha256=None, mode=None, created=False)

    def _keep(self, key: str, folder: Folder, name: str) -> Snapshot | None:
        try:
            return self._snapshots.take(str(folder.path / name), key=key)
        except SnapshotTooLarge as error:
            raise denied(
                f"{display(folder.path / name)} is larger than {human_bytes(error.limit)}, the limit of a snapshot "
                "(files.keep_max_bytes); it was not changed. With keep = false it can be changed without undo, "
                "and a person must approve that"
            ) from None
        except CannotKeep as error:
            raise denied(
                f"{display(folder.path / name)} was not changed, since it could not be undone: {error.message}"
            ) from None

    def _deleted_before(self, key: str) -> Snapshot | None:
        """The snapshot that an earlier attempt of this call took before it deleted the file."""
        try:
            return self._snapshots.get(key)
        except NotFoundError:
            return None


def sha256_of(fd: int) -> str:
    """Of an open file's content, in hex."""
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _changed_meanwhile(folder: Folder, name: str) -> ToolError:
    return tool_failure(
        ErrorKind.EVIDENCE_STALE,
        f"{display(folder.path / name)} was changed by another process since this call began; it was not written. "
        "Read it again",
    )


FileState = tuple[int, ...]  # which file it was, and when its content was changed last


def file_state(fd: int | None) -> FileState | None:
    """The identity and state of an open file, None for none; it changes when somebody writes the file."""
    return None if fd is None else _state_of(os.fstat(fd))


def _state_of(status: os.stat_result) -> FileState:
    # Not the time of its status: to be renamed, and back, changes nothing in it.
    return (*file_identity(status), status.st_size, status.st_mtime_ns)


def require_in_place(folder: Folder, name: str, found: FileState | None) -> None:
    """Raise ToolError unless `name` still has the state `found`, or is still missing."""
    try:
        present = _state_of(os.stat(name, dir_fd=folder.fd, follow_symlinks=False))
    except FileNotFoundError:
        present = None
    if present != found:
        raise _changed_meanwhile(folder, name)


def replace_file(
    folder: Folder,
    name: str,
    data: bytes,
    fd: int | None,
    found: FileState | None,
    *,
    mode_after: int | None = None,
) -> None:
    """Put a synced new file in place of `name`, whose present file is `fd`.

    Args:
        found: its `file_state` before it was read.
        mode_after: its permission bits; by default those of the present file, or what the umask leaves.
    """
    temporary = f".sb-{SYSTEM_IDS.token(8)}.tmp"
    # What replaces a private file is private from its first byte; a new file gets what the umask leaves.
    mode = 0o666 if fd is None and mode_after is None else 0o600
    with ExitStack() as undo:
        out = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder.fd)
        undo.callback(os.unlink, temporary, dir_fd=folder.fd)
        with open(out, "wb") as file:
            file.write(data)
            file.flush()
            if mode_after is None and fd is not None:
                mode_after = os.fstat(fd).st_mode & 0o777
            if mode_after is not None:
                os.fchmod(out, mode_after)
            os.fsync(out)
        require_in_place(folder, name, found)
        if found is not None or not _linked(folder, temporary, name):
            os.replace(temporary, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
            undo.pop_all()
    os.fsync(folder.fd)


def _linked(folder: Folder, temporary: str, name: str) -> bool:
    """Link a file to its name if that is free; False where the file system has no links."""
    try:
        os.link(temporary, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd, follow_symlinks=False)
    except FileExistsError:
        raise _changed_meanwhile(folder, name) from None
    except OSError:
        return False
    return True


def _facts(
    folder: Folder,
    name: str,
    prior: Snapshot | None,
    *,
    size: int,
    sha256: str | None,
    mode: int | None,
    created: bool,
) -> dict[str, Any]:
    return {
        "path": readable(str(folder.path / name)),
        "bytes": size,
        "sha256": sha256,
        "mode": mode,
        "created": created,
        "kept": prior and prior.key,
        "prior": prior and {"sha256": prior.sha256, "bytes": prior.size, "mode": prior.mode},
    }
