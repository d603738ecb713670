"""Runs of `sb run`: a host that is confined as a whole, and the pass by which its hooks reach the helper outside.

A run has a folder `SB_HOME/resident/runs/ID`, which is mounted inside as `SB_HOME/helper/run`, and a record beside it,
which nothing inside can open. Its process holds a lock on the record as long as it lives.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sb.base.files import write_atomic
from sb.base.values.frozen import frozen
from sb.config.home import Home
from sb.config.model import SETTINGS
from sb.hosts.confinement.profile import Profile

PASS = "pass"
NAME_BYTES, SECRET_BYTES = 16, 32
_NAME = re.compile(r"[0-9a-f]{32}")
# What hooks read beside settings; a host's own variables say where it keeps its files.
_ENVIRONMENT = (
    *("HOME", "PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"),
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "CURSOR_CONFIG_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"),
)  # fmt: skip


@frozen
class Run:
    """A host that `sb run` started.

    Args:
        host: its name. project: real path of the folder that it works in; "" for none.
        profile: what it, and whatever it starts, may do.
        environment: in which its hooks are judged, as the run began.
    """

    host: str
    project: str
    profile: Profile
    environment: dict[str, str]


def environment_of(env: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that decide how hooks are judged."""
    names = {row.env for row in SETTINGS if row.env} | {*_ENVIRONMENT}
    return {name: env[name] for name in sorted(names) if name in env}


class Runs:
    """The runs of a home."""

    def __init__(self, home: Home) -> None:
        self._folder = home.runs

    @contextlib.contextmanager
    def begin(self, run: Run, name: bytes, secret: bytes) -> Iterator[Path]:
        """Let a run's hooks be answered while this lasts; gives the folder to mount inside.

        Args:
            name, secret: random bytes, of the lengths above.

        Raises:
            OSError: its files cannot be written.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self.tidy()
        folder = self._folder / name.hex()
        record = self._record(name.hex())
        new = record.with_name(
            f".{record.name}"
        )  # has its name once it is locked: others remove what nobody locks
        lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.pwrite(lock, json.dumps(asdict(run)).encode(), 0)
            os.rename(new, record)
            folder.mkdir(mode=0o700)
            write_atomic(folder / PASS, name + secret, durable=False)
            yield folder
        finally:
            new.unlink(missing_ok=True)
            _remove(record, folder)
            os.close(lock)

    def find(self, name: str) -> Run | None:
        """The run of a name, while its process lives.

        Args:
            name: in hexadecimal digits.
        """
        if _NAME.fullmatch(name) is None:
            return None
        try:
            if not self._lives(name):
                return None
            body = json.loads(self._record(name).read_bytes())
            groups: dict[str, Any] = body["profile"]
            profile: dict[str, Any] = {
                group: tuple(paths) if isinstance(paths, list) else paths for group, paths in groups.items()
            }
            return Run(**{**body, "profile": Profile(**profile)})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def pass_of(self, name: str) -> Path:
        """The file with the secret of a run."""
        return self._folder / name / PASS

    def any_live(self) -> bool:
        """True while a run lasts."""
        return any(self._lives(name) for name in self._names())

    def tidy(self) -> None:
        """Remove what runs left whose process was killed."""
        for name in self._names():
            if not self._lives(name):
                _remove(self._record(name), self._folder / name)

    def _record(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _names(self) -> list[str]:
        try:
            entries = os.listdir(self._folder)
        except OSError:
            return []
        return [name for entry in entries if _NAME.fullmatch(name := entry.removesuffix(".json"))]

    def _lives(self, name: str) -> bool:
        try:
            lock = os.open(self._record(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(lock)
        return False


def _remove(record: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    record.unlink(missing_ok=True)
