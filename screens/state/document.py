"""Lay out one record whose values may be a megabyte long."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from rich.cells import cell_len, chop_cells, set_cell_size
from sb.screens.state.word_diff import changed_words

from sb.base.fitting import Span, count, fit
from sb.base.text import mark_invisible, plain, quoted_name
from sb.base.values.frozen import frozen
from sb.present.kind import Kind

T = TypeVar("T")
FOLDED_LINES = 6
NAME_WIDTH = 20  # of the longest name
NARROW, NARROW_NAME = 44, 16  # in a line of fewer cells names have fewer
SIDE_BY_SIDE = 88  # cells of a line: a panel of 90
CONTINUED = "\u21b3"  # in place of a name, where no text of others stands
HANGING = "    "  # before what goes on from a heading's first line
DIFF = ("del-bg", "del-word", "add-bg", "add-word")  # looks of what was removed and added
LONGEST_COPIED_LINE = 10_000
COPIED = "| "  # before each line of a copy: a shell into which it is pasted takes none of them for a command


@frozen
class Field:
    """A name and its value; without a value, a heading; without a name, lines of their own.

    Args:
        whole: never folded.
        tone: of the value: "", or one of those of a row's cells.
        badge: the value is filled: it asks for an act.
        hits: characters of the value that were searched for.
        folded: left out until the record is unfolded, such as ids.
    """

    name: str
    value: str | None = None
    whole: bool = False
    tone: str = ""
    badge: bool = False
    hits: tuple[Span, ...] = ()
    folded: bool = False


@frozen
class Change:
    """A field that was one thing and is another; None where it is not there."""

    path: str
    before: str | None
    after: str | None


Document = Sequence[Field | Change]


@frozen
class Paint:
    """Characters of a line in a look of their own."""

    start: int
    end: int
    look: str


@frozen
class Line:
    """One line on screen.

    Args:
        indent: cells in which the name stands.
        tone: "", "strong" or one of those of a row's cells.
        paints: what looks otherwise; the later wins.
        fill: the look of the rest of the line.
    """

    name: str
    text: str
    indent: int = 0
    tone: str = ""
    paints: tuple[Paint, ...] = ()
    fill: str = ""


def value_text(value: Any) -> str:
    """A value of a payload as people read it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def fields_of(values: dict[str, Any]) -> list[Field]:
    """A field for each value; a name that could pass for none, or for a line of another field, stands in quotes."""
    return [Field(quoted_name(name), value_text(value)) for name, value in values.items()]


def fields_for(kind: Kind[T], record: T, now: int, face: str = "document") -> list[Field]:
    """A record as a document, as its kind says; `now` in microseconds since the epoch."""
    return [
        Field(shown.label or shown.name, text, tone=tone, folded=shown.folded)
        for shown, text, tone in kind.facts(record, now, face)
    ]


def facts_of(kind: Kind[T], record: T) -> list[tuple[str, str]]:
    """The facts of a record in a dialog; none of them changes with time."""
    return [
        ((shown.label or shown.name).capitalize(), text) for shown, text, _ in kind.facts(record, 0, "dialog")
    ]


def layout(document: Document, width: int, *, unfolded: bool) -> list[Line]:
    """The lines of a document; may take a while for long values, so it is called in a worker.

    Args:
        width: cells of a line; changes stand side by side from SIDE_BY_SIDE on.
        unfolded: show long values in full, and what is left out otherwise.
    """
    width = max(width, 2 * NARROW_NAME)
    indent = _name_width(document, width, unfolded)
    lines: list[Line] = []
    for field in document:
        if isinstance(field, Change):
            lines += _side_by_side(field, width) if width >= SIDE_BY_SIDE else _unified(field, width)
        elif unfolded or not field.folded:
            if field.value is None and lines:
                lines.append(Line("", ""))
            lines += _lines(field, width, indent, unfolded)
    hidden = [
        plain(field.name, one_line=True) for field in document if isinstance(field, Field) and field.folded
    ]
    if hidden and not unfolded:
        names: dict[str, str] = {}
        for name in hidden:
            names.setdefault(name.casefold(), name)
        lines += [Line("", ""), Line("", _folded_names([*names.values()], width), tone="soft")]
    return lines


def _folded_names(names: Sequence[str], width: int) -> str:
    """The names that `z` would unfold: as many as fit, and the number of others."""
    for shown in range(len(names), 0, -1):
        more = f" and {len(names) - shown} more" if shown < len(names) else ""
        text = f"z shows {', '.join(names[:shown])}{more}"
        if cell_len(text) <= width:
            return text
    return fit(f"z shows {len(names)} more", width)


def _name_width(document: Document, width: int, unfolded: bool) -> int:
    shown = (field for field in document if isinstance(field, Field) and (unfolded or not field.folded))
    names = [field.name for field in shown if field.value is not None]
    most = NAME_WIDTH if width >= NARROW else NARROW_NAME
    return min(max((cell_len(plain(name, one_line=True)) + 2 for name in names), default=most), most)


