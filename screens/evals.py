"""The evals of Rules: suites and runs of `sb agent eval`, and a case's calls beside the expected ones."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property

from sb.screens.actions import LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.document_view import DocumentView
from sb.screens.filtering import Filtering
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.document import Document
from sb.screens.state.evals import (
    EVAL,
    Node,
    Saved,
    document,
    read_saved,
    row_of,
    run_nodes,
    suite_nodes,
)
from sb.screens.tab_view import TabView
from textual import on
from textual.widget import Widget

from sb.base.sources import MICROSECONDS
from sb.evals.shelf import EvalShelf
from sb.evals.summary import command_again

EMPTY = (
    "No evals yet. They run an agent through cases, and say which hold.\n\n"
    "sb agent eval init RUN writes a first suite from a recorded run."
)
NO_HIT = "Nothing matches.\n\nesc clears the filter."
READ_EVERY_S = 2.0  # runs are files: nothing in the database tells of a new one


class EvalsScreen(Filtering, TabView):
    """Suites with their newest run; open lines show cases."""

    name_ = "evals"
    parts = ("evals", LISTS, RECORDS, PANELS)
    heading = "Rules"
    BINDINGS = bindings("evals")
    nodes = staticmethod(suite_nodes)

    def __init__(self) -> None:
        super().__init__()
        self.saved = Saved()
        self._open: frozenset[Node] = frozenset()
        self._keys: dict[Node, int] = {}
        self._node_by_key: dict[int, Node] = {}
        self._listed: Sequence[Node] = ()
        self._shown: Node | None = None
        self._read_at = 0.0

    def body(self) -> Iterable[Widget]:
        yield self.split(
            self.views_panel(
                self.filter_box("words: a suite, a case, failed, -failed"),
                RowList(EVAL.columns["suite"], id="evals"),
            ),
            Panel(DocumentView(id="eval"), title="Suite", id="detail"),
        )

    @property
    def rows(self) -> RowList:
        return self.query_one("#evals", RowList)

    @cached_property
    def _shelf(self) -> EvalShelf:
        return EvalShelf(self.records.config.home.evals)

    @property
    def node(self) -> Node | None:
        """The item under the cursor."""
        key = self.rows.listing.current
        return None if key is None else self._node_by_key.get(key)

    def refresh_records(self) -> None:
        self._read_at = self.records.clock.monotonic()
        shelf, known = self._shelf, self.saved
        self.read("evals", lambda: read_saved(shelf, known), self._show)

    def tick(self) -> None:
        if self.records.clock.monotonic() - self._read_at >= READ_EVERY_S:
            self.refresh_records()

    def _show(self, saved: Saved) -> None:
        if saved is not self.saved or not self._listed:
            self.saved = saved
            self._show_rows()

    def _show_rows(self) -> None:
        self._listed = self.nodes(self.saved, self._open, self.filter_text)
        keys = array("q", (self._key(node) for node in self._listed))
        self.rows.show(keys, NO_HIT if self.filter_text and self.saved.runs else EMPTY)
        self.rows.ask(everything=True)
        counts = {EvalsScreen.name_: len(self.saved.suites), EvalRunsScreen.name_: len(self.saved.runs)}
        self.console_app.view_counts.update(counts)
        self.show_status()
        self._show_detail()

    def _key(self, node: Node) -> int:
        key = self._keys.setdefault(node, len(self._keys) + 1)
        self._node_by_key[key] = node
        return key

    @on(RowList.Wanted)
    def _wanted(self, message: RowList.Wanted) -> None:
        now = int(self.records.clock.now() * MICROSECONDS)
        known = {key: self._node_by_key[key] for key in message.keys if key in self._node_by_key}
        self.rows.put({key: row_of(self.saved, node, self._open, now) for key, node in known.items()})

    @on(RowList.Highlighted)
    def _highlighted(self) -> None:
        self._show_detail()

    def _show_detail(self) -> None:
        node, saved, shelf = self.node, self.saved, self._shelf

        def show(found: Document) -> None:
            self.query_one("#eval", DocumentView).show(found, same_record=node == self._shown)
            title = "Case" if node and node.case else "Run" if node and node.run else "Suite"
            self.query_one("#detail", Panel).retitle(title)
            self._shown = node

        self.read("detail", lambda: document(saved, shelf, node), show)

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        node = self._node_by_key[message.key]
        if node.case:
            self.focus_on(self.query_one("#eval", DocumentView))
        else:
            self._open ^= {node}
            self._show_rows()

    def summary(self) -> str:
        return f"filter: {self.filter_text}" if self.filter_text else ""

    def filter_changed(self) -> None:
        self._show_rows()
        if self.filter_text:
            self.rows.action_first()

    def action_next_waiting(self, by: int) -> None:
        """Go to a case that does not hold, in whichever suite or run."""
        opened = frozenset(node for node in self.nodes(self.saved, frozenset(), "") if not node.case)
        nodes = self.nodes(self.saved, opened, "")
        failing = [number for number, node in enumerate(nodes) if self._fails(node)]
        if not failing:
            self.console_app.say("Every case holds.")
            return
        here = nodes.index(self.node) if self.node in nodes else -1
        behind = [number for number in failing if (number - here) * by > 0]
        chosen = nodes[(behind or failing)[0 if by > 0 else -1]]
        parent = Node("", chosen.run) if chosen.run else Node(chosen.suite)
        self.close_filter()
        self._open |= {parent}
        self._show_rows()
        self.rows.select(self._key(chosen))

    def possible(self, action: Action) -> bool:
        if action.id.startswith("next_waiting("):
            return any(not case.holds for run in self.saved.runs for case in run.cases)
        return super().possible(action)

    def _fails(self, node: Node) -> bool:
        run = self.saved.run(node) if node.case else None
        case = None if run is None else run.by_key.get((node.suite, node.case))
        return case is not None and not case.holds

    def command(self) -> str:
        node = self.node
        run = self.saved.run(node) if node else None
        if node is None or run is None:
            return "sb agent eval init RUN"
        return command_again([node.suite] if node.suite else run.suites, run.agent, node.case)

    def start_over(self) -> None:
        self.saved, self._shown, self._listed = Saved(), None, ()
        self.rows.start_over()


class EvalRunsScreen(EvalsScreen):
    """All runs of evals, the newest first."""

    name_ = "eval_runs"
    nodes = staticmethod(run_nodes)
