"""Shows a change of a file in another program's folder, and asks before it is written."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import typer
from sb.commands import output
from sb.commands.terminal import HANGING, fits_terminal

from sb.base.fitting import fit
from sb.base.text import counted, plain
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


AROUND = 4  # rows of a terminal for the question and the lines around a repeated change


def confirm(question: str, diffs: Sequence[str] = ()) -> None:
    """Ask the user at the terminal.

    Args:
        diffs: what was printed before; where it scrolled away, its lines are repeated in short.

    Raises:
        UsageError: there is no terminal.
        SBError: the answer was no.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            f"needs a terminal, or --yes, to {question.removesuffix('?')}", "--dry-run shows the change"
        )
    if fits_terminal():
        for line in in_short(diffs, *shutil.get_terminal_size()):
            output.line(line)
    if not typer.confirm(plain(question, one_line=True), err=True):
        raise SBError("nothing was changed")


def in_short(diffs: Sequence[str], columns: int, rows: int) -> list[str]:
    """The changed lines of diffs, each cut to one row, removed ones first; [] where all fits the screen as it is."""
    lines = [line for diff in diffs for line in plain(diff).split("\n")]
    if sum(-(-len(line) // (columns - HANGING)) or 1 for line in lines) + AROUND <= rows:
        return []
    inside = [line for diff in diffs for line in plain(diff).split("\n")[2:]]  # below the names of the file
    removed, added = (
        [line for line in inside if line[0:1] == sign and any(map(str.isalnum, line))] for sign in "-+"
    )
    shown, room = [*removed, *added], max(rows - AROUND, 1)
    left = [f"… and {counted(len(shown) - room + 1, 'changed line')} more"] if len(shown) > room else []
    head = f"In short: {counted(len(added), 'line')} added, {len(removed)} removed; in full above"
    return [head, *(fit(line, columns) for line in shown[: room - len(left)]), *left]
