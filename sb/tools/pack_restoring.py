"""Restore what a call changed from its pack: files, links and folders, and absence.

A path is restored only where it still is what the call left, or already is what it was before: so what somebody did
since is not overwritten, and a restoration that was killed half way is finished by repeating it. Where somebody changed
one path, none is restored; where the system refuses one, the others are.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from typing import Self

from sb.base.files import NEW_FILE
from sb.base.text import counted
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.recovery_loop.variants import NOT_RESTORED
from sb.kernel.results import Effect
from sb.store.pack_file import FILE, FOLDER, LINK, Entry, Pack, PackReader
from sb.store.packs import PackStore
from sb.store.path_states import is_same, path_of, states
from sb.tools.failures import MOST_NAMED, display, invalid, os_failures_about
from sb.tools.folders import FOLDER as OPEN_FOLDER
from sb.tools.folders import Folder, open_component
from sb.tools.pack_changes import (
    OWN_WHILE_FILLED,
    Change,
    Rows,
    another_kind,
    changes_of,
    conflicts,
    is_below,
    is_folder,
)
from sb.tools.roots import Roots

_OF_EXTRA = 0o444  # as git leaves its objects
_WRITABLE = 0o300
_NOT_EMPTY = os.strerror(errno.ENOTEMPTY).lower()


class PackRestoring:
    """Compares and restores the paths of calls.

    Args:
        roots: opens folders without following links, and refuses protected ones.
    """

    def __init__(self, roots: Roots, packs: PackStore) -> None:
        self._roots = roots
        self._packs = packs

    def changes(self, rows: Rows, key: str) -> list[Change]:
        """The changes of restoring, in the order of the paths.

        Args:
            rows: the states that the call left, as `sb.store.path_states.rows_after` gives them.

        Raises:
            NotFoundError: no such snapshot, or it does not hold a path of the rows.
            SBError: it is damaged, or a path cannot be looked at.
        """
        with self._packs.open(key) as reader:
            return changes_of(rows, reader.pack)

    def restore(self, rows: Rows, key: str, *, force: bool = False) -> list[Change]:
        """Restore the paths of the rows; returns what was changed.

        Args:
            force: restore also what somebody changed since.

        Raises:
            ToolError: VALIDATION_ERROR when a path is not what the call left, and force is not given; or the system
                refuses some, after the others were restored. Repeating it finishes what was begun.
            NotFoundError, SBError: as `changes`.
        """
        with self._packs.open(key) as reader:
            changes = changes_of(rows, reader.pack, force=force)
            if not force and (why := conflicts(changes)):
                raise invalid("; ".join(why))
            self._sweep(rows, reader.pack, changes, key)
            failed = self._apply(changes, reader, key)
            if 0 < len(failed) < len(changes):  # a folder that let nobody in may be open now
                again = changes_of(rows, reader.pack, force=force)
                if force or not conflicts(again):
                    failed = self._apply(again, reader, key)
            failed |= self._put_back(reader)
            if failed:
                raise _failure(changes, failed)
        return changes

    def _sweep(self, rows: Rows, pack: Pack, changes: Sequence[Change], key: str) -> None:
        """Remove the unfinished files that a killed attempt left beside what it had restored already."""
        open_ones, tops = {change.path for change in changes}, [path_of(row) for row in rows]
        with _OpenFolders(self._roots) as opened:
            for entry in pack.entries:
                if (
                    entry.kind not in (FILE, LINK)
                    or entry.path in open_ones
                    or not is_below(entry.path, tops)
                ):
                    continue
                with (
                    suppress(ToolError, FileNotFoundError),
                    opened.parent(entry.path) as (folder, _),
                ):
                    os.unlink(_temporary(entry.path, key), dir_fd=folder.fd)

    def _apply(self, changes: Sequence[Change], reader: PackReader, key: str) -> dict[str, str]:
        """Restore path by path; returns those that the system refused, with the reasons."""
        failed = {change.path: change.obstacle for change in changes if change.stays}
        tried = [change for change in changes if change.path not in failed]
        opened = _OpenFolders(self._roots)

        def each(some: Iterable[Change], step: Callable[[Change], None]) -> None:
            for change in some:
                if change.path not in failed:
                    with _noted(failed, change.path):
                        step(change)

        with opened:
            going = [
                change for change in tried if change.before is None or another_kind(change.before, change.now)
            ]
            filled = [
                change for change in tried if change.before is not None and change.before.kind == FOLDER
            ]
            files = [
                change for change in tried if change.before is not None and change.before.kind in (FILE, LINK)
            ]
            each(reversed(going), lambda change: _remove(opened, change))
            each(filled, lambda change: _make_folder(opened, change))
            each(files, lambda change: _make(opened, change, reader, _temporary(change.path, key)))
            each(reversed(filled), lambda change: _finish_folder(opened, change))
        return failed

    def _put_back(self, reader: PackReader) -> dict[str, str]:
        """Write extra contents that are named by a path where nothing is; returns what the system refused."""
        failed = dict[str, str]()
        for name, entry in reader.pack.extra.items():
            if not name.startswith("/"):
                continue
            with (
                _noted(failed, name),
                self._roots.parent(name, make=True, any_depth=True) as (folder, base),
                os_failures_about(folder.path / base),
            ):
                temporary = _temporary(name, reader.pack.header.key)
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder.fd)
                _write(folder, temporary, entry._replace(mode=_OF_EXTRA), reader)
                with suppress(FileExistsError):
                    os.link(temporary, base, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
                os.unlink(temporary, dir_fd=folder.fd)
        return failed


@contextmanager
def _noted(failed: dict[str, str], path: str) -> Iterator[None]:
    """Note why a path was not restored, in place of the failure."""
    try:
        yield
    except ToolError as error:
        failed[path] = str(error)


def _failure(changes: Sequence[Change], failed: Mapping[str, str]) -> ToolError:
    """Names the paths that were not restored, with the reasons; what follows from another one goes without saying."""
    tops, top = [], "/"
    for path in sorted(failed, key=lambda path: path.split("/")):
        holds_another = failed[path].endswith(_NOT_EMPTY) and any(
            item.startswith(f"{path}/") for item in failed
        )
        if not path.startswith(f"{top}/") and not holds_another:
            tops.append(failed[path].removesuffix(NOT_RESTORED))
            top = path
    more = f"; and {len(tops) - MOST_NAMED} more" if len(tops) > MOST_NAMED else ""
    text = f"{'; '.join(tops[:MOST_NAMED])}{more}"
    done = sum(change.path not in failed for change in changes)
    if not done:
        return invalid(f"{text}{NOT_RESTORED}")
    again = "--force removes them, and keeps them first"
    if any(change.path in failed and not change.only_copy for change in changes):
        again = "run sb undo again to retry these paths"
    text = f"restored {counted(done, 'path')}; not restored: {text}; {again}"
    return ToolError(ToolErrorCode.VALIDATION_ERROR, text, Effect.PARTIAL)


def _temporary(path: str, key: str) -> str:
    """The name of a file until it is complete; the same in each attempt, so that none leaves one behind."""
    return f".sb-{sha256(f'{key} {path}'.encode(errors='surrogatepass')).hexdigest()[:16]}.tmp"


class _OpenFolders:
    """The folder that a path is in, held open while the next paths are in it too."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._stack = ExitStack()
        self._path = ""
        self._folder: Folder | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def parent(self, path: str) -> Iterator[tuple[Folder, str]]:
        """The folder of a path, made if it is missing, and the name in it; raises ToolError."""
        above, name = os.path.split(path)
        if self._folder is None or above != self._path:
            self._stack.close()
            self._folder = None
            self._folder, _ = self._stack.enter_context(self._roots.parent(path, make=True, any_depth=True))
            self._path = above
            self._let_write(self._folder.fd)
        folder = self._folder
        folder.protected.refuse_place(folder.fd, name, folder.path / name)
        with os_failures_about(folder.path / name):
            yield folder, name

    def _let_write(self, handle: int) -> None:
        """Let its owner write to a folder while it is open."""
        status = os.fstat(handle)
        mode = stat.S_IMODE(status.st_mode)
        if mode & _WRITABLE != _WRITABLE and status.st_uid == os.geteuid():
            os.fchmod(handle, mode | _WRITABLE)
            self._stack.callback(os.fchmod, handle, mode)


