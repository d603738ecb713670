"""Tool contracts: which need a look first, and the cells of their lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sb.base.text import counted, revealed_line
from sb.base.values.frozen import frozen
from sb.kernel.baselines.store import BaselineStatus, ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE

_CHANGES = {
    BaselineStatus.NEW: "never approved",
    BaselineStatus.CHANGED: "cannot be compared",
    BaselineStatus.MISSING: "no process has it now",
    BaselineStatus.UNREADABLE: "its approval cannot be read",
}
SHORT = 19  # characters of a fingerprint in a table: sha256: and 12 digits
_ORDER = (BaselineStatus.UNREADABLE, BaselineStatus.CHANGED, BaselineStatus.NEW, BaselineStatus.MISSING)


@frozen
class ContractLine:
    """One tool's contract, cell by cell."""

    tool: str
    status: str
    kind: str
    source: str
    fingerprint: str
    approved_by: str


def ordered(entries: Sequence[ContractEntry]) -> list[ContractEntry]:
    """Those that need a look first."""
    return sorted(entries, key=lambda entry: (_rank(entry.status), entry.tool_id))


def changed_fields(entry: ContractEntry) -> list[str]:
    """The fields of a contract that changed since it was approved, by the first part of their paths."""
    return list(dict.fromkeys(re.split(r"[.\[]", change.path)[0] for change in entry.changes))


def change_text(entry: ContractEntry) -> str:
    """A contract's change since its approval, in two or three words; "" for none."""
    fields = changed_fields(entry)
    if entry.status is BaselineStatus.CHANGED and fields:
        return fields[0] if len(fields) == 1 else counted(len(fields), "field")
    return _CHANGES.get(entry.status, "")


def _rank(status: BaselineStatus) -> int:
    return _ORDER.index(status) if status in _ORDER else len(_ORDER)


def contract_line(entry: ContractEntry) -> ContractLine:
    """A contract as lists show it."""
    document = entry.live_document or entry.baseline_document
    return ContractLine(
        entry.tool_id,
        str(entry.status),
        str(document.get("safety_class") or document.get("reversal_class") or "?"),
        entry.source,
        entry.live_fingerprint[:SHORT] or "-",
        entry.baseline.by if entry.baseline else "-",
    )


def approved_contracts(tools: Sequence[str], surface: str) -> str:
    """The consequence of approved contracts."""
    names = revealed_line(tools[0]) if len(tools) == 1 else counted(len(tools), "tool")
    if surface == KERNEL_SURFACE:
        return f"Approved: agents may call {names} as shown."
    return f"Approved: {names} may be undone as shown."
