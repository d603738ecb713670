"""Write results: JSON on stdout for programs, tables and lines for people, or a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sb.commands.diagnostics import note
from sb.commands.tables import lay_out, plain_table
from sb.commands.terminal import NARROWEST, fits_terminal, has_colour, paint, width, write_line

from sb.base.fitting import relative_age, wrap
from sb.base.sources import SYSTEM_CLOCK, micros
from sb.base.text import json_text, plain
from sb.errors import SBError
from sb.present.kind import Cell

if TYPE_CHECKING:
    from sb.kernel.review.findings import Finding
    from sb.log.event import Event
    from sb.present.kind import Kind

T = TypeVar("T")
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


def line(text: str = "", *, one_line: bool = True, tones: Mapping[str, str] | None = None) -> None:
    """A line of text, made safe for a terminal and wrapped to its width.

    Args:
        one_line: keep what others wrote from beginning lines of its own; False for a text that has several.
        tones: words of which the first that occurs is set off, each with the name of its tone.
    """
    shown = plain(text, one_line=one_line)
    for part in shown.split("\n") if fits_terminal() else [shown]:
        write_line(part, sys.stdout, tones)


def log_event(event: Event) -> None:
    """An event as a line of the log, with its verdict set off."""
    from sb.present.events import log_line, verdict

    found = verdict(event)
    line(log_line(event), tones={found.word: found.tone})


def passage(
    text: str, indent: str, marked: Callable[[str], Iterable[tuple[int, int]]] = lambda line: ()
) -> None:
    """A text of several lines, indented; on a terminal wrapped to its width, with what is marked in bold.

    Args:
        marked: gives where in a line of the text the parts to be set off begin and end.
    """
    cells = max(width() - len(indent), NARROWEST) if fits_terminal() else 0
    for line in plain(text).replace("\t", " ").split("\n"):
        for part in wrap(line, cells, breaks=False) if cells else [line]:
            sys.stdout.write(indent + (_bold(part, marked(part)) if has_colour() else part) + "\n")


def _bold(line: str, parts: Iterable[tuple[int, int]]) -> str:
    shown, at = "", 0
    for start, end in parts:
        shown += line[at:start] + paint(line[start:end], "heading")
        at = end
    return shown + line[at:]


def text(document: str) -> None:
    """A whole document in a format of its own, as it is."""
    sys.stdout.write(document)


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], *, whole: bool = False) -> None:
    """Columns for people: fitted to a terminal, never cut in a pipe.

    Args:
        whole: print what a pipe gets.
    """
    on_terminal = fits_terminal() and not whole
    cells = [[_cell(value, on_terminal) for value in row] for row in rows]
    lines = lay_out(headers, cells, width(), paint) if on_terminal else plain_table(headers, cells, paint)
    sys.stdout.write("".join(f"{text}\n" for text in lines))


def records(kind: Kind[T], shown: Iterable[T], now: int = 0, face: str = "table") -> None:
    """Records as a table, as their kind says; `now` in microseconds since the epoch."""
    table(kind.titles(face), [kind.row(record, now, face) for record in shown])


def listing(
    kind: Kind[T], shown: Sequence[T], nothing: str = "", *, as_json: bool, now: int = 0, face: str = "table"
) -> None:
    """All of a command that lists records: as JSON, as a table, or a note that there are none."""
    if as_json:
        emit_json({"items": [kind.to_dict(record, now) for record in shown]})
    elif shown:
        records(kind, shown, now, face)
    elif nothing:
        note(nothing)


def _cell(value: object, on_terminal: bool) -> str:
    if isinstance(value, Cell):
        at = value.at
        return value.text if at is None or not on_terminal else relative_age(at, micros(SYSTEM_CLOCK.now()))
    return plain(value, one_line=True)


def findings(title: str, found: Sequence[Finding]) -> None:
    """Print findings as a table, and on stderr what to do about them."""
    table([title, "status", ""], [(finding.name, finding.status, finding.detail) for finding in found])
    for hint in dict.fromkeys(f"{finding.name}: {finding.hint}" for finding in found if finding.hint):
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
