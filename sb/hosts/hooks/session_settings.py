"""Folder of a host's settings in a project without one, there while a session lasts, so that no command makes another."""

from __future__ import annotations

import os
from pathlib import Path

NAME = ".claude"
_IGNORED = "# Written by sb for the time of a session.\n*\n"


def make_settings(folder: str) -> bool:
    """Make it where there is none; returns whether it was made.

    Git is to leave it alone: it cannot be removed while a command runs, and `git stash -u` would fail.

    Args:
        folder: the project, or where the host was started in it.
    """
    settings = Path(folder, NAME)
    if os.path.lexists(settings):
        return False
    settings.mkdir(mode=0o755, exist_ok=True)
    (settings / ".gitignore").write_text(_IGNORED, "utf-8")
    return True


def remove_settings(folder: str) -> None:
    """Remove what `make_settings` made; what a person has put there since stays."""
    settings = Path(folder, NAME)
    if settings.is_symlink() or not settings.is_dir():
        return
    if _is_ours(settings / ".gitignore"):
        (settings / ".gitignore").unlink()
    if not any(settings.iterdir()):
        settings.rmdir()


def is_made_settings(path: str) -> bool:
    """True for that folder while nothing else is in it, and for what is in it."""
    settings = Path(path) if os.path.basename(path) == NAME else Path(os.path.dirname(path))
    try:
        return (
            settings.name == NAME
            and os.listdir(settings) == [".gitignore"]
            and _is_ours(settings / ".gitignore")
        )
    except OSError:
        return False


def _is_ours(file: Path) -> bool:
    return file.is_file() and not file.is_symlink() and file.read_text("utf-8", "replace") == _IGNORED
