"""One call, event, request or contract in full, over the screen that it was opened from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sb.screens.actions import RECORDS, SECTIONS, TABS
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel
from sb.screens.reading import trouble_of
from sb.screens.section import Section
from sb.screens.state.document import Document, Field
from textual.widget import Widget

from sb.errors import NotFoundError
from sb.log.event_log import EventLog

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed


class RecordScreen(Section):
    """A record, read again when something was written.

    Args:
        reference: how it is called.
        load: reads it.
        about: the row of the log or the call that it shows, if it is one.
    """

    name_ = "record"
    parts = (RECORDS,)

    def __init__(self, reference: str, load: Callable[[EventLog], Document], about: Pointed = None) -> None:
        super().__init__()
        self.reference = reference
        self._load = load
        self._about = about
        self._shown = False

    def body(self) -> Iterable[Widget]:
        yield Panel(DocumentView(id="record"))

    def on_mount(self) -> None:
        mode = self.app.current_mode
        self.heading = SECTIONS[TABS.get(mode, mode)]

    def refresh_records(self) -> None:
        self.read("record", lambda: self._load(self.records.log()), self._show)

    def _show(self, fields: Document) -> None:
        self.query_one(DocumentView).show(fields, same_record=self._shown)
        self._shown = True
        self.show_status()

    def failed(self, error: BaseException) -> None:
        if isinstance(error, NotFoundError):
            self._show([Field(trouble_of(error))])
        else:
            super().failed(error)

    def pointed_at(self) -> Pointed:
        return self._about

    def summary(self) -> str:
        return f"· {self.reference}"

    def leave_part(self) -> bool:
        self.app.pop_screen()
        return True
