"""The Runs screen: sessions, their turns and calls, as they happen."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.document_view import DocumentView
from sb.screens.filtering import Filtering
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.document import Document
from sb.screens.state.runs import (
    CALL,
    SESSION,
    Node,
    RunRows,
    Tree,
    document,
    grown,
    newer_calls,
    node_of,
    path_to,
    refused_call,
    undo_reference,
)
from textual import on
from textual.widget import Widget

from sb.kernel.review.runs import RunFilter, first_event
from sb.present import events
from sb.present.runs import RUN

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

SESSIONS, CALLS = "sessions", "calls"
VIEWS = {SESSIONS: "Sessions", CALLS: "Calls"}
TITLES = ("Session", "Turn", "Call")
EMPTY = "No runs yet. What agents do appears here as it happens.\n\nsb demo makes some."
NO_HIT = "Nothing matches.\n\nesc clears the filter."


class RunsScreen(Filtering):
    """Sessions, newest first, with the turns and calls of those that are open; or all calls, newest first."""

    name_ = "runs"
    parts = ("runs", LISTS, RECORDS, PANELS)
    heading = "Runs"
    BINDINGS = bindings("runs")

    def __init__(self) -> None:
        super().__init__()
        self.sessions = Tree()
        self._open: frozenset[Node] = frozenset()
        self._calls: array[int] = array("q")
        self._calls_to = 0  # the log's newest row when the calls were read
        self._wanted: Node | None = None  # for the cursor, once it is in the list
        self._shown: Node | None = None
        self._undo_reference = ""  # of what the cursor is on, once it was read

    def body(self) -> Iterable[Widget]:
        yield self.split(
            Panel(
                self.filter_box("words, host:… project:… session:… agent:… run:… tool:…"),
                RowList(RUN.columns["list"], id="runs"),
                views=VIEWS,
                id="list",
            ),
            Panel(DocumentView(id="run"), title=TITLES[SESSION], id="detail"),
        )

    @property
    def rows(self) -> RowList:
        return self.query_one("#runs", RowList)

    @property
    def panel(self) -> Panel:
        return self.query_one("#list", Panel)

    @cached_property
    def _reader(self) -> RunRows:
        return RunRows(self.records)

    @property
    def node(self) -> Node | None:
        """The item under the cursor."""
        key = self.rows.listing.current
        return None if key is None else node_of(key)

    def refresh_records(self) -> None:
        if self.panel.view == CALLS:
            words, known, read_to = self.filter_text, self._calls, self._calls_to
            self.read(
                "runs", lambda: newer_calls(self.records.log("runs"), words, known, read_to), self._show_calls
            )
            return
        tree, opened, wanted = self.sessions, self._open, RunFilter.parse(self.filter_text)
        self.read("runs", lambda: grown(self.records.log("runs"), tree, wanted, opened), self._show_tree)

    def _show_tree(self, tree: Tree) -> None:
        self.sessions, self._open = tree, tree.open
        self._show(tree.keys(), SESSIONS, len(tree.sessions))

    def _show_calls(self, found: tuple[array[int], int]) -> None:
        self._calls, self._calls_to = found
        self._show(array("q", (Node(CALL, first).key for first in self._calls)), CALLS, len(self._calls))

    def _show(self, keys: array[int], view: str, total: int) -> None:
        self.rows.show(keys, NO_HIT if self.filter_text else EMPTY)
        if self._wanted is not None and self._wanted.key in keys:
            self.rows.select(self._wanted.key)
            self._wanted = None
        self.panel.count({view: total})
        self.panel.foot(f"filter: {self.filter_text}" if self.filter_text else "")
        self._read_detail()

    @on(RowList.Wanted)
    def _rows_wanted(self, message: RowList.Wanted) -> None:
        tree, keys, reader = self.sessions, message.keys, self._reader
        calls = self.panel.view == CALLS
        self.read("rows", lambda: reader.call_rows(keys) if calls else reader.rows(tree, keys), self.rows.put)

    @on(RowList.Highlighted)
    def _highlighted(self) -> None:
        self._read_detail()

    def _read_detail(self) -> None:
        node, tree = self.node, self.sessions

        def work() -> tuple[Document, str]:
            return (
                (document(self.records, tree, node), undo_reference(self.records.log("run"), node))
                if node
                else ((), "")
            )

        def show(found: tuple[Document, str]) -> None:
            shown, self._undo_reference = found
            self.query_one("#run", DocumentView).show(shown, same_record=node == self._shown)
            self.query_one("#detail", Panel).retitle(TITLES[node.kind if node else SESSION])
            self._shown = node

        self.read("detail", work, show)

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        node = node_of(message.key)
        if node.kind == CALL:
            self.console_app.open_record(node.first)
        else:
            self._open ^= {node}
            self.refresh_records()

    @on(Panel.Viewed)
    def _viewed(self) -> None:
        self._start_view()
        self.refresh_records()

    def _start_view(self) -> None:
        self.rows.set_columns((events.CALL if self.panel.view == CALLS else RUN).columns["list"])
        self.rows.start_over()

    def action_view(self, by: int) -> None:
        self.step_view(by)

    def filter_changed(self) -> None:
        self.sessions, self._calls, self._calls_to = Tree(), array("q"), 0
        self.refresh_records()

    def find(self, run_id: str) -> None:
        """Put the cursor on a session, among all of them."""
        self.close_filter()
        if self.panel.view != SESSIONS:
            self.panel.show_view(SESSIONS)
            self._start_view()
        self.read("find", lambda: first_event(self.records.log(), run_id), self._found)

    def _found(self, first: int | None) -> None:
        if first is None:
            self.console_app.say("this run is no longer in the log")
        else:
            self._wanted = Node(SESSION, first)
            self.refresh_records()

    def action_next_waiting(self, by: int) -> None:
        """Go to a call that was refused, or whose outcome is unknown."""
        node, words = self.node, self.filter_text

        def work() -> tuple[Node, list[Node]] | None:
            log = self.records.log("runs")
            found = refused_call(log, words, node, by)
            return (found, path_to(log, found.first)) if found else None

        self.read("refused", work, self._reveal)

    def _reveal(self, found: tuple[Node, list[Node]] | None) -> None:
        if found is None:
            self.console_app.say("No call was refused.")
            return
        self._wanted, above = found
        self._open |= set(above)
        self.refresh_records()

    def possible(self, action: Action) -> bool:
        if action.id == "undo":
            return bool(self._undo_reference) and self.node == self._shown
        return super().possible(action)

    def action_undo(self) -> None:
        node = self.node
        if node is not None:
            self.read("undo", lambda: undo_reference(self.records.log(), node), self._go_to_undo)

    def _go_to_undo(self, reference: str) -> None:
        if reference:
            self.console_app.find_on("recovery", reference)
        else:
            session = self.node is not None and self.node.kind == SESSION
            self.console_app.say(
                f"nothing to undo: this {'session' if session else 'call'} has no undo records"
            )

    def pointed_at(self) -> Pointed:
        return self.node.first if self.node else None

    def start_over(self) -> None:
        self.sessions, self._open, self._shown = Tree(), frozenset(), None
        self._calls, self._calls_to = array("q"), 0
        self.rows.start_over()
