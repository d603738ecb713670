"""The grants of Rules: calls that were approved in advance, and revoking them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.handled import Handled
from sb.screens.handlers.request import GrantHandler
from sb.screens.kind_view import KindView

from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.approval import Grant
from sb.present.approvals import GRANT


class GrantsScreen(KindView[Grant], Handled):
    """Grants, the newest first."""

    name_ = "grants"
    parts = ("grants", LISTS, RECORDS, PANELS)
    heading = "Rules"
    kind = GRANT
    noun = "Grant"
    gone = "no grant has this id"
    empty = "No grants.\n\nsb approvals approve --until or --for-run makes one."
    BINDINGS = bindings("grants")

    @cached_property
    def handler(self) -> GrantHandler:
        return GrantHandler(self, self.show_detail)

    def read_items(self) -> Sequence[Grant]:
        return ApprovalQueue(self.records.log("rows")).grants()

    def reference(self, item: Grant) -> str:
        return item.id

    def show_current(self) -> None:
        self.handler.point_at(self.current.id if self.current else "")
        self.show_detail()
