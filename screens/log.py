"""The Log screen: events, filtered, as they are written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, bindings
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.searching import Searching
from sb.screens.state.document import Field
from sb.screens.state.events import EVENT_COLUMNS, event_rows
from sb.screens.state.search import LogSearch, Search
from textual import on
from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from sb.kernel.review.log_verification import Verification, verify

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

EMPTY = "No events yet. What agents do appears here as it happens.\n\nsb demo makes some."
NO_HIT = "No events match.\n\nesc clears the filter."


class LogScreen(Searching):
    """The log, newest first."""

    name_ = "log"
    parts = ("log", LISTS)
    heading = "Log"
    BINDINGS = bindings("log")

    @dataclass
    class Verifying(Message):
        """So much of the log is verified."""

        done: int
        total: int

    def __init__(self) -> None:
        super().__init__()
        self.search: Search = LogSearch()
        self._verified = "not verified yet (v)"

    def body(self) -> Iterable[Widget]:
        yield Panel(
            self.filter_box("words, kind:… agent:… tool:… run:… call:…"), RowList(EVENT_COLUMNS, id="events")
        )

    @property
    def rows(self) -> RowList:
        return self.query_one("#events", RowList)

    def new_search(self, text: str) -> LogSearch:
        return LogSearch(text)

    def show_found(self, notice: str) -> None:
        nothing = notice or NO_HIT if self.search.text else EMPTY
        self.rows.show(self.search.hits.keys, nothing)

    @on(RowList.Wanted)
    def _wanted(self, message: RowList.Wanted) -> None:
        self.read("rows", lambda: event_rows(self.records.log(), message.keys), self.rows.put)

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        self.console_app.open_record(message.key)

    def pointed_at(self) -> Pointed:
        return self.rows.listing.current

    def summary(self) -> str:
        return f"· {self.search.summary()} · {self._verified}"

    def action_view(self, by: int) -> None:
        """Show the harness audit."""
        from sb.screens.harness import HarnessScreen

        self.app.push_screen(HarnessScreen())

    def action_verify(self) -> None:
        self._verified = "verifying…"
        self.show_status()
        records = self.records

        def work() -> Verification:
            worker = get_current_worker()

            def progress(done: int, total: int) -> None:
                if worker.is_cancelled:
                    raise InterruptedError("the console is closing")
                self.post_message(self.Verifying(done, total))

            return verify(records.log("verify"), records.authority("verify"), progress=progress)

        self.read("verify", work, self._verified_all)

    @on(Verifying)
    def _progress(self, message: Verifying) -> None:
        self._verified = f"verifying {100 * message.done // max(message.total, 1)} %"
        self.show_status()

    def _verified_all(self, found: Verification) -> None:
        when = self.console_app.time_of_day()
        if found.ok:
            self._verified = f"whole at {when}"
            anchored = f"anchored up to {found.anchored_seq:,}" if found.anchored_seq else "not anchored yet"
            self.console_app.say(f"the log is whole: {found.rows:,} rows, {anchored}")
        else:
            problems = len(found.problems) + found.further_problems
            self._verified = f"BROKEN at {when}: {problems} problems"
            self.console_app.open_fields(
                "the log is not whole", [Field("problem", line) for line in found.problems]
            )
        self.show_status()
