"""State of a list: cursor, marks, and the rows that have to be fetched.

A list knows the keys of everything that fits and keeps the rows around what is on screen, so that a hundred thousand
rows cost eight bytes each. The cursor belongs to a key: rows that slide in above it do not move it to another record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from sb.base.values.frozen import frozen
from sb.present.kind import Cell, Column, Kind

T = TypeVar("T")

MOST_ROWS = 1_000  # kept; the oldest are dropped
TONES = ("soft", "accent", "ok", "warn", "danger", "info", "violet")


INDENT = "  "  # of a branch of a tree
LEAST = 6  # cells of the column that takes what is left


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


def row_of(kind: Kind[T], record: T, now: int, face: str = "list") -> Row:
    """A record as a line of a list, laid out as its kind says; `now` in microseconds since the epoch."""
    return Row(kind.cells(record, now, face), columns=kind.columns[face])


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
        """True if a line from `first` on has not been fetched."""
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
