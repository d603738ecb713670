"""A widget that shows one record in full, however long its values are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from sb.screens.actions import RECORDS, bindings
from sb.screens.panel import Panel
from sb.screens.reading import Reading
from sb.screens.state.document import Document, Line, copied, layout
from sb.screens.toned import Toned
from textual.geometry import Size
from textual.strip import Strip

from sb.base.fitting import count


class DocumentView(Toned, Reading, can_focus=True):
    """Names and values, laid out in a worker and painted line by line."""

    BINDINGS = bindings(RECORDS)
    DEFAULT_CSS = """
    DocumentView { height: 1fr; background: $panel; overflow: hidden auto; scrollbar-size-vertical: 1; }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.unfolded = False
        self.fields: Document = ()
        self.lines: list[Line] = []

    def show(self, fields: Document, *, same_record: bool = False) -> None:
        """Show a record.

        Args:
            same_record: it is the one that was shown, read again: stay where it was scrolled to.
        """
        if same_record and fields == self.fields:
            return
        self.fields = fields
        if not same_record:
            self.unfolded = False
            self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self._lay_out()

    def _lay_out(self) -> None:
        fields, width, unfolded = self.fields, self.size.width - 2, self.unfolded
        if self.size.width:
            self.read("layout", lambda: layout(fields, width, unfolded=unfolded), self._laid_out)

    def _laid_out(self, lines: list[Line]) -> None:
        self.lines = lines
        self.virtual_size = Size(0, len(lines))
        self._show_place()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._show_place()

    def _show_place(self) -> None:
        """Write on the panel's foot which lines are in view, where not all fit."""
        if isinstance(self.parent, Panel):
            first, height, total = self.scroll_offset.y, self.size.height, len(self.lines)
            last = min(first + height, total)
            place = f"lines {count(first + 1)}-{count(last)} of {count(total)}"
            self.parent.foot(place if total > height > 0 else "")

    def on_resize(self) -> None:
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.base_style
        index = self.scroll_offset.y + y
        if index >= len(self.lines):
            return Strip.blank(width, base)
        line = self.lines[index]
        name = set_cell_size(f" {line.name}", line.indent + 1)
        segments = [
            Segment(name, base + self.look("soft")),
            *self._painted(line, base + self.look(line.tone)),
        ]
        return Strip(segments).adjust_cell_length(width, base + self.look(line.fill))

    def _painted(self, line: Line, base: Style) -> Iterator[Segment]:
        """The text of a line, cut where its look changes."""
        places = {0, len(line.text), *(place for paint in line.paints for place in (paint.start, paint.end))}
        for start, end in pairwise(sorted(places)):
            style = base
            for paint in line.paints:
                if paint.start <= start < paint.end:
                    style += self.look(paint.look)
            yield Segment(line.text[start:end], style)

    def action_line_down(self) -> None:
        self.scroll_relative(y=1, animate=False)

    def action_line_up(self) -> None:
        self.scroll_relative(y=-1, animate=False)

    def action_page_down(self) -> None:
        self.scroll_relative(y=self.size.height - 1, animate=False)

    def action_page_up(self) -> None:
        self.scroll_relative(y=1 - self.size.height, animate=False)

    def action_first(self) -> None:
        self.scroll_to(y=0, animate=False)

    def action_last(self) -> None:
        self.scroll_to(y=self.max_scroll_y, animate=False)

    def action_unfold(self) -> None:
        self.unfolded = not self.unfolded
        self._lay_out()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(copied(self.fields))
        self.app.notify("copied the record", timeout=3, markup=False)
