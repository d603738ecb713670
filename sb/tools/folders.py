"""Open folders: entries are opened in them without ever following a link.

Every component is opened relative to the folder before it and never through a symbolic link, so that a link
swapped in between two steps cannot lead elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sb.base.text import normal_name
from sb.base.values.frozen import frozen
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.tools.failures import denied, display, invalid, not_found, os_failure

Identity = tuple[int, int]  # st_dev, st_ino

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Non-blocking: opening a FIFO must not wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def file_identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


@frozen
class Protected:
    """Places that tools must not touch, even below a root.

    Args:
        identities: files and folders that exist.
        places: (folder, normal name): what may not be there yet, such as a database's journal.
        folders: those whose files are refused under every other name that they have.
    """

    identities: frozenset[Identity] = frozenset()
    places: frozenset[tuple[Identity, str]] = frozenset()
    folders: tuple[Path, ...] = ()

    @cached_property
    def linked(self) -> frozenset[Identity]:
        """The files in the folders, however deep, that have another name somewhere; raises ToolError."""
        found: set[Identity] = set()
        for top in self.folders:
            for folder, _, names in os.walk(top, onerror=_cannot_tell):
                for name in names:
                    with suppress(FileNotFoundError):  # removed meanwhile, as kept contents are
                        status = os.lstat(os.path.join(folder, name))
                        if status.st_nlink > 1:
                            found.add(file_identity(status))
        return frozenset(found)

    def refuse_place(self, fd: int, name: str, path: Path) -> None:
        """Raise ToolError if a name in the open folder is protected."""
        spelt = normal_name(name)
        here = (folder for folder, other in self.places if other == spelt)
        if file_identity(os.fstat(fd)) in here:
            raise belongs_to_us(path)


def _cannot_tell(error: OSError) -> None:
    """Refuse when a protected folder cannot be read: it might hold the named file."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise os_failure(error, Path(str(error.filename))) from error


def belongs_to_us(path: Path) -> ToolError:
    return denied(f"{display(path)} belongs to SecondBrain; tools must not touch it")


class Folder(NamedTuple):
    """An open folder below a root; valid inside the context that yielded it.

    Args:
        fd: its file descriptor.
        path: where it was found, for messages and results.
        protected: files and folders that are refused.
    """

    fd: int
    path: Path
    protected: Protected

    @contextmanager
    def open_folder(self, name: str) -> Iterator[Folder]:
        """The folder of that name inside this one; raises ToolError."""
        fd = open_component(self, name, FOLDER)
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
        fd = open_component(self, name, _FILE)
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


def checked(folder: Folder) -> Folder:
    """The folder itself, unless it is protected; raises ToolError."""
    _require_unprotected(os.fstat(folder.fd), folder.path, folder.protected)
    return folder


def open_or_make(folder: Folder, name: str) -> int:
    """A descriptor of the folder of that name, made if it is missing; raises ToolError."""
    try:
        return open_component(folder, name, FOLDER)
    except ToolError as error:
        if error.code is not ToolErrorCode.NOT_FOUND:
            raise
    try:
        os.mkdir(name, dir_fd=folder.fd)
    except FileExistsError:
        pass  # made by someone else meanwhile: opening it decides whether it is a folder
    except OSError as error:
        raise os_failure(error, folder.path / name) from error
    return open_component(folder, name, FOLDER)


def open_component(folder: Folder, name: str, flags: int) -> int:
    """A descriptor of what has that name in the folder; raises ToolError, also for a link."""
    folder.protected.refuse_place(folder.fd, name, folder.path / name)
    try:
        return os.open(name, flags, dir_fd=folder.fd)
    except OSError as error:
        raise _refusal(folder, name, error) from error


def _refusal(folder: Folder, name: str, error: OSError) -> ToolError:
    path = folder.path / name
    if error.errno == errno.ENOENT:
        return not_found(f"{display(path)} does not exist")
    try:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_mode):
            return _is_link(path)
    except OSError:
        return os_failure(error, path)  # gone or unreadable by now: the first error says more
    if error.errno == errno.ENOTDIR:
        return invalid(f"{display(path)} is not a folder")
    return os_failure(error, path)


def _is_link(path: Path) -> ToolError:
    return denied(f"{display(path)} is a symbolic link; tools do not follow links")


def _require_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise _is_link(path)
    if stat.S_ISDIR(status.st_mode):
        raise invalid(f"{display(path)} is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise invalid(f"{display(path)} is not a regular file")


def _require_unprotected(status: os.stat_result, path: Path, protected: Protected) -> None:
    found = file_identity(status)
    another_name = status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode)
    if found in protected.identities or (another_name and found in protected.linked):
        raise belongs_to_us(path)
