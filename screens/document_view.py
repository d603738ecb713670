"""A widget that shows one record in full, however long its values are."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from sb.screens.actions import RECORDS, bindings
from sb.screens.reading import Reading
from sb.screens.state.document import Document, Line, copied, layout
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip


class DocumentView(Reading, ScrollView, can_focus=True):
    """Names and values, laid out in a worker and painted line by line."""

    BINDINGS = bindings(RECORDS)
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"document-view--{name}" for name in ("name", "heading", "muted", "before", "after")
    }
    DEFAULT_CSS = """
    DocumentView { height: 1fr; background: $surface; overflow: hidden auto; scrollbar-size-vertical: 1; }
    DocumentView .document-view--name { color: $text-primary; }
    DocumentView .document-view--heading { text-style: bold; color: $text-accent; }
    DocumentView .document-view--muted { color: $foreground; text-style: dim; }
    DocumentView .document-view--before { color: $text-error; }
    DocumentView .document-view--after { color: $text-success; }
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
        self.refresh()

    def on_resize(self) -> None:
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        index = self.scroll_offset.y + y
        if index >= len(self.lines):
            return Strip.blank(width, base)
        line = self.lines[index]
        if line.tone:
            style = base + self.get_component_rich_style(f"document-view--{line.tone}", partial=True)
            return Strip([Segment(set_cell_size(f" {line.text}", width), style)], width)
        name = set_cell_size(f" {line.name}", line.indent + 1)
        style = base + self.get_component_rich_style("document-view--name", partial=True)
        rest = set_cell_size(line.text, max(width - cell_len(name), 0))
        return Strip([Segment(name, style), Segment(rest, base)], width)

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
