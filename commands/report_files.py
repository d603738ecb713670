"""Files that reports are written to: checked before anything runs, written at the end."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sb.commands import output
from sb.commands.diagnostics import note

from sb.errors import UsageError

STDOUT = Path("-")


def check_places(reports: Iterable[Path], read: Iterable[Path], *, as_json: bool = False) -> None:
    """Refuse before anything is run what could not be written afterwards.

    Args:
        reports: where reports go; `STDOUT` among them at most once. read: files that are read, which no report replaces.
        as_json: whether a document goes to stdout beside them.

    Raises:
        UsageError: one cannot be written, or two have one place.
    """
    places = list(reports)
    if as_json + places.count(STDOUT) > 1:
        raise UsageError("only one document fits on stdout", "name a file for each report but one")
    files = [_file(path) for path in places if path != STDOUT]
    if len(files) != len(set(files)):
        raise UsageError("two reports in one file", "name a file for each")
    for path in read:
        if path.is_file() and path.resolve() in files:
            raise UsageError(f"a report would overwrite {path}, which is read", "name another file")


def _file(path: Path) -> Path:
    """Where a report ends up, links followed; raises UsageError for what cannot be written."""
    try:
        file = path.resolve()
        if file.is_dir():
            raise UsageError(f"cannot write {path}: it is a folder")
        if file.is_symlink():  # since Python 3.13 what leads to itself is resolved to itself
            raise UsageError(f"cannot write {path}: a link that leads to itself")
        if not os.access(file.parent, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
            reason = "may not be written" if file.parent.is_dir() else "no such folder"
            raise UsageError(f"cannot write {path}: {reason}")
    except (OSError, RuntimeError) as error:  # a name that is too long, a link that leads to itself
        reason = getattr(error, "strerror", None) or "a link that leads nowhere"
        raise UsageError(f"cannot write {path}: {reason}") from None
    return file


def write_report(path: Path, text: str) -> None:
    """Write a report, to a file or to stdout; raises SBError if that fails."""
    if path == STDOUT:
        output.text(text)
        return
    output.write_file(path, [text])
    note(f"written to {path}")
