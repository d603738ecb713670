"""An approval request as headings and lines for the person who decides."""

from __future__ import annotations

from typing import Any

from sb.base.duration import human_duration
from sb.base.sources import MICROSECONDS, iso_micros
from sb.base.text import revealed_line
from sb.kernel.calls.approval import OPEN, Approval

Section = tuple[str, list[str]]


def description(approval: Approval, now: int, arguments: list[str], reasons: list[str]) -> list[Section]:
    """Headings, each with its lines; the most important first. No text begins a line of its own, and none hides a part.

    Args:
        now: microseconds since the epoch.
        arguments: a line for each, as somebody who decides is shown them; reasons: a line for each why a person is asked.
    """
    request = approval.request
    sections: list[Section] = [
        ("state", [_state(approval, now)]),
        ("tool", [_tool(approval, request)]),
        ("arguments", arguments),
        ("reasons", reasons),
        ("asked by", [_requester(approval, request)]),
        ("run", [f"{approval.run_id}: {request.get('intent') or 'no intent given'}"]),
        ("contract", [_contract(approval, request)]),
        ("before", [str(line) for line in _list(request, "history")] or ["nothing in this run"]),
        ("earlier requests", [_earlier(request)]),
        ("asked at", [f"{_time(approval.requested_at)}, overdue from {_time(approval.due_at)}"]),
        ("expires", [_expiry(approval, now)]),
        ("request", [approval.id]),
    ]
    if approval.decided_at is not None:
        decided = f"{approval.decided_by} at {_time(approval.decided_at)}: {approval.reason}"
        sections.insert(1, ("decided by", [decided]))
    return [(heading, [revealed_line(line) for line in lines]) for heading, lines in sections]


def _state(approval: Approval, now: int) -> str:
    if approval.overdue(now):
        waited = "the process that waited has ended" if now <= approval.due_at else "not decided in time"
        return f"{approval.state}, overdue: {waited}"
    if approval.needed > 1:
        return f"{approval.state}; {approval.needed} people have to approve"
    return str(approval.state)


def _tool(approval: Approval, request: dict[str, Any]) -> str:
    about = f": {request['description']}" if request.get("description") else ""
    return f"{approval.tool_id} ({approval.safety_class}){about}"


def _list(request: dict[str, Any], key: str) -> list[Any]:
    """The list in an event's field; [] for anything else, since the event may have been edited."""
    value = request.get(key)
    return value if isinstance(value, list) else []


def _requester(approval: Approval, request: dict[str, Any]) -> str:
    details = [f"agent {approval.agent}"]
    details += [f"{word} {request[key]}" for key, word in _ABOUT if request.get(key)]
    return ", ".join(details)


_ABOUT = (("user_sid", "for user"), ("session_id", "session"), ("step", "step"))


def _contract(approval: Approval, request: dict[str, Any]) -> str:
    status = request.get("tool_contract_status", "unknown")
    baseline = request.get("tool_contract_baseline")
    against = f", against the approved baseline: {baseline}" if baseline else ""
    return f"{approval.fingerprint}, since registration: {status}{against}"


def _earlier(request: dict[str, Any]) -> str:
    earlier = request.get("earlier")
    if not isinstance(earlier, dict):
        return "none of this agent for this tool"
    return "of this agent for this tool: " + ", ".join(f"{count} {state}" for state, count in earlier.items())


def _expiry(approval: Approval, now: int) -> str:
    when = _time(approval.expires_at)
    if approval.state not in OPEN:
        return when
    return (
        f"{when}, in {human_duration((approval.expires_at - now) / MICROSECONDS)}; then it counts as denied"
    )


def _time(at: int) -> str:
    return iso_micros(at)[:19] + "Z"
