"""Files of other programs: read them, and replace them whole or not at all."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import stat
from pathlib import Path

from sb.base.files import atomic_file, sync_folder
from sb.base.values.frozen import frozen
from sb.errors import ConfigError

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY  # a pipe must not be waited for
_LARGEST = 16 * 1024 * 1024


@frozen
class FileContent:
    """A file as it was read.

    Args:
        path: as it was named.
        target: where its symbolic links lead.
        content: None if there is no file.
        status: None if there is no file.
    """

    path: Path
    target: Path
    content: bytes | None = None
    status: os.stat_result | None = None

    def text(self) -> str:
        """The content without its byte order mark; "" if there is none.

        Raises:
            ConfigError: it is not UTF-8.
        """
        try:
            return (self.content or b"").decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise refusal(self.path, f"line {line}: is not UTF-8", "save it as UTF-8") from None

    def encoded(self, text: str) -> bytes:
        """A text as this file holds it: with a byte order mark if there was one."""
        mark = "\ufeff" if (self.content or b"").startswith(b"\xef\xbb\xbf") else ""
        return (mark + text).encode()


@frozen
class FileChange:
    """The change of one file.

    Args:
        current: the file now.
        after: its content after the change; None: no file.
    """

    current: FileContent
    after: bytes | None

    @property
    def needed(self) -> bool:
        return self.after != self.current.content

    @property
    def diff(self) -> str:
        """The change as a diff, with recognised secrets masked."""
        from sb.base.secrets.redaction import redact_text

        old, new = (
            (content or b"").decode(errors="replace").splitlines()
            for content in (self.current.content, self.after)
        )
        name = str(self.current.path)
        return redact_text("\n".join(difflib.unified_diff(old, new, name, name, n=1, lineterm="")))


def refusal(path: Path, why: str, hint: str = "") -> ConfigError:
    return ConfigError(f"{path}: {why}; nothing was changed", hint)


def read_file(path: Path) -> FileContent:
    """Read a file, following links.

    Raises:
        ConfigError: it is there and cannot be read, or is not a regular file.
    """
    try:
        handle = os.open(path, _READ)
    except FileNotFoundError:
        return FileContent(path, Path(os.path.realpath(path)))
    except OSError as error:
        special = error.errno in (errno.ENXIO, errno.ENODEV)  # a socket
        raise refusal(path, "is not a file" if special else f"cannot be read: {error.strerror}") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise refusal(path, "is a folder" if stat.S_ISDIR(status.st_mode) else "is not a regular file")
    with open(handle, "rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise refusal(path, f"is larger than {_LARGEST >> 20} MiB")
    return FileContent(path, Path(os.path.realpath(path)), content, status)


def refuse_unwritable(current: FileContent) -> None:
    """Refuse a file that could not be replaced, before anything is touched.

    Raises:
        ConfigError: it is read-only, has a second name, or its folder cannot be written.
    """
    if current.status is not None:
        if not (current.status.st_mode & 0o222 and os.access(current.target, os.W_OK)):
            raise refusal(
                current.path, "is not writable", f"chmod u+w {current.target}, if it is yours to change"
            )
        if current.status.st_nlink > 1:
            raise refusal(current.path, "has a second name (a hard link), which would be left behind")
    folder = current.target.parent
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise refusal(current.path, f"{folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise refusal(current.path, f"the folder {folder} is not writable")


def replace(current: FileContent, content: bytes | None) -> None:
    """Give a file other content, whole or not at all; links to it, its mode and its owner stay.

    Args:
        current: what the change was made from.
        content: None removes the file.

    Raises:
        ConfigError: it was changed since, or cannot be written; it is then as it was.
    """
    try:
        if content is None:
            _refuse_changed(current)
            current.target.unlink()
            sync_folder(current.target.parent)
        else:
            _write(current, content)
    except OSError as error:
        raise refusal(current.path, f"cannot be written: {error.strerror}") from None


def _write(current: FileContent, content: bytes) -> None:
    unfinished = f".{current.target.name}.sb-new"
    with contextlib.suppress(FileNotFoundError):  # of a process that was killed; a lock keeps living ones out
        current.target.with_name(unfinished).unlink()
    with atomic_file(current.target, mode=0o666, unfinished=unfinished) as file:
        if current.status is not None:
            made = os.fstat(file.fileno())
            if (made.st_uid, made.st_gid) != (current.status.st_uid, current.status.st_gid):
                os.fchown(file.fileno(), current.status.st_uid, current.status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(current.status.st_mode))
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # it takes time: before the last look at the other file
        _refuse_changed(current)


def _refuse_changed(current: FileContent) -> None:
    now = read_file(current.path)
    if (now.content, now.target) != (current.content, current.target):
        raise refusal(current.path, "was changed by another process meanwhile", "run the command again")
