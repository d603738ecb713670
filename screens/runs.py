"""The Runs screen: runs, and the events of one as they happen."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, bindings
from sb.screens.filtering import Filtering
from sb.screens.panel import Panel
from sb.screens.reading import safe
from sb.screens.row_list import RowList
from sb.screens.state.events import TIMELINE_COLUMNS, timeline_rows
from sb.screens.state.runs import RUN_COLUMNS, OneRun, last_change, one_run, run_rows
from textual import on
from textual.widget import Widget
from textual.widgets import Static

from sb.kernel.review.runs import RunFilter, first_event, first_events
from sb.log.event import Event
from sb.log.search import events_at

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

EMPTY = "No runs yet. What agents do appears here as it happens.\n\nsb demo makes some."
NO_HIT = "No runs match.\n\nesc clears the filter."


class RunsScreen(Filtering):
    """Runs, newest first, and the events of the one under the cursor."""

    name_ = "runs"
    parts = ("runs", LISTS, PANELS)
    heading = "Runs"
    BINDINGS = bindings("runs")
    DEFAULT_CSS = """
    RunsScreen #whereabouts { height: auto; max-height: 3; padding: 0 1; color: $soft; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.firsts: array[int] = array("q")
        self._read_to = 0  # the log's newest row when the runs were read
        self._chosen: int | None = None
        self._wanted_run: int | None = None  # for the cursor, once it is in the list

    def body(self) -> Iterable[Widget]:
        events = RowList(TIMELINE_COLUMNS, id="timeline")
        yield self.split(
            Panel(
                self.filter_box("words, host:… project:… session:… agent:… run:…"),
                RowList(RUN_COLUMNS, id="runs"),
            ),
            Panel(Static(id="whereabouts"), events, title="Run"),
        )

    @property
    def runs(self) -> RowList:
        return self.query_one("#runs", RowList)

    @property
    def timeline(self) -> RowList:
        return self.query_one("#timeline", RowList)

    def refresh_records(self) -> None:
        known, read_to, wanted = self.firsts, self._read_to, RunFilter.parse(self.filter_text)

        def work() -> tuple[array[int], int]:
            log = self.records.log("runs")
            newest = log.head().seq
            found = first_events(log, after=read_to, wanted=wanted)
            return found + known, max(newest, found[0] if found else 0)  # a run may have begun in between

        self.read("runs", work, self._show_runs)
        self._read_chosen()

    def _show_runs(self, found: tuple[array[int], int]) -> None:
        self.firsts, self._read_to = found
        self.runs.show(self.firsts, NO_HIT if self.filter_text else EMPTY)
        if self._wanted_run is not None:
            self.runs.select(self._wanted_run)
            self._wanted_run = None
        self.show_status()

    def _read_chosen(self) -> None:
        chosen = self._chosen

        def work() -> OneRun:
            return OneRun() if chosen is None else one_run(self.records.log(), chosen, self.records.config)

        self.read("timeline", work, self._show_one)

    def _show_one(self, run: OneRun) -> None:
        self.query_one("#whereabouts", Static).update(safe(run.whereabouts, one_line=True))
        self.timeline.show(run.events)

    def filter_changed(self) -> None:
        self.firsts, self._read_to = array("q"), 0
        self.refresh_records()

    def find(self, run_id: str) -> None:
        """Put the cursor on a run, among all of them."""
        self.close_filter()
        self.read("find", lambda: first_event(self.records.log(), run_id), self._found)

    def _found(self, first: int | None) -> None:
        if first is None:
            self.console_app.say("this run is no longer in the log")
        elif first in self.firsts:
            self.runs.select(first)
        else:
            self._wanted_run = first
            self.refresh_records()

    @on(RowList.Highlighted, "#runs")
    def _run_chosen(self, message: RowList.Highlighted) -> None:
        if message.key != self._chosen:
            self._chosen = message.key
            self.timeline.start_over()
            self._read_chosen()

    @on(RowList.Wanted)
    def _wanted(self, message: RowList.Wanted) -> None:
        rows, load = (self.runs, run_rows) if message.rows is self.runs else (self.timeline, timeline_rows)
        self.read(f"rows of {rows.id}", lambda: load(self.records.log(), message.keys), rows.put)

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        if message.rows is self.runs:
            self.focus_on(self.timeline)
        else:
            self.console_app.open_record(message.key)

    def action_undo(self) -> None:
        seq = self.timeline.listing.current
        if self.timeline.has_focus and seq is not None:
            self.read("call", lambda: events_at(self.records.log(), [seq]).get(seq), self._undo)
        elif self._chosen is not None:
            first = self._chosen
            self.read("run", lambda: last_change(self.records.log(), first), self._undo_run)

    def _undo_run(self, mutation_id: str) -> None:
        if mutation_id:
            self.console_app.find_on("recovery", mutation_id)
        else:
            self.console_app.say("nothing to undo: this run has no undo records")

    def _undo(self, event: Event | None) -> None:
        if event is None or not event.subject.call_id.startswith("call_"):
            self.console_app.say("nothing to undo: this is not a call")
        else:
            self.console_app.find_on("recovery", event.subject.call_id)

    def pointed_at(self) -> Pointed:
        return (self.timeline if self.timeline.has_focus else self.runs).listing.current

    def start_over(self) -> None:
        self.firsts, self._read_to, self._chosen = array("q"), 0, None
        self.runs.start_over()
        self.timeline.start_over()

    def summary(self) -> str:
        words = f" · filter: {self.filter_text}" if self.filter_text else ""
        return f"· {len(self.firsts):,} runs, newest first{words}"

    def leave_part(self) -> bool:
        if self.timeline.has_focus:
            self.runs.focus()
            return True
        return super().leave_part()
