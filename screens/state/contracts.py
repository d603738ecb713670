"""Contracts as rows, documents and questions."""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.state.approvals import MOST_LINES, Question
from sb.screens.state.document import Change, Field, fields_of
from sb.screens.state.listing import WIDE, Column, Row

from sb.kernel.baselines.store import Baseline, BaselineStatus, ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE
from sb.present.contracts import SHORT, contract_line

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
    lines = []
    for entry in entries[:MOST_LINES]:
        changed = f", {len(entry.changes)} fields differ" if entry.changes else ""
        lines.append(f"{entry.tool_id}: {entry.status}{changed} ({entry.live_fingerprint[:SHORT]})")
    if len(entries) > MOST_LINES:
        lines.append(f"and {len(entries) - MOST_LINES:,} more")
    if surface == KERNEL_SURFACE:
        what, consequence = "contract", "Agents may then call these tools with exactly these contracts."
    else:
        what, consequence = "reversal", "Reversals declared auto then run without asking anybody."
    many = f"these {len(entries):,} {'contracts' if surface == KERNEL_SURFACE else 'reversals'}"
    title = f"Approve {f'this {what}' if len(entries) == 1 else many}?"
    return Question(title, (*lines, "", consequence), False, len(entries))
