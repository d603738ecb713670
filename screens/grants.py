"""The grants of Rules: calls that were approved in advance, and revoking them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.document_view import DocumentView
from sb.screens.handled import Handled
from sb.screens.handlers.request import GrantHandler
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.listing import row_of
from sb.screens.tab_view import ListView
from textual import on
from textual.widget import Widget

from sb.base.sources import MICROSECONDS
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.approval import Grant
from sb.present.approvals import GRANT

EMPTY = "No grants.\n\nsb approvals approve --until or --for-run makes one."


class GrantsScreen(ListView[Grant], Handled):
    """Grants, the newest first, and the one under the cursor in full."""

    name_ = "grants"
    parts = ("grants", LISTS, RECORDS, PANELS)
    heading = "Rules"
    gone = "no grant has this id"
    BINDINGS = bindings("grants")

    def body(self) -> Iterable[Widget]:
        grants = self.views_panel(RowList(GRANT.columns["list"], id="grants"))
        yield self.split(grants, Panel(DocumentView(id="grant"), title="Grant"))

    @cached_property
    def handler(self) -> GrantHandler:
        return GrantHandler(self, self.show_detail)

    def refresh_records(self) -> None:
        self.read("grants", lambda: ApprovalQueue(self.records.log("rows")).grants(), self._show)

    def _show(self, grants: Sequence[Grant]) -> None:
        self.keep(grants, [grant.id for grant in grants])
        now = int(self.records.clock.now() * MICROSECONDS)
        self.rows.put({key: row_of(GRANT, grant, now) for key, grant in self.known.items()})
        self.rows.show(list(self.known), EMPTY)
        self.go_to_wanted([grant.id for grant in grants])
        self._point()
        self.show_status()

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        self._point()

    def _point(self) -> None:
        self.handler.point_at(self.current.id if self.current else "")
        self.show_detail()

    def start_over(self) -> None:
        self.known = {}
        self.rows.start_over()
