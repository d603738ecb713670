"""Which runs were there, and what happened in each, as it happens?"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, bindings
from sb.screens.row_list import RowList
from sb.screens.section import Section
from sb.screens.state.events import TIMELINE_COLUMNS, timeline_rows
from sb.screens.state.runs import RUN_COLUMNS, run_rows, timeline
from textual import on
from textual.containers import Container
from textual.widget import Widget

from sb.kernel.log_search import events_at
from sb.kernel.runs import first_events
from sb.state import Event

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

EMPTY = "No runs yet. What agents do appears here as it happens.\n\nsb demo makes some."


class RunsScreen(Section):
    """Runs, newest first, and the events of the one under the cursor."""

    name_ = "runs"
    parts = ("runs", LISTS)
    heading = "Runs"
    BINDINGS = bindings("runs")

    def __init__(self) -> None:
        super().__init__()
        self.firsts: array[int] = array("q")
        self._chosen: int | None = None

    def body(self) -> Iterable[Widget]:
        events = RowList(TIMELINE_COLUMNS, id="timeline")
        events.add_class("second")
        yield Container(RowList(RUN_COLUMNS, id="runs"), events, classes="split")

    @property
    def runs(self) -> RowList:
        return self.query_one("#runs", RowList)

    @property
    def timeline(self) -> RowList:
        return self.query_one("#timeline", RowList)

    def refresh_records(self) -> None:
        known = self.firsts
        after = known[0] if known else 0
        self.read("runs", lambda: first_events(self.records.log(), after=after) + known, self._show_runs)
        self._read_timeline()

    def _show_runs(self, firsts: array[int]) -> None:
        self.firsts = firsts
        self.runs.show(firsts, EMPTY)
        self.show_status()

    def _read_timeline(self) -> None:
        chosen = self._chosen
        if chosen is not None:
            self.read("timeline", lambda: timeline(self.records.log(), chosen), self._show_timeline)

    def _show_timeline(self, seqs: Sequence[int]) -> None:
        self.timeline.show(seqs)

    @on(RowList.Highlighted, "#runs")
    def _run_chosen(self, message: RowList.Highlighted) -> None:
        if message.key != self._chosen:
            self._chosen = message.key
            self.timeline.start_over()
            self._read_timeline()

    @on(RowList.Wanted)
    def _wanted(self, message: RowList.Wanted) -> None:
        rows, load = (self.runs, run_rows) if message.rows is self.runs else (self.timeline, timeline_rows)
        self.read(f"rows of {rows.id}", lambda: load(self.records.log(), message.keys), rows.put)

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        if message.rows is self.runs:
            self.timeline.focus()
        else:
            self.console_app.open_record(message.key)

    def action_undo(self) -> None:
        seq = self.timeline.listing.current
        if self.timeline.has_focus and seq is not None:
            self.read("call", lambda: events_at(self.records.log(), [seq]).get(seq), self._undo)
        else:
            self.console_app.say("nothing to undo here: enter leads to the run's calls")

    def _undo(self, event: Event | None) -> None:
        if event is None or not event.subject.call_id.startswith("call_"):
            self.console_app.say("nothing to undo here: this is no call")
        else:
            self.console_app.find_on("recovery", event.subject.call_id)

    def pointed_at(self) -> Pointed:
        return (self.timeline if self.timeline.has_focus else self.runs).listing.current

    def start_over(self) -> None:
        self.firsts, self._chosen = array("q"), None
        self.runs.start_over()
        self.timeline.start_over()

    def summary(self) -> str:
        return f"· {len(self.firsts):,} runs, newest first"

    def leave_part(self) -> bool:
        inside = self.timeline.has_focus
        if inside:
            self.runs.focus()
        return inside
