"""Files of SB_HOME/confine, whose modes a command under Landlock can take away from their owner."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def make_open(folder: Path, top: Path) -> None:
    """Make a folder, and open it and those above it again where a mode was taken away.

    Args:
        top: the outermost of them.

    Raises:
        OSError: one cannot be made.
    """
    for part in (*reversed(folder.relative_to(top).parents), folder.relative_to(top)):
        with suppress(OSError):  # it is missing, or another user's: making it tells
            if (mode := (top / part).stat().st_mode & 0o7777) & 0o700 != 0o700:
                (top / part).chmod(mode | 0o700)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def read_own(path: Path) -> bytes:
    """The content of a file, opened again where its mode or that of a folder around it was taken away.

    Raises:
        FileNotFoundError: it is missing. OSError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except PermissionError:
        for closed, mode in ((path.parents[1], 0o700), (path.parent, 0o700), (path, 0o600)):
            with suppress(OSError):  # it is missing, or another user's: reading it tells
                closed.chmod(closed.stat().st_mode & 0o7777 | mode)
        return path.read_bytes()
