"""Shows a change of a file in another program's folder, and asks before it is written."""

from __future__ import annotations

import sys

import typer

from sb.base.text import plain
from sb.errors import SBError, UsageError
from sb.hosts.install.files import FileChange


def described(name: str, change: FileChange, dry_run: bool) -> dict[str, object]:
    """A change, for JSON.

    Args:
        name: the host whose file it is, or `agents-md`.
    """
    return {
        "host": name,
        "file": str(change.current.path),
        "changed": change.needed and not dry_run,
        "would_change": change.needed,
        "diff": change.diff,
    }


def confirm(question: str) -> None:
    """Ask the user at the terminal.

    Raises:
        UsageError: there is no terminal.
        SBError: the answer was no.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            f"needs a terminal, or --yes, to {question.removesuffix('?')}", "--dry-run shows the change"
        )
    if not typer.confirm(plain(question, one_line=True), err=True):
        raise SBError("nothing was changed")
