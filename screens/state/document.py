"""Lay out one record whose values may be a megabyte long."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len, chop_cells, set_cell_size
from sb.screens.state.listing import WIDE

from sb.text import mark_invisible, plain, quoted_name

FOLDED_LINES = 6
NAME_WIDTH = 20
CONTINUED = "\u21b3".rjust(NAME_WIDTH - 2)  # in place of a name, where no text of others stands
HANGING = "    "  # before what goes on from a heading's first line
LONGEST_COPIED_LINE = 10_000
COPIED = "| "  # before each line of a copy: a shell into which it is pasted takes none of them for a command


@dataclass(frozen=True)
class Field:
    """A name and its value; without a value, a heading; without a name, lines of their own.

    Args:
        whole: never folded.
    """

    name: str
    value: str | None = None
    whole: bool = False


@dataclass(frozen=True)
class Change:
    """A field that was one thing and is another; None where it is not there."""

    path: str
    before: str | None
    after: str | None


Document = Sequence[Field | Change]


@dataclass(frozen=True)
class Line:
    """One line on screen.

    Args:
        indent: cells in which the name stands.
        tone: "", "heading", "muted", "before" or "after".
    """

    name: str
    text: str
    indent: int = 0
    tone: str = ""


def value_text(value: Any) -> str:
    """A value of a payload as people read it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fields_of(values: dict[str, Any]) -> list[Field]:
    """A field for each value; a name that could pass for none, or for a line of another field, stands in quotes."""
    return [Field(quoted_name(name), value_text(value)) for name, value in values.items()]


def layout(document: Document, width: int, *, unfolded: bool) -> list[Line]:
    """The lines of a document; may take a while for long values, so it is called in a worker.

    Args:
        width: cells of a line; changes stand side by side from about WIDE on.
        unfolded: show long values in full.
    """
    width = max(width, 2 * NAME_WIDTH)
    lines: list[Line] = []
    for field in document:
        if isinstance(field, Change):
            lines += _side_by_side(field, width) if width >= WIDE - 4 else _unified(field, width)
        else:
            lines += _lines(field, width, unfolded)
    return lines


def _lines(field: Field, width: int, unfolded: bool) -> Iterator[Line]:
    name = plain(field.name, one_line=True)
    if field.value is None:
        for piece, part in enumerate(_wrapped(name, width - len(HANGING))):
            yield Line("", HANGING + part if piece else part, tone="heading")
        return
    unfolded = unfolded or field.whole
    indent = NAME_WIDTH if name else 0
    name = name if cell_len(name) < NAME_WIDTH else set_cell_size(name, NAME_WIDTH - 2).rstrip() + "…"
    enough = len(field.value) if unfolded else width * (FOLDED_LINES + 1)
    text = plain(mark_invisible(field.value[:enough])).expandtabs(4)
    number = 0
    for line in text.split("\n"):
        for piece, part in enumerate(_wrapped(line, width - indent)):
            if number == FOLDED_LINES and not unfolded:
                yield Line("", f"… {len(field.value):,} characters in all; z shows everything", tone="muted")
                return
            yield Line(name if number == 0 else CONTINUED if piece and name else "", part, indent)
            number += 1


def copied(document: Document) -> str:
    """A whole document as text for the clipboard."""
    lines = layout(document, LONGEST_COPIED_LINE, unfolded=True)
    return "\n".join(f"{COPIED}{line.name.strip():<{line.indent}}{line.text}".rstrip() for line in lines)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Pieces that fit, put together again by joining them: spaces and line ends are part of what was asked."""
    for line in text.split("\n"):
        if not line.isascii():
            yield from chop_cells(line, width) or [line]  # it may have no width at all
            continue
        start = 0
        while start == 0 or start < len(line):
            end = start + width
            space = line.rfind(" ", start + width // 2, end) + 1
            if space and end < len(line):
                end = space
            yield line[start:end]
            start = end


def _unified(change: Change, width: int) -> Iterator[Line]:
    yield Line("", plain(change.path, one_line=True))
    for sign, text, tone in (("-", change.before, "before"), ("+", change.after, "after")):
        if text is not None:
            yield from (Line("", f"  {sign} {line}", tone=tone) for line in _wrapped(plain(text), width - 5))


def _side_by_side(change: Change, width: int) -> Iterator[Line]:
    half = (width - 5) // 2
    yield Line("", plain(change.path, one_line=True))
    sides = [
        [] if text is None else list(_wrapped(plain(text), half)) for text in (change.before, change.after)
    ]
    for before, after in zip_longest(*sides):
        left = set_cell_size("" if before is None else f"- {before}", half + 2)
        yield Line("", f"{left}│ {'' if after is None else f'+ {after}'}", tone="after")
