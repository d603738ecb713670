"""What needs me now, and what holds?"""

from __future__ import annotations

from collections.abc import Iterable

from sb.screens.actions import LISTS
from sb.screens.row_list import RowList
from sb.screens.section import Section
from sb.screens.state.document import Field
from sb.screens.state.home import HOME_COLUMNS, HomeLine, home_lines
from textual import on
from textual.widget import Widget


class HomeScreen(Section):
    """One line for everything that needs a person, what is enforced, and the last events."""

    name_ = "home"
    parts = ("home", LISTS)
    heading = "Home"

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[HomeLine] = []

    def body(self) -> Iterable[Widget]:
        yield RowList(HOME_COLUMNS, id="lines")

    def refresh_records(self) -> None:
        self.read("home", lambda: home_lines(self.records), self._show)

    def _show(self, lines: list[HomeLine]) -> None:
        self.lines = lines
        rows = self.query_one(RowList)
        rows.put({number: line.row for number, line in enumerate(lines)})
        rows.show(range(len(lines)))
        self.show_status()

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        line = self.lines[message.key]
        target = line.target
        if target is None:
            self.console_app.open_fields(line.row.cells[1], [Field(line.row.cells[0], line.row.cells[2])])
        elif target.record is None:
            self.console_app.go(target.section)
        else:
            self.console_app.open_record(target.record)

    def start_over(self) -> None:
        self.query_one(RowList).start_over()

    def summary(self) -> str:
        return "· what needs you, what holds, what happened last"

    def action_back(self) -> None:
        """There is nothing further back."""
