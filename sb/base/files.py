"""The one atomic writer: a file appears whole under its name, or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sb.base.sources import SYSTEM_IDS

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def atomic_file(
    path: Path, *, replace: bool = True, durable: bool = True, mode: int = 0o600, unfinished: str = ""
) -> Iterator[BinaryIO]:
    """Open a new file, which gets its name when the block ends without an error.

    Args:
        replace: put it in place of an older file of that name; otherwise such a file stays, and the block ends in
            FileExistsError.
        durable: return once content and name survive power loss.
        mode: permission bits, less the umask; by default only the owner may read it.
        unfinished: the file's name until then, for a caller that removes what a killed process left; by default
            one that no other process has.

    Raises:
        OSError: it cannot be written; an older file of that name is then as it was.
    """
    partial = path.with_name(unfinished or f".{path.name}@{SYSTEM_IDS.token(8)}")
    try:
        handle = os.open(partial, NEW_FILE, mode)
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, str(error)) from None
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(handle)
        if replace:
            os.replace(partial, path)
        else:
            os.link(partial, path)
            partial.unlink()
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_atomic(path: Path, content: bytes, *, replace: bool = True, durable: bool = True) -> None:
    """Write a whole file that only its owner may read; see `atomic_file`."""
    with atomic_file(path, replace=replace, durable=durable) as file:
        file.write(content)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock out every other process that locks this folder, which exists."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive power loss; raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_regular(path: str, most: int = -1, *, follow: bool = True) -> bytes:
    """Read a regular file, without waiting at anything that is in its place.

    Args:
        most: bytes; -1 for all of it. follow: read what a link leads to.

    Raises:
        OSError: it cannot be read; EINVAL for a pipe, a socket or a device, ELOOP for a link not to be followed.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    status = os.stat(path) if follow else os.lstat(path)
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(
        status.st_mode
    ):  # a device may do something when opened
        raise _not_regular(path, status)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _not_regular(path, status)
        return file.read(most)


def is_behind_link(path: str) -> bool:
    """True for a path with a link in it, be it one that leads to itself, which `realpath` takes for a real one."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return True
    return os.path.realpath(path) != path


def is_folder(path: str) -> bool:
    """True for a folder, but not for a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def is_executable(path: str) -> bool:
    """True for a file that its owner may run; False for a path where nothing is."""
    try:
        return bool(os.lstat(path).st_mode & 0o100)
    except OSError:
        return False


def _not_regular(path: str, status: os.stat_result) -> OSError:
    number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
    return OSError(number, os.strerror(number) if number == errno.EISDIR else "not a regular file", path)
