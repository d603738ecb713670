"""Temporary homes of probes, removed even after a killed audit."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

from sb.base.sources import SYSTEM_CLOCK
from sb.errors import SBError

_PREFIX = "sb-audit-"
_YOUNG_S = 60.0  # until then a folder may have been made and not be held yet


@contextmanager
def probe_folder() -> Iterator[Path]:
    """An empty folder, removed at the end; meanwhile it is held by a lock, which ends with this process.

    Raises:
        SBError: there is no folder for temporary files.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
    except OSError as error:
        raise SBError(f"no folder for temporary files: {error.strerror}", "set TMPDIR") from None
    with folder as name, _held(name):
        yield Path(name)


def remove_left_behind() -> None:
    """Remove the folders of this user's audits that were killed."""
    try:
        found = [entry.path for entry in os.scandir(tempfile.gettempdir()) if entry.name.startswith(_PREFIX)]
    except OSError:  # there is none, or it cannot be listed: whoever makes a folder there says so
        return
    for name in found:
        try:
            state = os.lstat(name)
            own = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid()
            if own and SYSTEM_CLOCK.now() - state.st_mtime > _YOUNG_S:
                with _held(name):
                    rmtree(name, ignore_errors=True)
        except OSError:  # it is held by an audit that runs, or was removed meanwhile
            continue


@contextmanager
def _held(name: str) -> Iterator[None]:
    """Hold a folder; raises OSError where somebody else does."""
    holding = os.open(name, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(holding, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(holding)
