"""Warnings about settings files that would be committed with the project."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sb.base.repository import git_root
from sb.hosts.install.installing import Change

_TIMEOUT_S = 5.0


def committed_warning(change: Change) -> str:
    """One line if git tracks the file of a project, or would add it; "" otherwise.

    Its entries name a program in this home, which exists on no other machine.
    """
    file = change.current.path
    if not git_root(str(file.parent)) or _ignored(file):
        return ""
    return (
        f"git does not ignore {file}: a commit would give others hooks that run a program of this home"
        " (add it to .git/info/exclude, or install with --scope user)"
    )


def _ignored(file: Path) -> bool:
    """True if git ignores the file; False for a tracked one, and when git cannot be asked."""
    above = next(folder for folder in file.parents if folder.is_dir())
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(above), "check-ignore", "-q", "--", str(file)]
    try:
        asked = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0