def _lines(field: Field, width: int, most: int, unfolded: bool) -> Iterator[Line]:
    name = plain(field.name, one_line=True)
    if field.value is None:
        for piece, (_, part) in enumerate(_wrapped(name, width - len(HANGING))):
            yield Line("", HANGING + part if piece else part, tone="strong")
        return
    unfolded = unfolded or field.whole
    indent = most if name else 0
    name = name if cell_len(name) < indent else set_cell_size(name, indent - 2).rstrip() + "…" if name else ""
    enough = len(field.value) if unfolded else width * (FOLDED_LINES + 1)
    text, hits = _cleaned(field.value[:enough], field.hits)
    if field.badge:
        text = f" {text} "
    continued = CONTINUED.rjust(indent - 2) if name else ""
    for number, (start, part) in enumerate(_wrapped(text, width - indent)):
        if number == FOLDED_LINES and not unfolded:
            text = f"… z shows all {count(len(field.value))} characters"
            yield Line("", fit(text, width), tone="soft")
            return
        paints = tuple(_within(hits, start, part, "hit"))
        if field.badge:
            paints = (Paint(0, len(part), f"{field.tone}-badge"),)
        label = name if number == 0 else continued if text[start - 1] != "\n" else ""
        yield Line(label, part, indent, "" if field.badge else field.tone, paints)


def _cleaned(value: str, hits: Sequence[Span]) -> tuple[str, list[Span]]:
    """A value as it may be painted, and its hits in that."""
    text, moved, place = "", [], 0
    for start, end in sorted(hits):
        text += _clean(value[place:start])
        hit = _clean(value[max(start, place) : end])
        moved.append((len(text), len(text) + len(hit)))
        text, place = text + hit, max(end, place)
    return text + _clean(value[place:]), moved


def _clean(text: str) -> str:
    return plain(mark_invisible(text)).expandtabs(4)


def _within(spans: Sequence[Span], start: int, part: str, look: str, at: int = 0) -> Iterator[Paint]:
    """The spans of a text in one piece of it that begins at `start`, painted `at` cells of its line in."""
    for first, last in spans:
        first, last = max(first - start, 0), min(last - start, len(part))
        if first < last:
            yield Paint(at + first, at + last, look)


def copied(document: Document) -> str:
    """A whole document as text for the clipboard."""
    lines = layout(document, LONGEST_COPIED_LINE, unfolded=True)
    return "\n".join(f"{COPIED}{line.name.strip():<{line.indent}}{line.text}".rstrip() for line in lines)


def _wrapped(text: str, width: int) -> Iterator[tuple[int, str]]:
    """Pieces that fit, with their places; put together again by joining them: spaces and line ends are part of what
    was asked."""
    place = 0
    for line in text.split("\n"):
        start = place
        for piece in _pieces(line, width):
            yield start, piece
            start += len(piece)
        place += len(line) + 1


def _pieces(line: str, width: int) -> Iterator[str]:
    """Broken between words; a word that no line could hold is broken where the line is full."""
    if not line:
        yield line
    start = 0
    while start < len(line):
        end = start + _fitting(line[start : start + width], width)
        space = line.rfind(" ", start, end) + 1
        if space and end < len(line):
            word = line[space : space + width + 1].partition(" ")[0]
            short = len(word) <= width and cell_len(word) <= width
            end = space if short or space > start + width // 2 else end
        yield line[start:end]
        start = end


def _fitting(text: str, width: int) -> int:
    """The number of characters that fit of a text that is not empty; at least one."""
    pieces = [] if text.isascii() else chop_cells(text, width)  # none of a text that takes no room
    return len(pieces[0]) if pieces else len(text)


def _unified(change: Change, width: int) -> Iterator[Line]:
    yield Line("", plain(change.path, one_line=True), tone="strong")
    before, after, removed, added = _sides(change)
    for sign, text, words, look in (("-", before, removed, "del"), ("+", after, added, "add")):
        for start, part in () if text is None else _wrapped(text, width - 5):
            line = f"  {sign} {part}"
            paints = (Paint(0, len(line), f"{look}-bg"), *_within(words, start, part, f"{look}-word", 4))
            yield Line("", line, paints=paints, fill=f"{look}-bg")


def _side_by_side(change: Change, width: int) -> Iterator[Line]:
    half = (width - 5) // 2
    yield Line("", plain(change.path, one_line=True), tone="strong")
    before, after, removed, added = _sides(change)
    sides = [[] if text is None else list(_wrapped(text, half)) for text in (before, after)]
    for old, new in zip_longest(*sides):
        left = set_cell_size("" if old is None else f"- {old[1]}", half + 2)
        right = "" if new is None else f"+ {new[1]}"
        at = len(left) + 2
        paints: list[Paint] = []
        if old is not None:
            paints += [Paint(0, len(left), "del-bg"), *_within(removed, old[0], old[1], "del-word", 2)]
        if new is not None:
            paints += [
                Paint(at, at + len(right), "add-bg"),
                *_within(added, new[0], new[1], "add-word", at + 2),
            ]
        yield Line("", f"{left}│ {right}", paints=tuple(paints), fill="" if new is None else "add-bg")


def _sides(change: Change) -> tuple[str | None, str | None, list[Span], list[Span]]:
    """Both texts as they may be painted, and the words that differ."""
    before, after = (None if text is None else plain(text) for text in (change.before, change.after))
    removed, added = changed_words(before, after) if before is not None and after is not None else ([], [])
    return before, after, removed, added
