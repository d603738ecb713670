"""The state of a file, to tell whether it was written since it was read."""

from __future__ import annotations

import os
from pathlib import Path

FileState = tuple[int, int, int, int] | None


def file_state(path: Path) -> FileState:
    """Something that differs once a file was written; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
