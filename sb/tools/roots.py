"""Which file or folder does a path from an agent name, and is it one that tools may touch?

Every component is opened relative to the folder before it and never through a symbolic link, so that a link
swapped in between two steps cannot lead outside the configured roots.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.tools.failures import denied, invalid, not_found, os_failure, shown

Identity = tuple[int, int]  # st_dev, st_ino

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Folders above a root may be searchable without being readable: /home of a multi-user machine.
_ABOVE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
# Non-blocking: opening a FIFO must not wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def path_parts(path: str) -> tuple[str, ...]:
    """The components of a path, without empty ones and dots.

    Raises:
        ToolError: the path is empty or cannot be a path (VALIDATION_ERROR), or climbs (PERMISSION_DENIED).
    """
    if not path:
        raise invalid("the path is empty")
    if "\0" in path:
        raise invalid("the path holds a NUL character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise invalid("the path holds a character that no file name can hold") from None
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in parts:
        raise denied(f"{shown(path)}: '..' is not allowed in a path")
    return parts


def file_identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


@dataclass(frozen=True)
class Folder:
    """An open folder below a root; valid inside the context that yielded it.

    Args:
        fd: its file descriptor.
        path: where it was found, for messages and results.
        protected: files and folders that are refused.
    """

    fd: int
    path: Path
    protected: frozenset[Identity]

    @contextmanager
    def open_folder(self, name: str) -> Iterator[Folder]:
        """The folder of that name inside this one; raises ToolError."""
        fd = _open_component(self, name, _FOLDER)
        try:
            yield checked(Folder(fd, self.path / name, self.protected))
        finally:
            os.close(fd)

    @contextmanager
    def open_file(self, name: str) -> Iterator[int]:
        """A descriptor of the regular file of that name, open for reading; raises ToolError."""
        path = self.path / name
        try:
            # Looked at before it is opened, because opening a device can already act on it.
            _require_regular(os.stat(name, dir_fd=self.fd, follow_symlinks=False), path)
        except OSError as error:
            raise _refusal(self, name, error) from error
        fd = _open_component(self, name, _FILE)
        try:
            status = os.fstat(fd)
            _require_regular(status, path)
            _require_unprotected(status, path, self.protected)
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def open_present(self, name: str) -> Iterator[int | None]:
        """Like `open_file`, but None when nothing of that name exists."""
        with ExitStack() as stack:
            try:
                fd = stack.enter_context(self.open_file(name))
            except ToolError as error:
                if error.code is not ToolErrorCode.NOT_FOUND:
                    raise
                fd = None
            yield fd


class Roots:
    """The folders that file tools may touch.

    Args:
        roots: absolute folders; links in them are resolved now, and never again.
        protected: files and folders that are refused even below a root, such as SB_HOME.
    """

    def __init__(self, roots: Sequence[Path], protected: Sequence[Path] = ()) -> None:
        self._roots = [(root.parts[1:], root.resolve().parts[1:]) for root in roots]
        self._protected = tuple(protected)

    def locate(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The components of the root that a path is below, from /, and those of the path below it.

        Raises:
            ToolError: the path is malformed, climbs, or is outside every root.
        """
        parts = path_parts(path)
        if not self._roots:
            raise denied("no folder is open to tools; name folders in the setting files.roots")
        if not path.startswith("/"):
            return self._roots[0][1], parts
        for configured, resolved in self._roots:
            for prefix in (configured, resolved):
                if parts[: len(prefix)] == prefix:
                    return resolved, parts[len(prefix) :]
        raise denied(f"{shown(path)} is outside the folders of the setting files.roots")

    @contextmanager
    def folder(self, path: str) -> Iterator[Folder]:
        """Open the folder that a path names.

        Raises:
            ToolError: PERMISSION_DENIED outside the roots, in a protected folder or through a link; NOT_FOUND;
                VALIDATION_ERROR when it is not a folder.
        """
        root, parts = self.locate(path)
        with self._walk(root, parts, make=False) as folder:
            yield folder

    @contextmanager
    def parent(self, path: str, *, make: bool = False) -> Iterator[tuple[Folder, str]]:
        """Open the folder that holds what a path names, and give the name in it.

        Args:
            make: make missing folders below the root.

        Raises:
            ToolError: as `folder`.
        """
        root, parts = self.locate(path)
        if not parts:
            raise invalid(f"{shown(path)} is a folder")
        with self._walk(root, parts[:-1], make=make) as folder:
            yield folder, parts[-1]

    @contextmanager
    def _walk(self, root: tuple[str, ...], parts: tuple[str, ...], *, make: bool) -> Iterator[Folder]:
        protected = frozenset(self._identities())
        fd = os.open("/", _ABOVE if root else _FOLDER)
        try:
            folder = Folder(fd, Path("/"), protected)
            for depth, name in enumerate(root + parts, start=1):
                if make and depth > len(root):
                    child = _open_or_make(folder, name)
                else:
                    child = _open_component(folder, name, _FOLDER if depth >= len(root) else _ABOVE)
                os.close(fd)
                fd = child
                folder = checked(Folder(fd, folder.path / name, protected))
            yield folder
        finally:
            os.close(fd)

    def _identities(self) -> Iterator[Identity]:
        """Looked up for every call: SB_HOME may have been made or replaced since."""
        for path in self._protected:
            try:
                yield file_identity(path.stat())
            except FileNotFoundError:
                continue


def checked(folder: Folder) -> Folder:
    """The folder itself, unless it is protected; raises ToolError."""
    _require_unprotected(os.fstat(folder.fd), folder.path, folder.protected)
    return folder


def _open_or_make(folder: Folder, name: str) -> int:
    try:
        return _open_component(folder, name, _FOLDER)
    except ToolError as error:
        if error.code is not ToolErrorCode.NOT_FOUND:
            raise
    try:
        os.mkdir(name, dir_fd=folder.fd)
    except FileExistsError:
        pass  # made by someone else meanwhile: opening it decides whether it is a folder
    except OSError as error:
        raise os_failure(error, folder.path / name) from error
    return _open_component(folder, name, _FOLDER)


def _open_component(folder: Folder, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder.fd)
    except OSError as error:
        raise _refusal(folder, name, error) from error


def _refusal(folder: Folder, name: str, error: OSError) -> ToolError:
    path = folder.path / name
    if error.errno == errno.ENOENT:
        return not_found(f"{shown(path)} does not exist")
    try:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_mode):
            return _is_link(path)
    except OSError:
        return os_failure(error, path)  # gone or unreadable by now: the first error says more
    if error.errno == errno.ENOTDIR:
        return invalid(f"{shown(path)} is not a folder")
    return os_failure(error, path)


def _is_link(path: Path) -> ToolError:
    return denied(f"{shown(path)} is a symbolic link; tools do not follow links")


def _require_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise _is_link(path)
    if stat.S_ISDIR(status.st_mode):
        raise invalid(f"{shown(path)} is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise invalid(f"{shown(path)} is not a regular file")


def _require_unprotected(status: os.stat_result, path: Path, protected: frozenset[Identity]) -> None:
    if file_identity(status) in protected:
        raise denied(f"{shown(path)} belongs to SecondBrain itself; tools do not touch it")
