"""Events of the log: one verdict word each, what it is about, and who."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sb.kernel.calls.narrative import describe
from sb.kernel.results import ToolErrorCode
from sb.log.event import Event
from sb.log.event_log import EventLog
from sb.log.kinds import (
    APPROVAL_APPROVED,
    APPROVAL_DENIED,
    APPROVAL_EXPIRED,
    APPROVAL_REQUESTED,
    APPROVAL_REVOKED,
    APPROVAL_USED,
    BASELINE_CHANGED,
    BUDGET_EXCEEDED,
    GRANT_MADE,
    GRANT_REVOKED,
    INCIDENT_CLOSED,
    INCIDENT_OPENED,
    KILL_LIFTED,
    KILL_THROWN,
    MEMORY_GET,
    MEMORY_PUT,
    OPERATOR_CHANGED,
    PRUNED,
    RECOVERY_BEGUN,
    RECOVERY_DECIDED,
    RECOVERY_DISMISSED,
    RECOVERY_ESCALATED,
    RECOVERY_INVALIDATED,
    RECOVERY_PURGED,
    RECOVERY_SETTLED,
    RUN_FINISHED,
    RUN_STARTED,
    SESSION_CONFLICT,
    SESSION_TOLD,
    TOOL_POLICY_BLOCKED,
    WORKFLOW_SETTLED,
)
from sb.log.search import events_at
from sb.present.calls import call_object
from sb.present.states import State, fact
from sb.text import plain

_WORDS = {
    RUN_STARTED: "started",
    RUN_FINISHED: "ended",
    APPROVAL_REQUESTED: "asked",
    APPROVAL_APPROVED: "approved",
    APPROVAL_DENIED: "denied",
    APPROVAL_REVOKED: "revoked",
    APPROVAL_EXPIRED: "expired",
    APPROVAL_USED: "used",
    GRANT_MADE: "granted",
    GRANT_REVOKED: "revoked",
    BASELINE_CHANGED: "approved",
    RECOVERY_INVALIDATED: "changed",
    RECOVERY_DECIDED: "recovery",
    RECOVERY_ESCALATED: "reversal",
    RECOVERY_DISMISSED: "dismissed",
    RECOVERY_BEGUN: "started",
    RECOVERY_SETTLED: "settled",
    RECOVERY_PURGED: "purged",
    WORKFLOW_SETTLED: "settled",
    PRUNED: "pruned",
    KILL_THROWN: "stopped",
    KILL_LIFTED: "lifted",
    INCIDENT_OPENED: "opened",
    INCIDENT_CLOSED: "closed",
    OPERATOR_CHANGED: "operators",
    SESSION_CONFLICT: "conflict",
    SESSION_TOLD: "notified",
    MEMORY_PUT: "saved",
    MEMORY_GET: "read",
    TOOL_POLICY_BLOCKED: "denied",
    BUDGET_EXCEEDED: "denied",
}
_ASKS = "requires_approval"  # the rule of a call that waits for a person
_DENIES = (ToolErrorCode.PERMISSION_DENIED, ToolErrorCode.BUDGET_EXCEEDED)
# Events whose object is the call that they name, and not the call's arguments.
_ABOUT_A_TOOL = ("approval.", "grant.", "recovery.")


@dataclass(frozen=True)
class EventLine:
    """One event, cell by cell.

    Args:
        at: microseconds since the epoch.
        why: the reason or the error that goes with it, or "".
    """

    seq: int
    verdict: State
    object: str
    agent: str
    at: int
    why: str


def verdict(event: Event) -> State:
    """The one word for an event, with its tone."""
    return fact(_word(event, event.payload or {}))


def _word(event: Event, payload: Mapping[str, Any]) -> str:
    match payload.get("phase"):
        case "intent":
            return "started"
        case "outcome":
            return _outcome(payload)
        case "in_doubt":
            return "unknown"
        case "replayed":
            return "replayed"
        case "settled":
            return "settled"
        case "refused":
            return _refusal(payload)
    if event.kind == RUN_FINISHED and payload.get("error"):
        return "failed"
    return _WORDS.get(event.kind, "event")


def _outcome(payload: Mapping[str, Any]) -> str:
    words = {"in_doubt": "unknown", "failed": "failed", "unreported": "unreported"}
    if payload.get("state") in words:
        return words[str(payload["state"])]
    return "undone" if payload.get("reverses") else "ok"


def _refusal(payload: Mapping[str, Any]) -> str:
    """Asked a person, was denied, or could not be a call at all."""
    if payload.get("rule") == _ASKS:
        return "asked"
    return "denied" if payload.get("code") in _DENIES else "failed"


def event_line(event: Event, args: Any = None) -> EventLine:
    """An event as lists show it.

    Args:
        args: of the call that it ends, from the event that announced it.
    """
    payload = event.payload or {}
    why = payload.get("reason") or payload.get("error") or payload.get("cause") or ""
    return EventLine(
        event.seq,
        verdict(event),
        _object(event, payload, args),
        plain(event.subject.agent, one_line=True),
        event.at,
        plain(str(why), one_line=True),
    )


def _object(event: Event, payload: Mapping[str, Any], args: Any) -> str:
    args = payload.get("args", args)
    tool_id = event.subject.tool_id
    if tool_id and args is not None:
        return call_object(tool_id, args)
    if tool_id and (event.kind.startswith("kernel.") or event.kind.startswith(_ABOUT_A_TOOL)):
        return plain(tool_id, one_line=True)
    if event.kind == RUN_STARTED:
        return plain(str(payload.get("intent") or payload.get("project") or "a run"), one_line=True)
    if event.kind == RUN_FINISHED:
        return plain(str(payload.get("error") or "the run"), one_line=True)
    return describe(event)


def event_lines(log: EventLog, seqs: Sequence[int]) -> dict[int, EventLine]:
    """Lines for these rows of the log, by their numbers; one that is missing in the log is missing here.

    The call of an outcome is read from the event that announced it, the call of a decision from its request. For a
    screenful, not for all.
    """
    found = events_at(log, seqs)
    announced = {seq: row for seq, event in found.items() if (row := _announced_in(event))}
    intents = events_at(log, sorted(set(announced.values()))) if announced else {}
    requests = _requested(log, [event for event in found.values() if _decides(event)])
    lines = {}
    for seq, event in found.items():
        intent = intents.get(announced.get(seq, 0))
        same = intent is not None and intent.subject.call_id == event.subject.call_id
        args = (intent.payload or {}).get("args") if intent is not None and same else None
        lines[seq] = event_line(event, requests.get(event.subject.call_id) if args is None else args)
    return lines


def _announced_in(event: Event) -> int:
    """The row that announced the call of an outcome; 0 where the event itself has the arguments."""
    payload = event.payload or {}
    intent = payload.get("intent")
    return intent if isinstance(intent, int) and "args" not in payload else 0


def _decides(event: Event) -> bool:
    return event.kind.startswith("approval.") and event.kind != APPROVAL_REQUESTED


def _requested(log: EventLog, events: Sequence[Event]) -> dict[str, Any]:
    """The arguments that people were asked about, by the id of the request."""
    names = sorted({event.subject.call_id for event in events})
    if not names:
        return {}
    rows = log.database.query(
        f"SELECT a.id, CASE WHEN json_valid(e.payload) THEN json_extract(e.payload, '$.args') END"
        f" FROM approvals AS a JOIN events AS e ON e.id = a.event_id WHERE a.id IN ({', '.join('?' * len(names))})",
        tuple(names),
    )
    return {name: _decoded(args) for name, args in rows if args is not None}


def _decoded(args: Any) -> Any:
    try:
        return json.loads(args)
    except (TypeError, ValueError):
        return args