def _remove(opened: _OpenFolders, change: Change) -> None:
    with opened.parent(change.path) as (folder, name):
        if is_folder(change.now):
            os.rmdir(name, dir_fd=folder.fd)
        else:
            _require_still(folder, name, change.path, change.now)
            os.unlink(name, dir_fd=folder.fd)


def _make_folder(opened: _OpenFolders, change: Change) -> None:
    """Make a folder, or open an existing one of another mode for what is put into it."""
    with opened.parent(change.path) as (folder, name):
        try:
            os.mkdir(name, OWN_WHILE_FILLED, dir_fd=folder.fd)
        except FileExistsError:
            if change.now is not None and change.now.mode & OWN_WHILE_FILLED != OWN_WHILE_FILLED:
                _set_mode(folder, name, OWN_WHILE_FILLED)


def _finish_folder(opened: _OpenFolders, change: Change) -> None:
    assert change.before is not None
    with opened.parent(change.path) as (folder, name):
        _set_mode(folder, name, change.before.mode, change.before)


def _set_mode(folder: Folder, name: str, mode: int, owner: Entry | None = None) -> None:
    """Give a folder its mode, and its owner if one is named."""
    try:
        handle = open_component(folder, name, OPEN_FOLDER)
    except ToolError as error:
        if error.code is not ToolErrorCode.PERMISSION_DENIED:
            raise
        _let_in(folder, name)
        handle = open_component(folder, name, OPEN_FOLDER)
    try:
        if owner is not None:
            _own(handle, owner)
        os.fchmod(handle, mode)
    finally:
        os.close(handle)


