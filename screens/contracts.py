"""The contracts of Rules: those to approve first, and what changed in the one under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.handled import Handled
from sb.screens.handlers.contract import ContractHandler
from sb.screens.kind_view import KindView
from sb.screens.waiting import Waiting

from sb.base.fitting import count
from sb.kernel.baselines.store import ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE
from sb.present.contracts import CONTRACT, ordered


class ContractsScreen(KindView[ContractEntry], Handled, Waiting):
    """Every tool that any process met, those that need a look first."""

    name_ = "contracts"
    parts = ("contracts", LISTS, RECORDS, PANELS)
    heading = "Rules"
    kind = CONTRACT
    noun = "Contract"
    gone = "no process has met this tool"
    empty = "No tools yet.\n\nThey appear here once an agent's process has loaded them."
    surface: ClassVar[str] = KERNEL_SURFACE
    BINDINGS = bindings("contracts")

    @cached_property
    def handler(self) -> ContractHandler:
        return ContractHandler(self, self.show_detail, self.surface)

    def read_items(self) -> Sequence[ContractEntry]:
        return ordered(self.records.baselines("rows", self.surface).entries())

    def reference(self, item: ContractEntry) -> str:
        return item.tool_id

    def show_items(self, items: Sequence[ContractEntry]) -> None:
        live = {entry.tool_id: entry.live_fingerprint for entry in items}
        others = {
            key for key, entry in self.known.items() if live.get(entry.tool_id) != entry.live_fingerprint
        }
        self.rows.listing.marked -= others  # nobody has marked what they are now
        super().show_items(items)
        self.move_on()

    def show_current(self) -> None:
        self.handler.point_at(self.current.tool_id if self.current else "")
        self.show_detail()

    def waiting(self) -> Sequence[int]:
        return [key for key, entry in self.known.items() if entry.approvable]

    def marked_references(self) -> Sequence[str]:
        marked = sorted(self.rows.listing.marked)
        return [self.known[key].tool_id for key in marked if key in self.known]

    def summary(self) -> str:
        marked, amiss = len(self.rows.listing.marked), len(self.waiting())
        parts = (f"{marked} marked" if marked else "", f"{count(amiss)} to approve" if amiss else "")
        return " · ".join(filter(None, parts))


class ReversalsScreen(ContractsScreen):
    """Declared reversals of tools: those that run by themselves, and what changed."""

    name_ = "reversals"
    surface = REVERSAL_SURFACE
    empty = "No tool declares an undo.\n\n[ shows the tools."
