"""State of a list: cursor, marks, and the rows that have to be fetched.

A list knows the keys of everything that fits and keeps the rows around what is on screen, so that a hundred thousand
rows cost eight bytes each. The cursor belongs to a key: rows that slide in above it do not move it to another record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from sb.fitting import Cut, Span
from sb.frozen import frozen
from sb.text import plain

MOST_ROWS = 1_000  # kept; the oldest are dropped
LONGEST_CELL = 1_000  # characters that are looked at, whatever the width
TONES = ("soft", "accent", "ok", "warn", "danger", "info", "violet")


@frozen
class Column:
    """One column of a list.

    Args:
        width: in cells; 0 for what is left.
        cut: where a text that is too long is cut.
        least: shown in a list of so many cells or more.
        right: numbers and ages end at the same place.
        badges: plain words begin where the word of a badge does.
        most: cells to which it grows where the column that takes what is left has enough; 0 for never.
        enough: the cells of that column.
    """

    title: str = ""
    width: int = 0
    cut: Cut = Cut.END
    least: int = 0
    right: bool = False
    badges: bool = False
    most: int = 0
    enough: int = 72


NAMED = 70  # cells of a list from which on it names agents: beside a record the object needs the room
ROOMY = 84  # cells of a list from which on it has columns that are left out at 80
WIDE = 96  # cells of a list from which on there is room for what can be left out
INDENT = "  "  # of a branch of a tree
LEAST = 6  # cells of the column that takes what is left


@frozen
class Cell:
    """One value in a row; its text cannot command a terminal.

    Args:
        tone: "" or one of TONES.
        badge: filled, as wide as its column: it asks for an act.
        hits: characters that were searched for, each from the first to behind the last.
        keeps: words that stay in view where the text is cut in its middle.
        trend: numbers of a sparkline, each with whether something was refused; painted instead of the text.
    """

    text: str
    tone: str = ""
    badge: bool = False
    hits: tuple[Span, ...] = ()
    trend: tuple[tuple[int, bool], ...] = ()
    keeps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        raw, text, hits, place = self.text[:LONGEST_CELL], "", [], 0
        for start, end in sorted(self.hits):
            text += plain(raw[place:start], one_line=True)
            hit = plain(raw[max(start, place) : end], one_line=True)
            if hit:
                hits.append((len(text), len(text) + len(hit)))
            text, place = text + hit, max(end, place)
        text += plain(raw[place:], one_line=True)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "hits", tuple(hits))


@frozen
class Row:
    """One line of a list.

    Args:
        cells: in the order of the columns; a text is a cell without a tone.
        heading: a line between others, on which the cursor never rests.
        depth: how far a line of a tree stands in.
        fold: whether a line of a tree shows its branches; None without any.
        columns: of this line, where they are not the list's.
    """

    cells: tuple[Cell | str, ...]
    heading: bool = False
    depth: int = 0
    fold: bool | None = None
    columns: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        cells = (cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in self.cells)
        object.__setattr__(self, "cells", tuple(cells))

    @property
    def values(self) -> tuple[Cell, ...]:
        """Its cells; every text has become one."""
        return cast("tuple[Cell, ...]", self.cells)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each cell."""
        return tuple(cell.text for cell in self.values)


class Listing:
    """Keys, the rows that are known of them, the cursor and the marks."""

    def __init__(self) -> None:
        self.keys: Sequence[int] = ()
        self.marked: set[int] = set()
        self.index = 0
        self._rows: dict[int, Row] = {}

    @property
    def current(self) -> int | None:
        """The key under the cursor."""
        return self.keys[self.index] if self.index < len(self.keys) else None

    def show(self, keys: Sequence[int]) -> int:
        """Replace the keys; returns by how many lines the record under the cursor has moved."""
        before, current = self.index, self.current
        self.keys = keys
        try:
            self.index = self.index if current is None else keys.index(current)
        except ValueError:
            self.index = min(self.index, max(len(keys) - 1, 0))
        self.marked.intersection_update(keys if self.marked else ())
        return self.index - before

    def put(self, rows: Mapping[int, Row]) -> None:
        """Remember fetched rows."""
        for key in rows:
            self._rows.pop(key, None)
        self._rows.update(rows)
        while len(self._rows) > MOST_ROWS:
            del self._rows[next(iter(self._rows))]

    def forget(self) -> None:
        """Nothing that was fetched holds any more."""
        self._rows.clear()
        self.keys, self.index = (), 0
        self.marked.clear()

    def row(self, index: int) -> Row | None:
        """The row at a place, if it was fetched."""
        return self._rows.get(self.keys[index])

    def around(self, first: int, count: int) -> list[int]:
        """The keys of the lines from `first` on, and of as many before and after them."""
        return list(self.keys[max(first - count, 0) : first + 2 * count])

    def missing(self, first: int, count: int) -> bool:
        """Whether a line from `first` on has not been fetched."""
        return any(key not in self._rows for key in self.keys[max(first, 0) : first + count])

    def move_to(self, index: int) -> bool:
        """Put the cursor on the nearest line that is not a heading; returns whether it moved."""
        last = len(self.keys) - 1
        target = min(max(index, 0), last)
        step = 1 if target >= self.index else -1
        for direction in (step, -step):
            place = target
            while 0 <= place <= last and self._is_heading(place):
                place += direction
            if 0 <= place <= last:
                moved, self.index = place != self.index, place
                return moved
        return False

    def _is_heading(self, index: int) -> bool:
        row = self.row(index)
        return row is not None and row.heading

    def mark(self) -> None:
        """Mark the record under the cursor, or take its mark away."""
        if self.current is not None:
            self.marked ^= {self.current}
