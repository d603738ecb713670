"""Records of installs: changed files and their former contents.

SB_HOME/install holds a record for each changed file, and each former content under its digest, so that an older backup
is never overwritten by a newer one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from sb.base.files import locked_folder, write_atomic
from sb.base.values.frozen import frozen
from sb.config.home import Home
from sb.errors import ConfigError
from sb.hosts.install.files import read_file, replace


@frozen
class Record:
    """One changed file.

    Args:
        host: its name.
        scope: `user` or `project`.
        file: as the host names it, before its links are followed.
        before: digest of the content without us; "" if there was no file.
        after: digest of the content that we left.
        folders: those that were made for it, the innermost first.
        fail_closed: whether the host is to refuse when `sb` is gone.
        server: whether it names the MCP server, and no hooks.
    """

    host: str
    scope: str
    file: str
    before: str
    after: str
    folders: tuple[str, ...] = ()
    fail_closed: bool = False
    server: bool = False


def digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def installed_hosts(home: Home) -> tuple[str, ...]:
    """The hosts that an install connected, by name; a damaged record names none."""
    try:
        return tuple(sorted({record.host for record in Records(home).all()}))
    except (ConfigError, OSError):
        return ()


class Records:
    """The records of one home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.folder = home.folder / "install"

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Lock out every other install into this home."""
        self._home.create()
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with locked_folder(self.folder):
            yield

    def all(self) -> list[Record]:
        """Every record.

        Raises:
            ConfigError: one is damaged.
        """
        return [self._read(path) for path in sorted(self.folder.glob("*.json"))]

    def of(self, host: str) -> list[Record]:
        return [record for record in self.all() if record.host == host]

    def find(self, file: Path) -> Record | None:
        path = self._path(str(file))
        return self._read(path) if path.exists() else None

    def put(self, record: Record) -> None:
        replace(read_file(self._path(record.file)), json.dumps(asdict(record), indent=2).encode() + b"\n")

    def drop(self, file: str) -> None:
        self._path(file).unlink(missing_ok=True)

    def keep(self, host: str, file: Path, content: bytes) -> Path:
        """Save a backup, readable by the owner only, under a recognisable name."""
        path = self.folder / f"{host}.{file.name}.{digest(content)[:16]}.backup"
        seen = read_file(path)
        if seen.content != content:
            write_atomic(path, content)
        return path

    def former(self, record: Record) -> bytes | None:
        """The content before the install; None if there was no file or the backup is gone or changed."""
        for path in self.backups(record.host):
            if record.before and path.name.endswith(f".{record.before[:16]}.backup"):
                content = path.read_bytes()
                return content if digest(content) == record.before else None
        return None

    def backups(self, host: str) -> list[Path]:
        return sorted(self.folder.glob(f"{host}.*.backup"))

    def _path(self, file: str) -> Path:
        return self.folder / f"{digest(os.fsencode(file))[:16]}.json"

    def _read(self, path: Path) -> Record:
        try:
            fields = json.loads(path.read_bytes())
            record = Record(**{**fields, "folders": tuple(fields["folders"])})
            sound = all(isinstance(value, str) for value in (record.host, record.file, *record.folders))
        except (OSError, ValueError, TypeError, KeyError):
            sound = False
        if not sound:
            hint = "remove it: sb uninstall then goes by the entries themselves"
            raise ConfigError(f"{path}: is damaged", hint)
        return record
