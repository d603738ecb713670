"""A list of any length that paints only the lines on screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from sb.screens.actions import LISTS, bindings
from sb.screens.state.listing import LEAST, WIDE, Column, Listing, Row
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sb.text import plain

LEAST_OF_BOTH = 40  # cells from which on a text that is cut shows its end too
LOADING_AFTER_S = 0.2  # nobody needs to read of what is over by then


class RowList(ScrollView, can_focus=True):
    """A list whose rows are fetched as they come into view.

    Args:
        columns: their titles are the first line, which does not scroll.
    """

    BINDINGS = bindings(LISTS)
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"row-list--{name}" for name in ("titles", "cursor", "ok", "warn", "error", "muted", "heading")
    }
    DEFAULT_CSS = """
    RowList { height: 1fr; background: $surface; overflow-x: hidden; scrollbar-size-vertical: 1; }
    RowList .row-list--titles { color: $foreground; text-style: bold; }
    RowList .row-list--heading { text-style: bold; color: $text-primary; }
    RowList .row-list--ok { color: $text-success; }
    RowList .row-list--warn { color: $text-warning; text-style: bold; }
    RowList .row-list--error { color: $text-error; text-style: bold; }
    RowList .row-list--muted { color: $foreground; text-style: dim; }
    RowList .row-list--cursor { background: $surface-lighten-2; }
    RowList:focus .row-list--cursor {
        background: $block-cursor-background; color: $block-cursor-foreground; text-style: bold;
    }
    """

    @dataclass
    class Wanted(Message):
        """Rows came into view that were not fetched."""

        rows: RowList
        keys: list[int]

        @property
        def control(self) -> RowList:
            return self.rows

    @dataclass
    class Highlighted(Message):
        """The cursor is on another record."""

        rows: RowList
        key: int | None

        @property
        def control(self) -> RowList:
            return self.rows

    @dataclass
    class Opened(Message):
        """The record under the cursor was chosen."""

        rows: RowList
        key: int

        @property
        def control(self) -> RowList:
            return self.rows

    def __init__(self, columns: Sequence[Column], *, id: str) -> None:
        super().__init__(id=id)
        self.listing = Listing()
        self._columns = columns
        self._notice = ""
        self._loading = True
        self._told: int | None = None

    def show(self, keys: Sequence[int], notice: str = "") -> None:
        """Replace the keys; the cursor stays on its record, and that record on its line.

        Args:
            notice: what to say while there is no row.
        """
        shift = self.listing.show(keys)
        self.listing.move_to(self.listing.index)  # off a heading
        self._notice, self._loading = notice, False
        self.virtual_size = Size(0, len(keys) + 1)
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
        return max(self.size.height - 1, 1)

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
        width = self.size.width
        base = self.rich_style
        if y == 0:
            return self._line([column.title for column in self._columns], base + self._look("titles"), " ")
        index = self.scroll_offset.y + y - 1
        listing = self.listing
        if not len(listing.keys):
            lines = self._notice.split("\n")
            text = lines[y - 2] if 2 <= y < len(lines) + 2 else ""
            return Strip(
                [Segment(set_cell_size(f"  {plain(text)}", width), base + self._look("muted"))], width
            )
        if index >= len(listing.keys):
            return Strip.blank(width, base)
        row = listing.row(index) or Row(("…",))
        style = base + self._look(row.tone)
        at_cursor = index == listing.index
        if at_cursor:
            style += self._look("cursor")
        sign = "*" if listing.keys[index] in listing.marked else ">" if at_cursor else " "
        if row.tone == "heading":
            return Strip([Segment(set_cell_size(f" {row.cells[0]}", width), style)], width)
        return self._line(row.cells, style, sign)

    def _look(self, name: str) -> Style:
        return self.get_component_rich_style(f"row-list--{name}", partial=True) if name else Style()

    def _line(self, cells: Sequence[str], style: Style, sign: str) -> Strip:
        width = self.size.width
        shown, left = self._shown(width)
        text = sign
        for number in shown:
            cell = cells[number] if number < len(cells) else ""
            column = self._columns[number]
            text += _fit(cell, column.width or max(left, 1), keeps_end=column.keeps_end) + " "
        return Strip([Segment(set_cell_size(text, width), style)], width)

    def _shown(self, width: int) -> tuple[list[int], int]:
        """The columns that there is room for, and the cells of the one that takes what is left: where these are too few
        to say anything, the last of the others give way."""
        wide = width >= WIDE - 4  # less a border and a scroll bar
        shown = [number for number, column in enumerate(self._columns) if wide or not column.wide_only]
        fixed = [number for number in shown if self._columns[number].width]
        left = width - 1 - sum(self._columns[number].width + 1 for number in shown)
        while len(fixed) < len(shown) and left < LEAST and len(fixed) > 1:
            gone = fixed.pop()
            shown.remove(gone)
            left += self._columns[gone].width + 1
        return shown, left

    def _move(self, index: int) -> None:
        before = self.listing.index
        if self.listing.move_to(index):
            self._refresh_line(before)
            self._refresh_line(self.listing.index)
            self._keep_in_view()
            self._tell()

    def _refresh_line(self, index: int) -> None:
        self.refresh(Region(0, index - self.scroll_offset.y + 1, self.size.width, 1))

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
            self.app.copy_to_clipboard("  ".join(row.cells) if row else "")
            self.app.notify("copied the line", timeout=3, markup=False)

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y - 1
        if event.y > 0 and index < len(self.listing.keys):
            self._move(index)


def _fit(text: str, width: int, *, keeps_end: bool) -> str:
    """Exactly so many cells; a cut is marked."""
    if cell_len(text) <= width or width < 2:
        return set_cell_size(text, width)
    end = ""
    if keeps_end and width > LEAST_OF_BOTH:
        for char in reversed(text):
            if cell_len(char + end) > width // 3:
                break
            end = char + end
    return set_cell_size(text, width - 1 - cell_len(end)) + "…" + end
