"""Reads paths into a pack: files, links and folders as they are, never through a link.

Every component is opened relative to the folder before it and never through a link, so that what turns into one in
between is refused and not followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable
from dataclasses import field
from hashlib import sha256
from typing import Protocol

from sb.base.text import human_bytes, quoted_name
from sb.base.values.frozen import mutable
from sb.errors import SBError
from sb.store.pack_file import ABSENT, EXTRA, FILE, FOLDER, LINK, Entry, chunks_of

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ABOVE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking: opening a FIFO must not wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SMALL = 1 << 20  # bytes of a file that is read whole
# Of paths that restoring can open (sb.tools.roots).
MOST_COMPONENTS = 60
LONGEST_PATH = 4096  # characters


class CannotKeep(SBError):
    """A snapshot cannot be taken; nothing was written. Its message is a clause without a full stop."""

    kind = "cannot_keep"


class TooMuch(CannotKeep):
    """More than one call may keep."""

    kind = "too_much_to_keep"


Identity = tuple[int, int]  # st_dev, st_ino


class Sink(Protocol):
    """Takes contents: a pack's writer, or what only hashes them."""

    def whole(self, content: bytes) -> str:
        """Take a content; returns its SHA-256 as hex."""

    def chunks(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """Take a content chunk by chunk; returns its SHA-256 as hex, and its size in bytes."""


@mutable
class Scan:
    """Adds paths to a pack.

    Args:
        max_bytes: of all contents. max_files: entries, folders and links included.
        protected: files and folders that no pack may hold.
        hard_links: take files that have a second name too.
        files_only: refuse links and folders.
        deepest: components of a folder that is looked into.
    """

    writer: Sink
    max_bytes: int
    max_files: int
    protected: Collection[Identity] = ()
    hard_links: bool = False
    files_only: bool = False
    deepest: int = MOST_COMPONENTS
    entries: list[Entry] = field(default_factory=list)
    extra: dict[str, Entry] = field(default_factory=dict)
    _bytes: int = 0
    _seen: set[str] = field(default_factory=set)

    def add_extra(self, name: str, content: bytes) -> None:
        """Add a named blob; raises TooMuch."""
        self._reserve(name, len(content))
        self.extra[name] = Entry(name, EXTRA, 0, len(content), self.writer.whole(content))

    def add(self, path: str) -> None:
        """Add an absolute path with everything below it; one that does not exist is recorded as absent.

        Raises:
            CannotKeep: it is no file, link or folder of which a snapshot can be taken.
        """
        if not path.startswith("/") or os.path.normpath(path) != path or path == "/" or "\0" in path:
            raise CannotKeep(f"{quoted_name(path)} is not a plain absolute path")
        folder = open_above(os.path.dirname(path))
        if folder is None:
            self._record(Entry(path, ABSENT))
            return
        try:
            self._entry(folder, os.path.basename(path), path, os.fstat(folder).st_dev, depth=0)
        except OSError as error:
            raise _unreadable(path, error) from error
        finally:
            os.close(folder)

    def _entry(self, folder: int, name: str, path: str, device: int, *, depth: int) -> None:
        if path in self._seen:
            return
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            if depth:
                raise _changed(path) from None
            self._record(Entry(path, ABSENT))
            return
        if (status.st_dev, status.st_ino) in self.protected:
            raise CannotKeep(f"{quoted_name(path)} belongs to SecondBrain")
        if status.st_dev != device:
            raise CannotKeep(f"{quoted_name(path)} is on another file system")
        if self.files_only and (stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            raise CannotKeep(f"{quoted_name(path)} is not a regular file")
        if stat.S_ISREG(status.st_mode):
            self._file(folder, name, path, status)
        elif stat.S_ISLNK(status.st_mode):
            self._link(folder, name, path, status)
        elif stat.S_ISDIR(status.st_mode):
            self._folder(folder, name, path, status, depth)
        else:
            raise CannotKeep(f"{quoted_name(path)} is not a regular file")

    def _file(self, folder: int, name: str, path: str, found: os.stat_result) -> None:
        self._refuse(path, found)
        self._reserve(path, found.st_size)
        handle = os.open(name, _FILE, dir_fd=folder)
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode) or _state(before) != _state(found):
                raise _changed(path)
            if before.st_size <= _SMALL:
                content = os.read(handle, before.st_size + 1)
                digest, size = self.writer.whole(content), len(content)
            else:
                digest, size = self.writer.chunks(
                    chunks_of(lambda length: os.read(handle, length), before.st_size)
                )
            if size != before.st_size or _state(os.fstat(handle)) != _state(before):
                raise _changed(path)
        finally:
            os.close(handle)
        self._record(entry_of(path, FILE, found, size=size, sha256=digest))

    def _refuse(self, path: str, found: os.stat_result) -> None:
        """Raise CannotKeep for a file that restoring could not make again as it was."""
        if found.st_nlink > 1 and not self.hard_links:
            raise CannotKeep(f"{quoted_name(path)} has a second name (hard link)")
        if found.st_uid != os.geteuid() != 0:
            raise CannotKeep(f"{quoted_name(path)} belongs to another user")

    def _link(self, folder: int, name: str, path: str, found: os.stat_result) -> None:
        self._reserve(path, 0)
        target = os.readlink(name, dir_fd=folder)
        digest = sha256(os.fsencode(target)).hexdigest()
        self._record(entry_of(path, LINK, found, sha256=digest, target=target))

    def _folder(self, folder: int, name: str, path: str, found: os.stat_result, depth: int) -> None:
        if path.count("/") >= self.deepest or len(path) >= LONGEST_PATH - 256:
            raise TooMuch(f"{quoted_name(path)} is too deep or too long")
        self._reserve(path, 0)
        handle = os.open(name, _FOLDER, dir_fd=folder)
        try:
            if identity(os.fstat(handle)) != identity(found):
                raise _changed(path)
            self._record(entry_of(path, FOLDER, found))
            names = sorted(os.listdir(handle))
            if len(names) > self.max_files:
                raise self._too_many()
            for item in names:
                below = f"{path}/{item}"
                try:
                    self._entry(handle, item, below, found.st_dev, depth=depth + 1)
                except OSError as error:
                    raise _unreadable(below, error) from error
        finally:
            os.close(handle)

    def _reserve(self, path: str, size: int) -> None:
        """Count a path before it is read; raises TooMuch."""
        if len(self.entries) + len(self.extra) >= self.max_files:
            raise self._too_many()
        self._bytes += size
        if self._bytes > self.max_bytes:
            limit = human_bytes(self.max_bytes)
            raise TooMuch(f"with {quoted_name(path)} it is more than {limit}, the limit of one snapshot")

    def _too_many(self) -> TooMuch:
        return TooMuch(f"it is more than {self.max_files} files, the limit of one snapshot")

    def _record(self, entry: Entry) -> None:
        self._seen.add(entry.path)
        self.entries.append(entry)


def entry_of(
    path: str, kind: str, status: os.stat_result, *, size: int = 0, sha256: str = "", target: str = ""
) -> Entry:
    mode = stat.S_IMODE(status.st_mode)
    return Entry(path, kind, mode, size, sha256, target, status.st_uid, status.st_gid)


def open_above(path: str) -> int | None:
    """A descriptor of a folder, opened component by component; None where it does not exist.

    Raises:
        CannotKeep: a component is a link, or cannot be searched.
    """
    handle, so_far = os.open("/", _ABOVE), ""
    for name in path.split("/"):
        if not name:
            continue
        so_far += f"/{name}"
        try:
            below = os.open(name, _ABOVE, dir_fd=handle)
        except OSError as error:
            linked = _is_link(handle, name)
            os.close(handle)
            if linked:
                raise CannotKeep(f"{quoted_name(so_far)} is a link") from None
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise _unreadable(so_far, error) from error
        os.close(handle)
        handle = below
    return handle


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _state(status: os.stat_result) -> tuple[int, ...]:
    return (*identity(status), status.st_size, status.st_mtime_ns)


def _changed(path: str) -> CannotKeep:
    return CannotKeep(f"{quoted_name(path)} changed while its snapshot was taken")


def _unreadable(path: str, error: OSError) -> CannotKeep:
    return CannotKeep(f"{quoted_name(path)} cannot be read: {error.strerror or error}")
