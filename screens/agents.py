"""The agents: who is at work where, and what each may do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.agents import ORDERS, agent_document, read_agents
from sb.screens.state.document import Document
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
        self._shown: int | None = None
        self._read_at = 0.0

    def body(self) -> Iterable[Widget]:
        yield self.split(
            self.views_panel(RowList(AGENT.columns["list"], id="agents")),
            Panel(DocumentView(id="agent"), title="Agent"),
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

        def work() -> Document:
            return agent_document(self.records, line) if line else []

        def show(document: Document) -> None:
            view = self.query_one("#agent", DocumentView)
            view.show(document, same_record=key == self._shown)
            self._shown = key

        self.read("agent", work, show)

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        self.console_app.find_on("runs", self._lines[message.key].run_id)

    def summary(self) -> str:
        hidden = self._seen.seen - len(self._lines)
        parts = (f"{self._seen.working} at work", self._order, f"{hidden} more not listed" if hidden else "")
        return " · ".join(filter(None, parts))

    def action_sort(self) -> None:
        names: Sequence[str] = list(ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        self._show(self._seen)

    def pointed_at(self) -> Pointed:
        line = self._lines.get(-1 if self.rows.listing.current is None else self.rows.listing.current)
        return Subject(line.run_id, agent=line.agent) if line else None

    def start_over(self) -> None:
        self._seen, self._lines, self._shown = AtWork(), {}, None
        self.rows.start_over()
