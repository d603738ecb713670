"""Tool contracts: which need a look first, and the cells of their lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sb.base.text import counted, revealed_line
from sb.kernel.baselines.store import BaselineStatus, ContractEntry
from sb.kernel.contracts import KERNEL_SURFACE
from sb.present.effects import effect_word
from sb.present.kind import ROOMY, WIDE, Column, Field, Kind
from sb.present.states import SOFT, state
from sb.present.times import ago

_CHANGES = {
    BaselineStatus.NEW: "never approved",
    BaselineStatus.CHANGED: "cannot be compared",
    BaselineStatus.MISSING: "no process has it now",
    BaselineStatus.UNREADABLE: "its approval cannot be read",
}
_UNDO = {"reversible": "undoable", "compensable": "makes up", "irreversible": "no undo"}
SHORT = 19  # characters of a fingerprint in a table: sha256: and 12 digits
_ORDER = (BaselineStatus.UNREADABLE, BaselineStatus.CHANGED, BaselineStatus.NEW, BaselineStatus.MISSING)


def ordered(entries: Sequence[ContractEntry]) -> list[ContractEntry]:
    """Those that need a look first."""
    return sorted(entries, key=lambda entry: (_rank(entry.status), entry.tool_id))


def changed_fields(entry: ContractEntry) -> list[str]:
    """The fields of a contract that changed since it was approved, by the first part of their paths."""
    return list(dict.fromkeys(re.split(r"[.\[]", change.path)[0] for change in entry.changes))


def class_change(entry: ContractEntry) -> str:
    """Another safety class than the approved one, since it says what the tool may do; "" for none."""
    wider = next((it for it in entry.changes if it.path == "safety_class"), None)
    if wider is None:
        return ""
    others = len(changed_fields(entry)) - 1
    more = f" and {counted(others, 'more field')}" if others else ""
    return f"{_class_word(wider.before)} → {_class_word(wider.after)}{more}"


def change_text(entry: ContractEntry) -> str:
    """A contract's change since its approval, in a few words; "" for none."""
    fields = changed_fields(entry)
    if entry.status is BaselineStatus.CHANGED and fields:
        return class_change(entry) or (fields[0] if len(fields) == 1 else counted(len(fields), "field"))
    return _CHANGES.get(entry.status, "")


def _class_word(value: str | None) -> str:
    """A safety class in a change, which is JSON text."""
    return (value or "none").strip('"')


def _rank(status: BaselineStatus) -> int:
    return _ORDER.index(status) if status in _ORDER else len(_ORDER)


def _document(entry: ContractEntry) -> dict[str, Any]:
    return entry.live_document or entry.baseline_document


def _class(entry: ContractEntry, now: int) -> str:
    return str(_document(entry).get("safety_class") or _document(entry).get("reversal_class") or "?")


def _purpose(entry: ContractEntry, now: int) -> str:
    """The description of a tool, or of a reversal the tool that performs it."""
    return str(_document(entry).get("description") or _document(entry).get("compensation_capability") or "")


CONTRACT = Kind[ContractEntry](
    Field("tool", lambda it, now: it.tool_id),
    Field("status", lambda it, now: str(it.status)),
    Field("class", _class),
    Field("from", lambda it, now: it.source),
    Field("approved by", lambda it, now: it.baseline.by if it.baseline else "-"),
    Field("contract", lambda it, now: it.live_fingerprint[:SHORT] or "-"),
    Field("state", lambda it, now: state(str(it.status)), Column(10, badges=True)),
    Field("changes", lambda it, now: "  ".join(filter(None, (it.tool_id, change_text(it)))), title="tool"),
    Field("purpose", _purpose, Column(26, WIDE, SOFT, most=80, enough=34)),
    Field(
        "effect",
        lambda it, now: _UNDO.get(_class(it, now)) or effect_word(_class(it, now)),
        Column(8, 44, SOFT),
        title="class",
    ),
    Field("age", lambda it, now: ago(it.first_seen_at, now), Column(8, tone=SOFT, right=True)),
    Field("approved", lambda it, now: f"by {it.baseline.by}" if it.baseline else "", Column(15, ROOMY, SOFT)),
    faces={
        "table": "tool,status,class,from,approved by,contract",
        "list": "state,changes,purpose,effect,age,approved",
        "plain": "state,changes,effect,age,approved",
    },
    json={
        "surface tool_id status live_fingerprint source": "string",
        "live_document baseline_document": "object",
        "baseline": "baseline|null",
        "first_seen_at": "time|null",
        "changes": [{"path": "string", "before": "any", "after": "any"}],
    },
)


def approved_contracts(tools: Sequence[str], surface: str) -> str:
    """The consequence of approved contracts."""
    names = revealed_line(tools[0]) if len(tools) == 1 else counted(len(tools), "tool")
    if surface == KERNEL_SURFACE:
        return f"Approved: agents may call {names} as shown."
    return f"Approved: {names} may be undone as shown."
