"""A list of any length that paints only the lines on screen."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from sb.screens.actions import LISTS, bindings
from sb.screens.state.listing import INDENT, LEAST, Listing, Row
from sb.screens.toned import Toned, cell_segments
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from sb.base.fitting import fit
from sb.base.text import plain
from sb.base.values.frozen import mutable
from sb.present.kind import Cell, Column

GAP = "  "  # between two columns
SIGNS = 2  # cells before the first: the cursor and the mark
LOADING_AFTER_S = 0.2  # nobody needs to read of what is over by then


class RowList(Toned, can_focus=True):
    """A list whose rows are fetched as they come into view.

    Args:
        columns: their titles, if there are any, are the first line, which does not scroll.
        leads: a detail follows the cursor, which is painted without focus too.
    """

    BINDINGS = bindings(LISTS)
    DEFAULT_CSS = """
    RowList { height: 1fr; background: $panel; overflow-x: hidden; scrollbar-size-vertical: 1; }
    """

    @mutable
    class Wanted(Message):
        """Rows came into view that were not fetched."""

        rows: RowList
        keys: list[int]

        @property
        def control(self) -> RowList:
            return self.rows

    @mutable
    class Highlighted(Message):
        """The cursor is on another record."""

        rows: RowList
        key: int | None

        @property
        def control(self) -> RowList:
            return self.rows

    @mutable
    class Opened(Message):
        """The record under the cursor was chosen."""

        rows: RowList
        key: int

        @property
        def control(self) -> RowList:
            return self.rows

    def __init__(self, columns: Sequence[Column], *, id: str, leads: bool = True) -> None:
        super().__init__(id=id)
        self.listing = Listing()
        self._leads = leads
        self.set_columns(columns)
        self._notice = ""
        self._loading = True
        self._told: int | None = None

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Other columns, for another view; its rows follow."""
        self._columns = tuple(columns)
        self._top = 1 if any(column.title for column in columns) else 0

    def show(self, keys: Sequence[int], notice: str = "") -> None:
        """Replace the keys; the cursor stays on its record, and that record on its line.

        Args:
            notice: what to say while there is no row.
        """
        shift = self.listing.show(keys)
        self.listing.move_to(self.listing.index)  # off a heading
        self._notice, self._loading = notice, False
        self.virtual_size = Size(0, len(keys) + self._top)
        at_top = self.scroll_offset.y == 0 and self.listing.index < self._height
        if shift and not at_top:
            self.scroll_to(y=self.scroll_offset.y + shift, animate=False, force=True, immediate=True)
        self.refresh()
        self.ask(everything=True)
        self._tell()

    def on_mount(self) -> None:
        self.set_timer(LOADING_AFTER_S, self._still_loading)

    def _still_loading(self) -> None:
        if self._loading:
            self._notice = "Loading…"
            self.refresh()

    def put(self, rows: Mapping[int, Row]) -> None:
        """Rows that were fetched."""
        self.listing.put(rows)
        self.listing.move_to(self.listing.index)  # off a heading
        self.refresh()
        self._tell()

    def start_over(self, notice: str = "") -> None:
        """Forget everything; the first line is the current one again."""
        self.listing.forget()
        self.show((), notice)
        self.scroll_to(y=0, animate=False, force=True, immediate=True)

    def select(self, key: int) -> None:
        """Put the cursor on a record, if it is in the list."""
        if key in self.listing.keys:
            self._move(self.listing.keys.index(key))

    @property
    def _height(self) -> int:
        return max(self.size.height - self._top, 1)

    def ask(self, *, everything: bool = False) -> None:
        """Ask for the rows in view.

        Args:
            everything: also those that were fetched already: they may have changed.
        """
        first = self.scroll_offset.y
        if len(self.listing.keys) and (everything or self.listing.missing(first, self._height)):
            self.post_message(self.Wanted(self, self.listing.around(first, self._height)))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.ask()

    def on_resize(self) -> None:
        self._keep_in_view()
        self.ask()

    def render_line(self, y: int) -> Strip:
        width, base, listing = self.size.width, self.base_style, self.listing
        if y < self._top:
            titles = tuple(Cell(column.title, "soft") for column in self._columns)
            return self._line(Row(titles), base, base)
        index = self.scroll_offset.y + y - self._top
        if not len(listing.keys):
            return self._notice_line(y - self._top, base)
        if index >= len(listing.keys):
            return Strip.blank(width, base)
        row = listing.row(index) or Row(("…",))
        at_cursor = index == listing.index and (self.has_focus or self._leads)
        if at_cursor:
            base += self.look("cursor" if self.has_focus else "cursor2")
        return self._line(
            row, base, base + self.look("accent"), at_cursor, listing.keys[index] in listing.marked
        )

    def _notice_line(self, number: int, base: Style) -> Strip:
        """The notice of an empty list: a fact, and what helps."""
        room = max(self.size.width - 4, 1)
        lines = [part for line in self._notice.split("\n") for part in textwrap.wrap(line, room) or [""]]
        if not 1 <= number <= len(lines):
            return Strip.blank(self.size.width, base)
        style = base + self.look("strong" if number == 1 else "soft")
        return Strip([Segment(set_cell_size(f"  {plain(lines[number - 1])}", self.size.width), style)])

    def _line(
        self, row: Row, base: Style, sign: Style, at_cursor: bool = False, marked: bool = False
    ) -> Strip:
        width = self.size.width - self.show_vertical_scrollbar  # which would be painted over the last cell
        filled = (row.columns or self._columns)[0].badges  # whose left edges stand in one column
        fold = fold_mark(row) if filled else ""
        segments = [
            Segment("▌" if at_cursor else " ", sign),
            Segment("●" if marked else fold[:1] or " ", sign),
        ]
        if row.heading:
            text = fit(row.texts[0], width - 2)
            segments = [Segment(f" {text}", base + self.look("strong"))]
        else:
            columns, cells = row.columns or self._columns, row.values
            for place, (number, room) in enumerate(columns_of(columns, width)):
                indent = self._indent(row, "" if filled else fold_mark(row), base) if place == 0 else []
                cell = cells[number] if number < len(cells) else Cell("")
                room = max(room - sum(segment.cell_length for segment in indent), 0)
                painted = cell_segments(cell, columns[number], room, base, self.look)
                segments += [*([Segment(GAP, base)] if place else []), *indent, *painted]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def _indent(self, row: Row, fold: str, base: Style) -> list[Segment]:
        """The indent of a tree's line, with its fold mark."""
        text = INDENT * row.depth + fold
        return [Segment(text, base + self.look("soft"))] if text else []

    def _move(self, index: int) -> None:
        before = self.listing.index
        if self.listing.move_to(index):
            self._refresh_line(before)
            self._refresh_line(self.listing.index)
            self._keep_in_view()
            self._tell()

    def _refresh_line(self, index: int) -> None:
        self.refresh(Region(0, index - self.scroll_offset.y + self._top, self.size.width, 1))

    def _keep_in_view(self) -> None:
        index, first = self.listing.index, self.scroll_offset.y
        top = index if index < first else max(first, index - self._height + 1)
        if self.listing.move_to(index) or top == 1:
            top = 0  # what is above the first record is its heading
        if top != first:
            self.scroll_to(y=top, animate=False, force=True, immediate=True)

    def _tell(self) -> None:
        if self.listing.current != self._told:
            self._told = self.listing.current
            self.post_message(self.Highlighted(self, self._told))

    def action_line_down(self) -> None:
        self._move(self.listing.index + 1)

    def action_line_up(self) -> None:
        self._move(self.listing.index - 1)

    def action_page_down(self) -> None:
        self._move(self.listing.index + self._height)

    def action_page_up(self) -> None:
        self._move(self.listing.index - self._height)

    def action_first(self) -> None:
        self._move(0)

    def action_last(self) -> None:
        self._move(len(self.listing.keys) - 1)

    def action_open(self) -> None:
        if self.listing.current is not None:
            self.post_message(self.Opened(self, self.listing.current))

    def mark(self) -> None:
        """Mark the record under the cursor, or take its mark away, and go on to the next."""
        self.listing.mark()
        self._refresh_line(self.listing.index)
        self.action_line_down()

    def action_copy(self) -> None:
        """Copy the whole line."""
        if self.listing.current is not None:
            row = self.listing.row(self.listing.index)
            self.app.copy_to_clipboard("  ".join(row.texts) if row else "")
            self.app.notify("copied the line", timeout=3, markup=False)

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y - self._top
        if event.y >= self._top and index < len(self.listing.keys):
            if index == self.listing.index:  # the second click, or a tap on the line that is read
                self.action_open()
            self._move(index)


def fold_mark(row: Row) -> str:
    """The sign of a line that has branches; "" without any."""
    return "" if row.fold is None else "▾ " if row.fold else "▸ "


@lru_cache
def columns_of(columns: tuple[Column, ...], width: int) -> tuple[tuple[int, int], ...]:
    """The columns that there is room for, with their cells: where those of the one that takes what is left are too few
    to say anything, the last of the others give way."""
    shown = [number for number, column in enumerate(columns) if width >= column.least]
    fixed = [number for number in shown if columns[number].width]
    left = width - SIGNS + len(GAP) - sum(columns[number].width + len(GAP) for number in shown)
    while len(fixed) < len(shown) and left < LEAST and len(fixed) > 1:
        gone = fixed.pop()
        shown.remove(gone)
        left += columns[gone].width + len(GAP)
    widths = {number: columns[number].width for number in fixed}
    for number in fixed:
        column = columns[number]
        more = max(min(column.most - column.width, left - column.enough), 0)
        widths[number] += more
        left -= more
    return tuple((number, widths.get(number) or max(left, 1)) for number in shown)
