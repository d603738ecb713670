"""Contracts as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.state.document import Change, Field, fields_of
from sb.screens.state.listing import WIDE, Column, Row
from sb.screens.state.question import Question

from sb.kernel.baselines.store import Baseline, BaselineStatus, ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE
from sb.present.contracts import SHORT, contract_line
from sb.present.counts import counted
from sb.present.decisions import approving_contracts

CONTRACT_COLUMNS = (
    Column("status", 10),
    Column("tool", 26),
    Column("class", 14),
    Column("first met (UTC)", 15, least=WIDE),
    Column("from", 16, least=WIDE),
    Column("approved by"),
)
_TONES = {BaselineStatus.APPROVED: "ok", BaselineStatus.NEW: "warn", BaselineStatus.MISSING: "muted"}


def contract_row(entry: ContractEntry) -> Row:
    line = contract_line(entry)
    cells = (line.status, line.tool, line.kind, line.first_met, line.source, line.approved_by)
    return Row(cells, _TONES.get(entry.status, "error"))


def contract_document(entry: ContractEntry, history: Sequence[Baseline]) -> list[Field | Change]:
    """What changed since it was approved, the contract itself, and all its approvals."""
    fields: list[Field | Change] = [Field(f"{entry.status}: {entry.tool_id}")]
    if entry.baseline is not None:
        fields.append(Field("approved", entry.baseline.fingerprint))
    fields.append(Field("live", entry.live_fingerprint or "missing"))
    if entry.changes:
        fields.append(Field("what changed: approved, then live"))
        fields += [Change(change.path, change.before, change.after) for change in entry.changes]
    elif entry.status is BaselineStatus.CHANGED:
        fields.append(Field("", "the approved contract was never loaded here, so it cannot be compared"))
    fields.append(Field("the contract"))
    fields += fields_of(entry.live_document or entry.baseline_document)
    fields.append(Field("approvals" if history else "never approved"))
    fields += [
        Field(item.at[:16] + "Z", f"{item.by}: {item.reason} ({item.fingerprint})") for item in history
    ]
    return fields


def contract_question(entries: Sequence[ContractEntry], surface: str = KERNEL_SURFACE) -> Question:
    """What to ask before these contracts, or reversals, are approved."""
    count = len(entries)
    tools = [entry.tool_id for entry in entries]
    if surface == KERNEL_SURFACE:
        noun, consequence = "contract", approving_contracts(tools)
    else:
        noun, consequence = "reversal", "Reversals declared auto then run without asking anybody."
    title = f"Approve {counted(count, noun)}" if count > 1 else f"Approve this {noun}"
    objects = [line for entry in entries for line in _changed(entry, alone=count == 1)]
    return Question(title, tuple(objects), (), consequence, tuple(tools))


def _changed(entry: ContractEntry, *, alone: bool) -> list[str]:
    """What an approval would let in; of several tools a line each."""
    line = f"{entry.tool_id}: {entry.status}"
    if not alone:
        differ = f", {counted(len(entry.changes), 'field')} differ" if entry.changes else ""
        return [f"{line}{differ} ({entry.live_fingerprint[:SHORT]})"]
    signs = [
        (sign, change.path, value)
        for change in entry.changes
        for sign, value in (("-", change.before), ("+", change.after))
    ]
    return [
        f"{line} ({entry.live_fingerprint[:SHORT]})",
        *(f"{sign} {path}: {value}" for sign, path, value in signs if value is not None),
    ]
