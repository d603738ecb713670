"""The Contracts screen: approved contracts, and what changed in the others."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sb.screens.actions import LISTS, PANELS, RECORDS, Action, bindings
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.state.contracts import VIEWS, contract_document, contract_question
from sb.screens.state.listing import row_of
from sb.screens.waiting import CountedList
from textual import on
from textual.widget import Widget

from sb.base.fitting import count
from sb.kernel.authority.signing import Decider
from sb.kernel.baselines.store import Baseline, ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE
from sb.log.event import Subject
from sb.present.contracts import CONTRACT, approved_contracts, ordered

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

EMPTY = {
    KERNEL_SURFACE: "No tools yet.\n\nThey appear here once an agent's process has loaded them.",
    REVERSAL_SURFACE: "No tool declares an undo.\n\n[ shows the tools.",
}
Known = list[tuple[ContractEntry, list[Baseline]]]


class ContractsScreen(CountedList):
    """Every tool that any process met, those that need a look first, and what changed in the one under the cursor."""

    name_ = "contracts"
    parts = ("contracts", LISTS, RECORDS, PANELS)
    heading = "Contracts"
    BINDINGS = bindings("contracts")

    def __init__(self) -> None:
        super().__init__()
        self.known: Known = []
        self.surface = KERNEL_SURFACE
        self._counts: dict[str, int] = {}
        self._shown = ""
        self._changed = ""  # the tool whose contract changed while it was looked at
        self._wanted_tool = ""  # for the cursor, once it is in the list

    def body(self) -> Iterable[Widget]:
        tools = Panel(RowList(CONTRACT.columns["list"], id="contracts"), views=VIEWS, id="tools")
        yield self.split(tools, Panel(DocumentView(id="contract"), title="Contract", id="change"))

    @property
    def rows(self) -> RowList:
        return self.query_one("#contracts", RowList)

    def refresh_records(self) -> None:
        surface = self.surface
        self.read("contracts", lambda: self._load(surface), lambda found: self._show(surface, *found))

    def _load(self, surface: str) -> tuple[Known, dict[str, int]]:
        """Called in a worker."""
        stores = {name: self.records.baselines("rows", name) for name in VIEWS}
        entries = {name: store.entries() for name, store in stores.items()}
        known = [(entry, stores[surface].history(entry.tool_id)) for entry in ordered(entries[surface])]
        return known, {name: len(listed) for name, listed in entries.items()}

    def now(self) -> int:
        """Microseconds since the epoch."""
        return int(self.records.clock.now() * 1e6)

    def _show(self, surface: str, known: Known, counts: dict[str, int]) -> None:
        if surface != self.surface:
            return  # another one was asked for meanwhile
        self._counts = counts
        before = {(entry.tool_id, entry.live_fingerprint) for entry in self._marked()}
        current = self.current
        self.known = known
        names = [entry.tool_id for entry, _ in known]
        listing = self.rows.listing
        listing.marked = {
            number
            for number, (entry, _) in enumerate(known)
            if (entry.tool_id, entry.live_fingerprint) in before
        }
        now = self.now()
        self.rows.put({number: row_of(CONTRACT, entry, now) for number, (entry, _) in enumerate(known)})
        self.rows.show(range(len(known)), EMPTY[self.surface])
        wanted = self._wanted_tool or (current.tool_id if current else "")
        if wanted in names:
            self.rows.select(names.index(wanted))
            self._wanted_tool = ""
        self.move_on()
        self._show_detail()
        self._note_change(current)
        self.show_status()

    def _note_change(self, before: ContractEntry | None) -> None:
        """Remember that the contract under the cursor became another one while it was looked at, and say so."""
        now = self.current
        if before is None or now is None or before.tool_id != now.tool_id:
            return
        if before.live_fingerprint != now.live_fingerprint:
            self._changed = now.tool_id
            self.console_app.say(f"{now.tool_id} changed just now: review it again")

    def waiting(self) -> Sequence[int]:
        return [number for number, (entry, _) in enumerate(self.known) if entry.approvable]

    @property
    def current(self) -> ContractEntry | None:
        """The tool under the cursor."""
        number = self.rows.listing.current
        return None if number is None or number >= len(self.known) else self.known[number][0]

    @on(RowList.Highlighted)
    def _highlighted(self, message: RowList.Highlighted) -> None:
        if self.current is None or self.current.tool_id != self._changed:
            self._changed = ""  # another one is looked at
        self._show_detail()

    def _show_detail(self) -> None:
        number = self.rows.listing.current
        fields: Sequence[Any] = []
        name = ""
        if number is not None and number < len(self.known):
            entry, history = self.known[number]
            fields, name = contract_document(entry, history, self.now()), entry.tool_id
        changed = self.current is not None and bool(self.current.changes)
        self.query_one("#change", Panel).retitle("What changed" if changed else "Contract")
        self.query_one(DocumentView).show(fields, same_record=name == self._shown)
        self._shown = name

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        self.focus_on(self.query_one(DocumentView))

    def find(self, tool_id: str) -> None:
        """Put the cursor on a tool, once it is in the list."""
        names = [entry.tool_id for entry, _ in self.known]
        if tool_id in names:
            self.rows.select(names.index(tool_id))
        else:
            self._wanted_tool = tool_id

    def pointed_at(self) -> Pointed:
        return Subject(tool_id=self.current.tool_id) if self.current else None

    def start_over(self) -> None:
        self.known = []
        self.rows.start_over()

    def command(self) -> str:
        if self.current is None:
            return ""
        return f"sb runtime-guard show {self.surface} {shlex.quote(self.current.tool_id)}"

    def view_counts(self) -> Mapping[str, int]:
        return self._counts

    def foot(self) -> Sequence[str]:
        amiss = len(self.waiting())
        return (f"{count(amiss)} to approve" if amiss else "",)

    def _marked(self) -> list[ContractEntry]:
        marked = sorted(self.rows.listing.marked)
        return [self.known[number][0] for number in marked if number < len(self.known)]

    def _chosen(self) -> list[ContractEntry]:
        """The marked contracts, or else the one under the cursor."""
        return self._marked() or ([self.current] if self.current is not None else [])

    def possible(self, action: Action) -> bool:
        if action.id == "approve":
            return any(entry.approvable for entry in self._chosen())
        return super().possible(action)

    def action_view(self, by: int) -> None:
        """Show how tools are undone, or their contracts again."""
        self.step_view(by)

    @on(Panel.Viewed)
    def _viewed(self, message: Panel.Viewed) -> None:
        self.surface = message.view
        self.rows.start_over()
        self.refresh_records()

    def action_approve(self) -> None:
        chosen = self._chosen()
        changed, self._changed = self._changed, ""
        if changed in [entry.tool_id for entry in chosen]:
            self.console_app.say(f"{changed} changed while you looked at it: review it again, then press a")
            return
        chosen = [entry for entry in chosen if entry.approvable]
        if chosen:
            self.ask(contract_question(chosen, self.surface), [chosen], self._approve)
        else:
            self.console_app.say("nothing to approve: this contract is approved, or missing")

    def _approve(self, entries: list[ContractEntry], by: Decider, reason: str) -> str:
        contracts = {entry.tool_id: entry.live_fingerprint for entry in entries}
        self.records.baselines("write", entries[0].surface).approve(contracts, by, reason)
        return approved_contracts(list(contracts), entries[0].surface)
