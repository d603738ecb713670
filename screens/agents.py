"""The agents: who is at work where, and what each may do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.document_view import DocumentView
from sb.screens.handled import Handled
from sb.screens.handlers.agent import AgentHandler
from sb.screens.hours_chart import HoursChart
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.agents import ORDERS, PAGE, read_agents
from sb.screens.state.listing import row_of
from sb.screens.tab_view import TabView
from textual import on
from textual.widget import Widget

from sb.present.agents import AGENT, AgentLine
from sb.present.overview import AtWork

EMPTY = (
    "No agents yet. One appears here with its first call.\n\nsb install claude-code connects a coding agent."
)
READ_EVERY_S = 10.0  # while nothing is written: ages grow, and who is silent is no longer at work


class AgentsScreen(Handled, TabView):
    """Agents by project, those at work first, and the one under the cursor in full."""

    name_ = "agents"
    parts = ("agents", LISTS, RECORDS, PANELS)
    heading = "Agents"
    BINDINGS = bindings("agents")

    def __init__(self) -> None:
        super().__init__()
        self._seen = AtWork()
        self._order = next(iter(ORDERS))
        self._keys: dict[tuple[str, str], int] = {}
        self._lines: dict[int, AgentLine] = {}
        self._read_at = 0.0

    def body(self) -> Iterable[Widget]:
        last = self.console_app.last_places.of(self.name_).sort
        self._order = last if last in ORDERS else self._order
        yield self.split(
            self.views_panel(RowList(AGENT.columns["list"], id="agents"), HoursChart(id="hours")),
            Panel(DocumentView(id="agent"), views=PAGE, id="page"),
        )

    @cached_property
    def handler(self) -> AgentHandler:
        return AgentHandler(self, self.show_detail, lambda: self._lines)

    @property
    def rows(self) -> RowList:
        return self.query_one("#agents", RowList)

    def refresh_records(self) -> None:
        self._read_at = self.records.clock.monotonic()
        self.read("agents", lambda: read_agents(self.records), self._show)

    def tick(self) -> None:
        if self.records.clock.monotonic() - self._read_at >= READ_EVERY_S:
            self.refresh_records()

    def _show(self, seen: AtWork) -> None:
        self._seen = seen
        self._lines = {}
        for line in sorted(seen.agents, key=lambda line: (not line.at_work, ORDERS[self._order](line))):
            self._lines[self._keys.setdefault((line.agent, line.project), len(self._keys))] = line
        self.rows.put({key: row_of(AGENT, line, 0) for key, line in self._lines.items()})
        self.rows.show(list(self._lines), EMPTY)
        self.console_app.view_counts[self.name_] = seen.seen
        self.show_status()
        self._point()

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._point()

    def _point(self) -> None:
        key = self.rows.listing.current
        self.handler.point_at("" if key is None else str(key))
        self.show_detail()

    def show_detail(self) -> None:
        if not self.composed:
            return
        panel, page = self.query_one("#page", Panel), self.handler.item
        shown = self.handler.reference, panel.view
        self.handler.view = panel.view
        panel.count(page.counts if page else {})
        self.detail.show(self.handler.document(), same_record=shown == self._shown)
        self._shown = shown
        if page is not None:
            agent = self.handler.line.agent if self.handler.line else ""
            self.query_one(HoursChart).show(agent, page.hours, page.cost)
        self.show_keys()

    @on(Panel.Viewed, "#page")
    def _page_viewed(self) -> None:
        self.show_detail()

    def summary(self) -> str:
        hidden = self._seen.seen - len(self._lines)
        stopped = sum(line.stopped for line in self._lines.values())
        parts = (
            f"{self._seen.working} at work",
            f"{stopped} stopped" if stopped else "",
            self._order,
            f"{hidden} more not listed" if hidden else "",
        )
        return " · ".join(filter(None, parts))

    def action_sort(self) -> None:
        names: Sequence[str] = list(ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        self.console_app.last_places.put(self.name_, sort=self._order)
        self.console_app.last_places.keep(self, self.name_, self.console_app.say)
        self._show(self._seen)

    def start_over(self) -> None:
        self._seen, self._lines = AtWork(), {}
        self.rows.start_over()
