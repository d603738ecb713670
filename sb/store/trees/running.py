"""Calls of a project that are not over: those without a report, and those in the background whose record has ended.

A call in the background ends, for its record, with the next tree that is stored. It may go on, and what it changes then
is part of later records, which have to say so.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from sb.base.files import write_atomic
from sb.store.packs import KEY

_RUNNING = "running"
_DAY_S = 86_400.0


def young_keys(folder: Path, now: float, age_s: float = _DAY_S) -> list[str]:
    """The keys of a folder's files that are not older than a day, or another age in seconds."""
    keys = []
    for path in sorted(folder.glob("*")):
        with suppress(FileNotFoundError):  # another hook has removed it
            if KEY.fullmatch(path.name) and path.stat().st_mtime >= now - age_s:
                keys.append(path.name)
    return keys


def remove_contents(home: Path) -> None:
    """Remove the trees of a project, and the notes about its calls; who calls it holds the lock. Raises OSError."""
    for path in home.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()


def note_running(home: Path, key: str, session: str) -> None:
    """Note that a call in the background may run although its record has ended.

    Args:
        home: the folder of its project's trees.
    """
    with suppress(OSError):
        (home / _RUNNING).mkdir(mode=0o700, exist_ok=True)
        write_atomic(home / _RUNNING / key, session.encode(), durable=False)


def running_keys(home: Path, now: float) -> list[str]:
    """The keys of such calls of a project."""
    return young_keys(home / _RUNNING, now)


def running_in(trees: Path, session: str) -> list[Path]:
    """The notes of such calls of a session, in all projects.

    Args:
        trees: the folder of all trees.
    """
    notes = []
    for note in trees.glob(f"*/{_RUNNING}/*"):
        with suppress(FileNotFoundError):  # another hook has removed it
            if KEY.fullmatch(note.name) and note.read_bytes() == session.encode():
                notes.append(note)
    return notes
