"""Compare the tables of approvals and grants with the log's events."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from sb.log.kinds import (
    APPROVAL_APPROVED,
    APPROVAL_DENIED,
    APPROVAL_EXPIRED,
    APPROVAL_REQUESTED,
    APPROVAL_REVOKED,
    APPROVAL_USED,
    GRANT_MADE,
    GRANT_REVOKED,
)
from sb.store import driver

Report = Callable[[str], object]
Execute = Callable[..., driver.Cursor]
CLOSE_US = 60_000_000  # a row's time is taken a moment before that of its event
UNCHECKED = {
    "approvals": {"waiter"}
}  # who waits just now: changes without an event, and marks a request overdue only
_TIMES = {"decided_at", "made_at", "last_used_at"}
_ENDS = {
    APPROVAL_DENIED: "denied",
    APPROVAL_REVOKED: "revoked",
    APPROVAL_EXPIRED: "expired",
    APPROVAL_USED: "used",
}


class DecisionTables:
    """Follows the events of one log, then compares approvals and grants with them."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, dict[str, Any]]] = {"approvals": {}, "grants": {}}
        self._names: dict[str, list[str]] = {}
        self._uses: Counter[str] = Counter()
        self._used_at: dict[str, int] = {}
        self._otherwise: set[str] = set()  # approvals that were signed for something else than was asked

    def follow(self, row: tuple[Any, ...], payload: dict[str, Any]) -> None:
        """Take in one event of a person's decision; one that makes no sense says nothing."""
        kind, reference = row[2], row[7]
        if kind == APPROVAL_REQUESTED:
            self._rows["approvals"][reference] = self._requested(row, payload)
        elif kind == GRANT_MADE:
            self._rows["grants"][reference] = self._granted(row, payload)
        elif kind == GRANT_REVOKED and reference in self._rows["grants"]:
            self._rows["grants"][reference]["state"] = "revoked"
        elif reference in self._rows["approvals"]:
            self._decided(row, self._rows["approvals"][reference], payload)

    def used(self, row: tuple[Any, ...], grant_id: str) -> None:
        """Take in the intent of a call that a grant let pass."""
        self._uses[grant_id] += 1
        self._used_at[grant_id] = row[1]

    @staticmethod
    def _requested(row: tuple[Any, ...], payload: dict[str, Any]) -> dict[str, Any]:
        names = ("fingerprint", "args_digest", "needed", "requested_at", "expires_at")
        found: dict[str, Any] = {name: _dict(payload.get("binding")).get(name) for name in names}
        found |= {"id": row[7], "run_id": row[3], "agent": row[5], "tool_id": row[6], "event_id": row[0]}
        found |= {"call_id": payload.get("asked_by"), "safety_class": payload.get("safety_class")}
        found |= {"shown": payload.get("shown")}
        found |= {"state": "waiting", "decided_at": None, "decided_by": "", "reason": ""}
        return found | ({"due_at": payload["due_at"]} if "due_at" in payload else {})

    @staticmethod
    def _granted(row: tuple[Any, ...], payload: dict[str, Any]) -> dict[str, Any]:
        bound, by = _dict(payload.get("binding")), _statement(payload)
        found = {
            name: bound.get(name) for name in ("agent", "tool_id", "fingerprint", "run_id", "expires_at")
        }
        found |= {"id": row[7], "state": "active", "args": json.dumps(bound.get("args")), "made_at": row[1]}
        return found | {"made_by": by.get("by"), "reason": by.get("reason"), "event_id": row[0]}

    def _decided(self, row: tuple[Any, ...], known: dict[str, Any], payload: dict[str, Any]) -> None:
        kind, by = row[2], _statement(payload)
        if kind == APPROVAL_APPROVED:
            names = self._names.setdefault(row[7], [])
            names.append(str(by.get("by")))
            if "shown" in by and by["shown"] != known["shown"]:
                self._otherwise.add(row[7])
            known["state"] = "approved" if len(names) >= (known["needed"] or 1) else "waiting"
            known |= {"decided_by": ", ".join(names), "decided_at": row[1], "reason": by.get("reason")}
        elif kind in _ENDS:
            known["state"] = _ENDS[kind]
            if kind in (APPROVAL_DENIED, APPROVAL_REVOKED):
                known |= {"decided_by": by.get("by"), "decided_at": row[1], "reason": by.get("reason")}

    def check(self, execute: Execute, report: Report, unclear: set[str]) -> None:
        """Compare, in the snapshot that was walked.

        Args:
            unclear: ids of which something was pruned.
        """
        for grant_id, known in self._rows["grants"].items():
            if not unclear:
                uses = self._uses[grant_id]
                known |= {"uses": uses, "last_used_at": self._used_at.get(grant_id)}
        for reference in sorted(self._otherwise - unclear):
            report(f"approvals {reference}: what was approved is not what was asked for")
        for table, expected in self._rows.items():
            self._compare(execute, report, table, expected, unclear)

    def _compare(
        self,
        execute: Execute,
        report: Report,
        table: str,
        expected: dict[str, dict[str, Any]],
        unclear: set[str],
    ) -> None:
        cursor = execute(f"SELECT * FROM {table}")
        columns = [column[0] for column in cursor.description]
        order = sorted(expected.values(), key=lambda known: int(known["event_id"]))
        numbers = {} if unclear else {known["id"]: number for number, known in enumerate(order, 1)}
        seen = set()
        for values in cursor.fetchall():
            found = dict(zip(columns, values, strict=True))
            reference = str(found["id"])
            seen.add(reference)
            known = expected.get(reference)
            if reference in unclear:
                continue
            if known is None:
                report(f"{table} {reference} is listed, and the log does not say so")
                continue
            wanted = known | ({"number": numbers[reference]} if numbers else {})
            for name in columns:
                if name in wanted and not _same(name, found[name], wanted[name]):
                    report(f"{table} {reference}: {name} is not what the log says")
        for reference in expected.keys() - seen - unclear:
            report(f"{table} {reference} is on the log and not listed")


def _same(name: str, found: Any, wanted: Any) -> bool:
    if name in _TIMES and isinstance(found, int) and isinstance(wanted, int):
        return -CLOSE_US <= found - wanted <= CLOSE_US
    if name == "args":
        try:
            return bool(json.loads(found) == json.loads(wanted))
        except (ValueError, TypeError, RecursionError):
            return False
    return bool(found == wanted)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _statement(payload: dict[str, Any]) -> dict[str, Any]:
    return _dict(_dict(payload.get("signed")).get("statement"))
