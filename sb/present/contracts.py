"""Tool contracts: which need a look first, and the cells of their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sb.kernel.baselines.store import BaselineStatus, ContractEntry
from sb.present.times import moment

SHORT = 19  # characters of a fingerprint in a table: sha256: and 12 digits
_ORDER = (BaselineStatus.UNREADABLE, BaselineStatus.CHANGED, BaselineStatus.NEW, BaselineStatus.MISSING)


@dataclass(frozen=True)
class ContractLine:
    """One tool's contract, cell by cell."""

    tool: str
    status: str
    kind: str
    first_met: str
    source: str
    fingerprint: str
    approved_by: str


def ordered(entries: Sequence[ContractEntry]) -> list[ContractEntry]:
    """Those that need a look first."""
    return sorted(entries, key=lambda entry: (_rank(entry.status), entry.tool_id))


def _rank(status: BaselineStatus) -> int:
    return _ORDER.index(status) if status in _ORDER else len(_ORDER)


def contract_line(entry: ContractEntry) -> ContractLine:
    """A contract as lists show it."""
    document = entry.live_document or entry.baseline_document
    return ContractLine(
        entry.tool_id,
        str(entry.status),
        str(document.get("safety_class") or document.get("reversal_class") or "?"),
        "-" if entry.first_seen_at is None else moment(entry.first_seen_at),
        entry.source,
        entry.live_fingerprint[:SHORT] or "-",
        entry.baseline.by if entry.baseline else "-",
    )
