"""The runs of Agents: sessions, their turns and calls, as they happen."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.document_view import DocumentView
from sb.screens.filtering import Filtering
from sb.screens.handled import Handled
from sb.screens.handlers.run import RunHandler
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.runs import (
    CALL,
    SESSION,
    Node,
    RunRows,
    Tree,
    calls_of,
    grown,
    node_of,
    path_to,
    refused_call,
    start_of,
)
from sb.screens.state.search import run_clause
from sb.screens.tab_view import TabView
from textual import on
from textual.widget import Widget

from sb.base.sources import MICROSECONDS
from sb.kernel.review.runs import EVERY_RUN, first_event
from sb.present.runs import RUN

EMPTY = "No runs yet. What agents do appears here as it happens.\n\nsb demo makes some."
NO_HIT = "Nothing matches.\n\nesc clears the filter."


class RunsScreen(Filtering, Handled, TabView):
    """Sessions, newest first, with the turns and calls of those that are open."""

    name_ = "runs"
    parts = ("runs", LISTS, RECORDS, PANELS)
    heading = "Agents"
    failure = "not done"
    BINDINGS = bindings("runs")

    def __init__(self) -> None:
        super().__init__()
        self.sessions = Tree()
        self._open: frozenset[Node] = frozenset()
        self._wanted: Node | None = None  # for the cursor, once it is in the list
        self._wanted_runs = EVERY_RUN

    def body(self) -> Iterable[Widget]:
        box = self.filter_box("words, agent:… host:… project:… session:… tool:… since:7d")
        rows = RowList(RUN.columns["list"], id="runs")
        yield self.split(self.views_panel(box, rows), Panel(DocumentView(id="run"), title="Session"))

    @property
    def rows(self) -> RowList:
        return self.query_one("#runs", RowList)

    @cached_property
    def _reader(self) -> RunRows:
        return RunRows(self.records)

    @cached_property
    def handler(self) -> RunHandler:
        return RunHandler(self, self.show_detail, lambda: self.sessions)

    @property
    def node(self) -> Node | None:
        """The item under the cursor."""
        key = self.rows.listing.current
        return None if key is None else node_of(key)

    def refresh_records(self) -> None:
        tree, opened, wanted = self.sessions, self._open, self._wanted_runs
        self.read("runs", lambda: grown(self.records.log("runs"), tree, wanted, opened), self._show)

    def _show(self, tree: Tree) -> None:
        self.sessions, self._open = tree, tree.open
        keys = tree.keys()
        self.rows.show(keys, NO_HIT if self.filter_text else EMPTY)
        if self._wanted is not None and self._wanted.key in keys:
            self.rows.select(self._wanted.key)
            self._wanted = None
        self.console_app.view_counts[self.name_] = len(tree.sessions)
        self._point()
        self.show_status()

    def summary(self) -> str:
        filtered = f"filter: {self.filter_text}" if self.filter_text else ""
        return " · ".join(filter(None, (filtered, self.work_text)))

    @on(RowList.Wanted)
    def _rows_wanted(self, message: RowList.Wanted) -> None:
        tree, keys, reader = self.sessions, message.keys, self._reader
        self.read("rows", lambda: reader.rows(tree, keys), self.rows.put)

    @on(RowList.Highlighted)
    def _highlighted(self) -> None:
        self._point()

    def _point(self) -> None:
        key = self.rows.listing.current
        self.handler.point_at("" if key is None else str(key))
        self.show_detail()

    def open_row(self, key: int) -> None:
        node = node_of(key)
        if node.kind == CALL:
            self.console_app.open_record(node.first)
        else:
            self._open ^= {node}
            self.refresh_records()

    def filter_changed(self) -> None:
        self._wanted_runs = run_clause(self.filter_text, int(self.records.clock.now() * MICROSECONDS))
        self.sessions = Tree()
        self.refresh_records()

    def find(self, run_id: str) -> None:
        """Put the cursor on a session, among all of them."""
        self.close_filter()
        self.read("find", lambda: first_event(self.records.log(), run_id), self._found)

    def _found(self, first: int | None) -> None:
        if first is None:
            self.console_app.say("this run is no longer in the log")
        else:
            self._wanted = Node(SESSION, first)
            self.refresh_records()

    def action_next_waiting(self, by: int) -> None:
        """Go to a call that was refused, or whose outcome is unknown."""
        node, tree = self.node, self.sessions if self.filter_text else None

        def work() -> tuple[Node, list[Node]] | None:
            log = self.records.log("runs")
            among = calls_of(log, tree) if tree else EVERY_RUN
            found = refused_call(log, among, start_of(log, node, by), by)
            return (Node(CALL, found[1]), path_to(log, found[1])) if found else None

        self.read("refused", work, self._reveal)

    def _reveal(self, found: tuple[Node, list[Node]] | None) -> None:
        if found is None:
            self.console_app.say("no call was refused")
            return
        self._wanted, above = found
        self._open |= set(above)
        self.refresh_records()

    def start_over(self) -> None:
        self.sessions, self._open = Tree(), frozenset()
        self.rows.start_over()
