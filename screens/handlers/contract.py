"""The handler of contracts: what changed in one, and its approval."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sb.screens.deciding import Deciding
from sb.screens.handlers.handler import Handler
from sb.screens.state.contracts import contract_document, contract_question
from sb.screens.state.document import Document, Field
from sb.screens.state.runs import newest_calls

from sb.base.values.frozen import frozen
from sb.kernel.authority.signing import Decider
from sb.kernel.baselines.store import Baseline, ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE
from sb.log.event import Subject
from sb.present.contracts import approved_contracts

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed


@frozen
class ReadContract:
    """A contract, who approved which version of it, and what the tool was called for."""

    entry: ContractEntry
    history: Sequence[Baseline]
    calls: Sequence[Field] = ()


class ContractHandler(Handler[ReadContract]):
    """Approves contracts of tools, or of how they are undone; a reference is the name of a tool.

    Args:
        surface: of the contracts.
    """

    title = "Contract"
    several = True

    def __init__(self, screen: Deciding, changed: Callable[[], None], surface: str = KERNEL_SURFACE) -> None:
        super().__init__(screen, changed)
        self._surface = surface
        self._seen: ContractEntry | None = None  # as it was read last
        self._changed = ""  # the tool whose contract became another one while it was looked at

    def load(self, reference: str) -> ReadContract | None:
        calls = newest_calls(self.records.log("rows"), "Newest calls", self.now(), tool=reference)
        return replace(self.load_for_dialog(reference), calls=calls)

    def load_for_dialog(self, reference: str) -> ReadContract:
        store = self.records.baselines("rows", self._surface)
        return ReadContract(store.entry(reference), store.history(reference))

    def was_read(self) -> None:
        before, self._seen = self._seen, self.item.entry if self.item else None
        if before is None or self._seen is None or before.tool_id != self._seen.tool_id:
            self._changed = ""
        elif before.live_fingerprint != self._seen.live_fingerprint:
            self._changed = before.tool_id
            self.say(f"{before.tool_id} changed just now: review it again")

    def document(self) -> Document:
        if self.item is None:
            return []
        return [*contract_document(self.item.entry, self.item.history, self.now()), *self.item.calls]

    def possible(self, action: str) -> bool:
        return action == "approve" and self.item is not None and self.item.entry.approvable

    def command(self) -> str:
        return f"sb runtime-guard show {self._surface} {shlex.quote(self.reference)}"

    def pointed_at(self) -> Pointed:
        return Subject(tool_id=self.reference) if self.reference else None

    def deny(self, references: Sequence[str] = ()) -> None:
        self.say("a contract is not denied: calls count as unapproved until a approves it; K stops its tool")

    def approve(self, references: Sequence[str] = ()) -> None:
        self.chosen(references, self._ask)

    def _ask(self, found: list[ReadContract]) -> None:
        looked_at = self.item.entry if self.item else None
        for read in found:
            if looked_at is None or read.entry.tool_id != looked_at.tool_id:
                continue
            if self._changed or read.entry.live_fingerprint != looked_at.live_fingerprint:
                self.item, self._seen, self._changed = read, read.entry, ""
                self.changed()
                self.say(
                    f"{read.entry.tool_id} changed while you looked at it: review it again, then press a"
                )
                return
        entries = [read.entry for read in found if read.entry.approvable]
        if entries:
            self.screen.ask(contract_question(entries, self._surface), [entries], self._approve)
        else:
            self.say("nothing to approve: this contract is approved, or missing")

    def _approve(self, entries: list[ContractEntry], by: Decider, reason: str) -> str:
        contracts = {entry.tool_id: entry.live_fingerprint for entry in entries}
        self.records.baselines("write", self._surface).approve(contracts, by, reason)
        text = approved_contracts(list(contracts), self._surface)
        for tool in contracts:
            self.screen.note_outcome(tool, text)
        return text
