"""The events of Activity, filtered, as they are written, and the one under the cursor in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.document_view import DocumentView
from sb.screens.handled import Handled
from sb.screens.handlers.event import EventHandler
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.searching import Searching
from sb.screens.state.document import Field
from sb.screens.state.events import event_rows
from sb.screens.state.runs import CALL, Node, refused_call, start_of
from sb.screens.state.search import LogSearch, Search, log_clause
from sb.screens.tab_view import TabView
from textual import on
from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from sb.base.fitting import count
from sb.base.sources import MICROSECONDS
from sb.base.text import counted
from sb.base.values.frozen import mutable
from sb.kernel.review.log_verification import Verification, verify
from sb.kernel.review.verification_record import (
    VerificationState,
    record_verification,
    verification_state,
)
from sb.log.search import LogFilter
from sb.present.events import EVENT
from sb.present.home import verified_words
from sb.present.kind import Column

if TYPE_CHECKING:
    from sb.screens.handlers.handler import Handler
    from sb.screens.state.listing import Row
    from sb.screens.state.records import Records


FILTER_HINT = "words, by:… since:7d kind:… agent:… tool:… amount>…"
NO_HIT = "Nothing matches.\n\nesc clears the filter."


class ActivityView(Searching, Handled, TabView):
    """Rows of the log among those of one sort, newest first, and the one under the cursor in full.

    A filter that was typed in one view of Activity holds in the others.
    """

    heading = "Activity"
    place = "log"
    failure = "not done"
    over: ClassVar[type[LogFilter]]  # the events among which is looked
    columns: ClassVar[Sequence[Column]]
    face: ClassVar[str] = "list"  # of events that these columns are of
    empty: ClassVar[str]
    lists_calls: ClassVar[bool] = False  # each by its first event, rather than all events

    def __init__(self) -> None:
        super().__init__()
        self.search: Search = LogSearch("", self.over)

    def body(self) -> Iterable[Widget]:
        rows = RowList(self.columns, id=self.name_)
        yield self.split(
            self.views_panel(self.filter_box(FILTER_HINT), rows),
            Panel(DocumentView(id="record"), title="Event"),
        )

    @property
    def rows(self) -> RowList:
        return self.query_one(f"#{self.name_}", RowList)

    @cached_property
    def handler(self) -> Handler[Any]:
        return EventHandler(self, self.show_detail)

    def reference(self, seq: int) -> str:
        """The reference of a row for its handler."""
        return str(seq)

    def rows_of(self, records: Records, seqs: Sequence[int]) -> Mapping[int, Row]:
        """The lines of these rows of the log; called in a worker."""
        return event_rows(records.log(), seqs, self.face)

    def new_search(self, text: str) -> LogSearch:
        return LogSearch(text, self.over, self.now(), self.name_)

    def now(self) -> int:
        """Microseconds since the epoch."""
        return int(self.records.clock.now() * MICROSECONDS)

    def show_found(self, notice: str) -> None:
        nothing = notice or NO_HIT if self.search.text else self.empty
        self.rows.show(self.search.hits.keys, nothing)
        if not notice:
            self._point()

    @on(RowList.Wanted)
    def _wanted(self, message: RowList.Wanted) -> None:
        self.read("rows", lambda: self.rows_of(self.records, message.keys), self.rows.put)

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._point()

    def _point(self) -> None:
        seq = self.rows.listing.current
        self.handler.point_at("" if seq is None else self.reference(seq))
        self.show_detail()

    def action_next_waiting(self, by: int) -> None:
        """Go to the next call that was refused, or whose outcome is unknown, as far as the filter fits it."""
        seq, clause = self.rows.listing.current, log_clause(self.search.text, self.now(), self.name_)
        if seq is None:
            return

        def work() -> int | None:
            log = self.records.log("search")
            start = start_of(log, Node(CALL, seq), by) if self.lists_calls else seq
            found = refused_call(log, clause, start, by)
            return found[self.lists_calls] if found else None

        def done(found: int | None) -> None:
            if found is None or found == seq:
                self.console_app.say("no other call was refused")
            else:
                self.rows.select(found)

        self.read("refused", work, done)

    def action_export(self) -> None:
        """Write the rows that the filter lets through to a file."""
        from sb.screens.exporting import export  # with its dialog, which few ask for

        export(self, self.search.hits.keys)

    def summary(self) -> str:
        filtered = self.search.summary() if self.search.text else ""
        return " · ".join(filter(None, (filtered, self.work_text)))

    def show_title(self) -> None:
        if not self.search.text and self.search.hits.complete:
            self.console_app.view_counts[self.name_] = len(self.search.hits.keys)
        super().show_title()


class LogScreen(ActivityView):
    """The whole log, and whether it was verified."""

    name_ = "log"
    parts = ("log", LISTS, RECORDS, PANELS)
    over = LogFilter
    columns = EVENT.columns["list"]
    empty = "No events yet. What agents do appears here as it happens.\n\nsb demo makes some."
    BINDINGS = bindings("log")

    @mutable
    class Verifying(Message):
        """So much of the log is verified."""

        done: int
        total: int

    def __init__(self) -> None:
        super().__init__()
        self._verified = ""

    def summary(self) -> str:
        return " · ".join(filter(None, (super().summary(), self._verified)))

    def refresh_records(self) -> None:
        super().refresh_records()
        if not self.is_reading("verify"):
            self._read_verified()

    def _read_verified(self) -> None:
        self.read("verified", lambda: verification_state(self.records.log("verify")), self._show_verified)

    def _show_verified(self, state: VerificationState) -> None:
        self._verified = verified_words(state, int(self.records.clock.now() * MICROSECONDS))[0]
        self.show_status()

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

            log = records.log("verify")
            found = verify(log, records.authority("verify"), progress=progress)
            record_verification(log, found)
            return found

        self.read("verify", work, self._verified_all)

    @on(Verifying)
    def _progress(self, message: Verifying) -> None:
        self._verified = f"verifying {100 * message.done // max(message.total, 1)} %"
        self.show_status()

    def _verified_all(self, found: Verification) -> None:
        if found.ok:
            anchored = (
                f"anchored up to row {count(found.anchored_seq)}"
                if found.anchored_seq
                else "not anchored yet"
            )
            self.console_app.say(f"Log verified: {count(found.rows)} rows, {anchored}")
        else:
            problems = counted(len(found.problems) + found.further_problems, "problem")
            fields = [Field(f"Log broken: {problems}"), *(Field("Problem", line) for line in found.problems)]
            self.console_app.open_fields("the log is broken", fields)
        self._read_verified()
