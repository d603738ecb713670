"""Files of SB_HOME/confine, whose modes a command under Landlock can take away from their owner."""

from __future__ import annotations

from pathlib import Path


def read_own(path: Path) -> bytes:
    """The content of a file, opened again where its mode or its folder's was taken away.

    Raises:
        FileNotFoundError: it is missing. OSError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except PermissionError:
        path.parent.chmod(0o700)
        path.chmod(0o600)
        return path.read_bytes()
