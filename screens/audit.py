"""What is on the log: all of it, or what fits a filter, as it is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, bindings
from sb.screens.filtering import Filtering
from sb.screens.row_list import RowList
from sb.screens.state.document import Field
from sb.screens.state.events import EVENT_COLUMNS, event_rows
from sb.screens.state.search import Found, LogSearch
from textual import on
from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from sb.kernel.log_verification import Verification, verify

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

EMPTY = "No events yet. What agents do appears here as it happens.\n\nsb demo makes some."
NO_HIT = "No event fits.\n\nesc clears the filter."


class AuditScreen(Filtering):
    """The log, newest first."""

    name_ = "audit"
    parts = ("audit", LISTS)
    heading = "Audit"
    BINDINGS = bindings("audit")

    @dataclass
    class Step(Message):
        """A search has come further."""

        search: LogSearch
        found: Found

    @dataclass
    class Verifying(Message):
        """So much of the log is verified."""

        done: int
        total: int

    def __init__(self) -> None:
        super().__init__()
        self.search = LogSearch()
        self._looking: LogSearch | None = None
        self._look_again = False
        self._verified = "not verified yet (v)"

    def body(self) -> Iterable[Widget]:
        yield self.filter_box("words, kind:… agent:… tool:… run:… call:…")
        yield RowList(EVENT_COLUMNS, id="events")

    @property
    def rows(self) -> RowList:
        return self.query_one("#events", RowList)

    def refresh_records(self) -> None:
        search = self.search
        if self._looking is search:
            self._look_again = True
            return
        self._looking, self._look_again = search, False

        def work() -> None:
            worker = get_current_worker()
            for found in search.look(self.records.log("search")):
                if worker.is_cancelled:
                    return
                self.post_message(self.Step(search, found))

        self.read("search", work, self._looked)

    @on(Step)
    def _step(self, message: Step) -> None:
        if message.search is not self.search:
            return
        before, found = self.search.found, message.found
        self.search.found = found
        if found.complete or len(found.keys) != len(before.keys):
            notice = EMPTY if not self.search.text else NO_HIT if found.complete else "Searching…"
            self.rows.show(found.keys, notice)
        self.show_status()

    def _looked(self, _: None) -> None:
        self._looking = None
        if self._look_again:
            self.refresh_records()

    def failed(self, error: BaseException) -> None:
        self._looking = None
        super().failed(error)

    @on(RowList.Wanted)
    def _wanted(self, message: RowList.Wanted) -> None:
        self.read("rows", lambda: event_rows(self.records.log(), message.keys), self.rows.put)

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        self.console_app.open_record(message.key)

    def filter_changed(self) -> None:
        self.search = LogSearch(self.filter_text)
        self.refresh_records()

    def pointed_at(self) -> Pointed:
        return self.rows.listing.current

    def start_over(self) -> None:
        self.search = LogSearch(self.search.text)
        self.rows.start_over()

    def summary(self) -> str:
        return f"· {self.search.summary()} · {self._verified}"

    def action_harness(self) -> None:
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

            return verify(records.log("verify"), progress=progress)

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
