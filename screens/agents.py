"""The agents: who is at work where, and what each may do."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.document_view import DocumentView
from sb.screens.hours_chart import HoursChart
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.agents import ORDERS, PAGE, AgentPage, agent_page, read_agents
from sb.screens.state.listing import row_of
from sb.screens.tab_view import TabView
from textual import on
from textual.widget import Widget

from sb.log.event import Subject
from sb.present.agents import AGENT, AgentLine
from sb.present.overview import AtWork

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

EMPTY = (
    "No agents yet. One appears here with its first call.\n\nsb install claude-code connects a coding agent."
)
READ_EVERY_S = 10.0  # while nothing is written: ages grow, and who is silent is no longer at work


class AgentsScreen(TabView):
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
        self._page: AgentPage | None = None  # of the agent under the cursor, once it was read
        self._shown: int | None = None
        self._shown_view = ""
        self._read_at = 0.0

    def body(self) -> Iterable[Widget]:
        yield self.split(
            self.views_panel(RowList(AGENT.columns["list"], id="agents"), HoursChart(id="hours")),
            Panel(DocumentView(id="agent"), views=PAGE, id="page"),
        )

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
        self._show_agent(self.rows.listing.current)

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._show_agent(message.key)

    def _show_agent(self, key: int | None) -> None:
        line = None if key is None else self._lines.get(key)

        def show(page: AgentPage | None) -> None:
            self._page = page
            self._show_page()
            self._shown = key

        self.read("agent", lambda: agent_page(self.records, line) if line else None, show)

    def _show_page(self) -> None:
        panel, page = self.query_one("#page", Panel), self._page
        shown = self.rows.listing.current, panel.view
        panel.count(page.counts if page else {})
        same = shown == (self._shown, self._shown_view)
        self.query_one("#agent", DocumentView).show(page.views[panel.view] if page else (), same_record=same)
        self._shown_view = panel.view
        if page is not None:
            self.query_one(HoursChart).show(page.hours)

    @on(Panel.Viewed, "#page")
    def _page_viewed(self) -> None:
        self._show_page()

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        self.focus_on(self.query_one("#agent", DocumentView))

    def summary(self) -> str:
        hidden = self._seen.seen - len(self._lines)
        parts = (f"{self._seen.working} at work", self._order, f"{hidden} more not listed" if hidden else "")
        return " · ".join(filter(None, parts))

    def action_sort(self) -> None:
        names: Sequence[str] = list(ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        self._show(self._seen)

    def command(self) -> str:
        line = self._lines.get(-1 if self.rows.listing.current is None else self.rows.listing.current)
        return f"sb log search agent:{shlex.quote(line.agent)}" if line else ""

    def pointed_at(self) -> Pointed:
        line = self._lines.get(-1 if self.rows.listing.current is None else self.rows.listing.current)
        return Subject(line.run_id, agent=line.agent) if line else None

    def start_over(self) -> None:
        self._seen, self._lines, self._shown = AtWork(), {}, None
        self.rows.start_over()
