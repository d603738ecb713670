"""The tools of Rules: their contracts, those to approve first, and what changed in the one under the cursor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.document_view import DocumentView
from sb.screens.handled import Handled
from sb.screens.handlers.contract import ContractHandler
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.listing import row_of
from sb.screens.tab_view import ListView
from sb.screens.waiting import Waiting
from textual import on
from textual.widget import Widget

from sb.base.fitting import count
from sb.base.sources import MICROSECONDS
from sb.kernel.baselines.store import ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE
from sb.present.contracts import CONTRACT, ordered


class ContractsScreen(ListView[ContractEntry], Handled, Waiting):
    """Every tool that any process met, those that need a look first, and what changed in the one under the cursor."""

    name_ = "contracts"
    parts = ("contracts", LISTS, RECORDS, PANELS)
    heading = "Rules"
    gone = "no process has met this tool"
    surface: ClassVar[str] = KERNEL_SURFACE
    empty: ClassVar[str] = "No tools yet.\n\nThey appear here once an agent's process has loaded them."
    BINDINGS = bindings("contracts")

    def body(self) -> Iterable[Widget]:
        tools = self.views_panel(RowList(CONTRACT.columns["list"], id="contracts"))
        yield self.split(tools, Panel(DocumentView(id="contract"), title="Contract"))

    @cached_property
    def handler(self) -> ContractHandler:
        return ContractHandler(self, self.show_detail, self.surface)

    def waiting(self) -> Sequence[int]:
        return [key for key, entry in self.known.items() if entry.approvable]

    def refresh_records(self) -> None:
        def work() -> list[ContractEntry]:
            return ordered(self.records.baselines("rows", self.surface).entries())

        self.read("contracts", work, self._show)

    def _show(self, entries: Sequence[ContractEntry]) -> None:
        self.keep(entries, [entry.tool_id for entry in entries])
        now = int(self.records.clock.now() * MICROSECONDS)
        self.rows.put({key: row_of(CONTRACT, entry, now) for key, entry in self.known.items()})
        self.rows.show(list(self.known), self.empty)
        self.move_on()
        self.go_to_wanted([entry.tool_id for entry in entries])
        self._point()
        self.show_status()

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._point()

    def _point(self) -> None:
        self.handler.point_at(self.current.tool_id if self.current else "")
        self.show_detail()

    def marked_references(self) -> Sequence[str]:
        marked = sorted(self.rows.listing.marked)
        return [self.known[key].tool_id for key in marked if key in self.known]

    def summary(self) -> str:
        marked, amiss = len(self.rows.listing.marked), len(self.waiting())
        parts = (f"{marked} marked" if marked else "", f"{count(amiss)} to approve" if amiss else "")
        return " · ".join(filter(None, parts))

    def start_over(self) -> None:
        self.known = {}
        self.rows.start_over()


class ReversalsScreen(ContractsScreen):
    """How tools are undone: which of them runs by itself, and what changed."""

    name_ = "reversals"
    surface = REVERSAL_SURFACE
    empty = "No tool declares an undo.\n\n[ shows the tools."