def _let_in(folder: Folder, name: str) -> None:
    """Let its owner into a folder that cannot be opened; links are not followed."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, OWN_WHILE_FILLED, dir_fd=folder.fd, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.fd)
    try:
        os.chmod(f"/proc/self/fd/{handle}", OWN_WHILE_FILLED)
    finally:
        os.close(handle)


def _make(opened: _OpenFolders, change: Change, reader: PackReader, temporary: str) -> None:
    """Put a complete file or link in place of a path."""
    entry = change.before
    assert entry is not None
    with opened.parent(change.path) as (folder, name):
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder.fd)
        try:
            if entry.kind == LINK:
                os.symlink(entry.target, temporary, dir_fd=folder.fd)
            else:
                _write(folder, temporary, entry, reader)
            replaced = None if change.now and another_kind(entry, change.now) else change.now
            _require_still(folder, name, change.path, replaced)
            if replaced is not None or not _linked(folder, temporary, name, change.path):
                os.replace(temporary, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder.fd)
            raise


def _linked(folder: Folder, temporary: str, name: str, path: str) -> bool:
    """Move a file to its name if that is free; False where the file system has no links. Raises ToolError."""
    try:
        os.link(temporary, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd, follow_symlinks=False)
    except FileExistsError:
        raise invalid(f"{display(path)} was created meanwhile; repeat the undo") from None
    except OSError:
        return False
    os.unlink(temporary, dir_fd=folder.fd)
    return True


def _write(folder: Folder, name: str, entry: Entry, reader: PackReader) -> None:
    content = reader.content(entry)
    handle = os.open(name, NEW_FILE, 0o600, dir_fd=folder.fd)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        _own(handle, entry)
        os.fchmod(handle, entry.mode)
    finally:
        os.close(handle)


def _own(handle: int, entry: Entry) -> None:
    """Give a file back to its owner and group, as far as this user may."""
    status = os.fstat(handle)
    if entry.uid >= 0 and (status.st_uid, status.st_gid) != (entry.uid, entry.gid):
        with suppress(PermissionError):
            os.fchown(handle, entry.uid, entry.gid)


def _require_still(folder: Folder, name: str, path: str, expected: Entry | None) -> None:
    """Raise ToolError unless a path is as it was when it was compared."""
    if expected is None:
        try:
            os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
        except FileNotFoundError:
            return
        raise invalid(f"{display(path)} was created meanwhile; repeat the undo")
    if not is_same(expected, states([path], deep=False).get(path)):
        raise invalid(f"{display(path)} was changed meanwhile; repeat the undo")
