"""Contracts as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sb.screens.state.document import Change, Field, fields_of
from sb.screens.state.question import Question

from sb.base.text import counted, quoted_name
from sb.kernel.baselines.store import Baseline, BaselineStatus, ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE, REVERSAL_SURFACE
from sb.present.contracts import SHORT, changed_fields
from sb.present.decisions import approving_contracts
from sb.present.states import state

VIEWS = {KERNEL_SURFACE: "Tools", REVERSAL_SURFACE: "Undo"}


def contract_document(entry: ContractEntry, history: Sequence[Baseline], now: int) -> list[Field | Change]:
    """The document of a contract: changed and unchanged fields, and all its approvals; fingerprints are folded."""
    look = state(str(entry.status))
    fields: list[Field | Change] = [Field(entry.tool_id)]
    fields.append(Field("State", look.word, tone=look.tone, badge=look.badge))
    if entry.status is not BaselineStatus.APPROVED:
        fields.append(Field("Why", _WHY[entry.status]))
    if entry.status is BaselineStatus.CHANGED and not entry.changes:
        text = "the approved contract was never loaded here, so it cannot be compared"
        fields.append(Field("Changes", text, tone="warn"))
    document = entry.live_document or entry.baseline_document
    if entry.changes:
        fields.append(Field("What changed"))
        fields += [Change(change.path, change.before, change.after) for change in entry.changes]
        same = [quoted_name(name) for name in document if name not in changed_fields(entry)]
        fields += [Field("Unchanged"), Field("", ", ".join(same))] if same else []
        fields += [replace(field, folded=True) for field in fields_of(document)]
    else:
        fields += [Field("The contract"), *fields_of(document)]
    fields.append(Field("Approvals" if history else "Never approved"))
    fields += [Field(item.at[:16] + "Z", f"{item.by}: {item.reason}") for item in history]
    source = [Field("from", entry.source, folded=True)] if entry.source else []
    approved = [Field("approved", item.fingerprint, folded=True) for item in history[-1:]]
    live = Field("fingerprint", entry.live_fingerprint or "none: it is missing", folded=True)
    return [*fields, *source, *approved, live]


_WHY = {
    BaselineStatus.NEW: "never approved",
    BaselineStatus.CHANGED: "it is not what was approved",
    BaselineStatus.MISSING: "no process that runs has this tool",
    BaselineStatus.UNREADABLE: "its approval cannot be read: approve it again",
}


def contract_question(entries: Sequence[ContractEntry], surface: str = KERNEL_SURFACE) -> Question:
    """The question before these contracts, or reversals, are approved."""
    count = len(entries)
    tools = [entry.tool_id for entry in entries]
    if surface == KERNEL_SURFACE:
        noun, consequence = "contract", approving_contracts(tools)
    else:
        noun, consequence = "reversal", "Reversals declared auto then run without asking anybody."
    title = f"Approve {counted(count, noun)}" if count > 1 else f"Approve this {noun}"
    lines = [line for entry in entries for line in _changed(entry, alone=count == 1)]
    objects, looks = tuple(text for text, _ in lines), tuple(look for _, look in lines)
    return Question(title, objects, (), consequence, tuple(tools), looks=looks if any(looks) else ())


def _changed(entry: ContractEntry, *, alone: bool) -> list[tuple[str, str]]:
    """The changes that an approval would let in, with their looks; of several tools a line each."""
    line = f"{entry.tool_id}: {entry.status}"
    if not alone:
        differ = f", {counted(len(entry.changes), 'field')} differ" if entry.changes else ""
        return [(f"{line}{differ} ({entry.live_fingerprint[:SHORT]})", "")]
    signs = [
        (sign, change.path, value, look)
        for change in entry.changes
        for sign, value, look in (("-", change.before, "del"), ("+", change.after, "add"))
    ]
    return [
        (f"{line} ({entry.live_fingerprint[:SHORT]})", ""),
        *((f"{sign} {path}: {value}", look) for sign, path, value, look in signs if value is not None),
    ]
