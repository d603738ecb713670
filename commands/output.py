"""Write results: JSON on stdout for programs, tables and lines for people, or a file."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.commands.diagnostics import note

from sb.errors import SBError
from sb.text import json_text, plain

if TYPE_CHECKING:
    from sb.kernel.review.findings import Finding

LONGEST_NOTED = 1600  # characters of a call that is approved: all of any that need not be opened


def emit_json(value: Any) -> None:
    """One JSON document."""
    sys.stdout.write(json_text(value, indent=2) + "\n")


def emit_json_line(value: Any) -> None:
    """One JSON document on one line, for streams."""
    sys.stdout.write(json_text(value) + "\n")


def flush() -> None:
    """Hand over what was written, for commands that go on."""
    sys.stdout.flush()


@contextmanager
def whoever_reads() -> Iterator[None]:
    """Go on when nobody takes the output any more, for commands whose exit code is an answer of its own."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains as it ends


def line(text: str = "", *, one_line: bool = True) -> None:
    """A line of text, made safe for a terminal.

    Args:
        one_line: keep what others wrote from beginning lines of its own; False for a text that has several.
    """
    sys.stdout.write(plain(text, one_line=one_line) + "\n")


def passage(
    text: str, indent: str, marked: Callable[[str], Iterable[tuple[int, int]]] = lambda line: ()
) -> None:
    """A text of several lines, indented; on a terminal folded to its width, with what is marked in bold.

    Args:
        marked: gives where in a line of the text the parts to be set off begin and end.
    """
    to_terminal = sys.stdout.isatty()
    bold = to_terminal and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size().columns if to_terminal else 0
    for line in plain(text).replace("\t", " ").split("\n"):
        for part in textwrap.wrap(line, max(width - len(indent), 20)) or [""] if width else [line]:
            sys.stdout.write(indent + (_bold(part, marked(part)) if bold else part) + "\n")


def _bold(line: str, parts: Iterable[tuple[int, int]]) -> str:
    shown, at = "", 0
    for start, end in parts:
        shown += f"{line[at:start]}\x1b[1m{line[start:end]}\x1b[0m"
        at = end
    return shown + line[at:]


def text(document: str) -> None:
    """A whole document in a format of its own, as it is."""
    sys.stdout.write(document)


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Columns for people: fitted to a terminal, never cut in a pipe."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    to_terminal = sys.stdout.isatty()
    drawn = Table(box=box.SIMPLE_HEAD if to_terminal else None, pad_edge=False, header_style="bold")
    for number, header in enumerate(headers):
        drawn.add_column(header, no_wrap=not to_terminal or number == 0, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(plain(cell, one_line=True)) for cell in row))
    console = Console(file=sys.stdout, width=None if to_terminal else 10_000, highlight=False)
    with console.capture() as capture:
        console.print(drawn)
    sys.stdout.write("".join(text.rstrip() + "\n" for text in capture.get().splitlines()))


def findings(title: str, found: Sequence[Finding]) -> None:
    """What was found as a table, and on stderr what to do about it."""
    table([title, "status", ""], [(one.name, one.status, one.detail) for one in found])
    for hint in dict.fromkeys(f"{one.name}: {one.hint}" for one in found if one.hint):
        note(hint)


def write_file(file: Path, texts: Iterable[str]) -> int:
    """Write texts to a file, whole or not at all, and return how many there were.

    Raises:
        SBError: it cannot be written; an older file of that name is then as it was.
    """
    try:
        if file.exists() and not file.is_file():  # a pipe or device is written to, never replaced
            with file.open("w", encoding="utf-8") as target:
                return sum(bool(target.write(text)) for text in texts)
        target_file = file.resolve()  # a link may lead to another disk, onto which nothing can be moved
        partial_file = target_file.with_name(f".{target_file.name}.{os.getpid()}")
        try:
            with partial_file.open("x", encoding="utf-8") as target:
                written = sum(bool(target.write(text)) for text in texts)
            partial_file.replace(target_file)
        finally:
            partial_file.unlink(missing_ok=True)
    except (OSError, ValueError, RuntimeError) as error:  # the last one: a link that leads to itself
        missing = isinstance(error, FileNotFoundError)
        hint = "create the folder, or name another file" if missing else "name another file"
        raise SBError(f"cannot write {file}: {getattr(error, 'strerror', None) or error}", hint) from None
    return written
