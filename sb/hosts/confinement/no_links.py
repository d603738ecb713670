"""Files that confined processes may swap for links meanwhile: reached folder by folder, and never through a link.

Each path is real. It is opened from the root on, one name at a time, and what is done is done by the folder that was
opened, so that a link that appears in between is an error and not another place.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sb.base.files import NEW_FILE
from sb.base.sources import SYSTEM_IDS
from sb.base.text import plain

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_THROUGH = getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER  # such a handle needs no right to read
_LONGEST_NAME = 200  # bytes of a name in the folder of what was removed; with its number that fits everywhere
ASIDE = ".sb-removed-"  # how a name begins that is put beside, where SB_HOME is on another file system


def status(path: str) -> os.stat_result | None:
    """A path's own status, of a link too; None where there is nothing, or only through a link."""
    try:
        with _folder_of(path) as (handle, name):
            return os.stat(name, dir_fd=handle, follow_symlinks=False)
    except OSError:
        return None


def link_text(path: str) -> str:
    """The text of a link; "" for anything else."""
    try:
        with _folder_of(path) as (handle, name):
            return os.readlink(name, dir_fd=handle)
    except OSError:
        return ""


def names_in(folder: str) -> list[str]:
    """The sorted names in a folder; none where it cannot be read."""
    try:
        with _opened(folder, os.O_RDONLY | _FOLDER) as handle:
            return sorted(os.listdir(handle))
    except OSError:
        return []


def is_folder(path: str) -> bool:
    """True for a folder, and not a link to one."""
    entry = status(path)
    return entry is not None and stat.S_ISDIR(entry.st_mode)


def is_regular(path: str) -> bool:
    """True for a regular file, and not a link to one."""
    entry = status(path)
    return entry is not None and stat.S_ISREG(entry.st_mode)


def read(path: str, most: int) -> bytes:
    """The first bytes of a regular file.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    with _folder_of(path) as (handle, name):
        return read_in(handle, name, most)


def read_in(handle: int, name: str, most: int) -> bytes:
    """The first bytes of a regular file in an opened folder.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(name, flags, dir_fd=handle), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        return file.read(most)


@contextmanager
def opened(folder: str) -> Iterator[int]:
    """A folder's handle, for `read_in` and the functions of `os`.

    Raises:
        OSError: it cannot be opened, or only through a link.
    """
    with _opened(folder, os.O_RDONLY | _FOLDER) as handle:
        yield handle


def write(path: str, content: bytes, mode: int) -> None:
    """Put a new file in a path's place, whole.

    Args:
        mode: permission bits.

    Raises:
        OSError: it cannot be written; what was there is then as it was.
    """
    with _folder_of(path) as (handle, name), _writable(handle):
        partial = f".sb-{SYSTEM_IDS.token(8)}"
        file = os.open(partial, NEW_FILE, 0o600, dir_fd=handle)
        try:
            with open(file, "wb") as out:
                out.write(content)
                os.fchmod(out.fileno(), mode)
            os.replace(partial, name, src_dir_fd=handle, dst_dir_fd=handle)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial, dir_fd=handle)
            raise


def make_link(path: str, text: str) -> None:
    """Make a link.

    Raises:
        OSError: it cannot be made.
    """
    with _folder_of(path) as (handle, name), _writable(handle):
        os.symlink(text, name, dir_fd=handle)


def make_folders(path: str) -> None:
    """Make a folder and those above it, where they are missing.

    Raises:
        OSError: one cannot be made, or something else is there.
    """
    if not is_folder(path):
        make_folders(os.path.dirname(path))
        with _folder_of(path) as (handle, name), _writable(handle):
            os.mkdir(name, 0o755, dir_fd=handle)


def move(path: str, removed: Path) -> str:
    """Move a path into a folder, which is made where it is missing; returns where it is now, in brackets.

    Where that folder is on another file system, the path gets another name in its own folder: nothing is ever copied.

    Raises:
        OSError: it cannot be moved.
    """
    removed.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _folder_of(path) as (handle, name), _writable(handle):
        if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            with _opened(path, _THROUGH) as moved:
                _free(moved)  # a folder that its owner may not change cannot be put into another
        target = _free_name(removed, name)
        goal = os.open(removed, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.rename(name, target, src_dir_fd=handle, dst_dir_fd=goal)
            place = str(removed / target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            target = (
                f"{ASIDE}{SYSTEM_IDS.token(8)}"  # without the name, which a host may look for by its ending
            )
            os.rename(name, target, src_dir_fd=handle, dst_dir_fd=handle)
            place = os.path.join(os.path.dirname(path), target)
        finally:
            os.close(goal)
    return f" (now in {plain(place, one_line=True)})"


def _free_name(removed: Path, name: str) -> str:
    numbers = [int(number) for item in os.listdir(removed) if (number := item.partition("-")[0]).isdecimal()]
    cut = os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])
    return f"{max(numbers, default=-1) + 1:04}-{cut}"


@contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    """A folder, opened without following a link anywhere."""
    names = [name for name in path.split("/") if name]
    if ".." in names or not path.startswith("/"):
        raise OSError(errno.EINVAL, "not a real path", path)
    handle = os.open("/", flags if not names else _THROUGH)
    try:
        for count, name in enumerate(names, 1):
            inner = _inner(handle, name, flags if count == len(names) else _THROUGH)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _inner(handle: int, name: str, flags: int) -> int:
    """A folder in a folder; the owner opens what a command closed to it (`chmod 0`), so that nothing hides there."""
    try:
        return os.open(name, flags, dir_fd=handle)
    except PermissionError:
        _free(handle)
        inner = os.open(name, _THROUGH, dir_fd=handle)
    try:
        _free(inner)
        return os.open(".", flags, dir_fd=inner)
    finally:
        os.close(inner)


@contextmanager
def _folder_of(path: str) -> Iterator[tuple[int, str]]:
    with _opened(os.path.dirname(path), _THROUGH) as handle:
        try:
            os.stat(".", dir_fd=handle)
        except PermissionError:
            _free(handle)
        yield handle, os.path.basename(path)


@contextmanager
def _writable(handle: int) -> Iterator[None]:
    """Let the owner change a folder that is closed to it (`chmod 555`), for as long as the block lasts."""
    entry = os.fstat(handle)
    closed = entry.st_uid == os.geteuid() and entry.st_mode & 0o700 != 0o700
    if closed:
        _set_mode(handle, stat.S_IMODE(entry.st_mode) | 0o700)
    try:
        yield
    finally:
        if closed:
            _set_mode(handle, stat.S_IMODE(entry.st_mode))


def _free(handle: int) -> None:
    """Let a folder's owner list, search and change it."""
    entry = os.fstat(handle)
    if entry.st_uid == os.geteuid() and entry.st_mode & 0o700 != 0o700:
        _set_mode(handle, stat.S_IMODE(entry.st_mode) | 0o700)


def _set_mode(handle: int, mode: int) -> None:
    # A handle that was opened without the right to read has no fchmod; its name in /proc leads to the folder itself.
    os.chmod(f"/proc/self/fd/{handle}" if sys.platform == "linux" else handle, mode)
