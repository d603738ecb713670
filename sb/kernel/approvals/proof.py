"""Verify on the log that people approved exactly this call, and that nobody took it back.

The rows of the queue are for finding. What is read here are the events under an approval's or grant's id: each has
to be what was written, to be about the same binding, and to carry the signature of somebody who may decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sb.base.values.canonical import canonical_bytes, digest
from sb.errors import DeniedError
from sb.kernel.approvals.disclosure import SHOWN
from sb.kernel.approvals.queue import over
from sb.kernel.authority.authority import Authority
from sb.kernel.calls.approval import Approval, Grant
from sb.log.event import Event
from sb.log.event_log import EventLog
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
from sb.log.people_events import people_events

_ENDED = {
    APPROVAL_DENIED: "it was denied",
    APPROVAL_REVOKED: "it was revoked",
    APPROVAL_EXPIRED: "it has expired",
    APPROVAL_USED: "it was used already",
    GRANT_REVOKED: "it was revoked",
}


def binding_digest(binding: dict[str, Any]) -> str:
    return digest(canonical_bytes(binding))


def approvers(log: EventLog, authority: Authority, approval: Approval, displayed: str) -> tuple[str, ...]:
    """The operators who approved this call, each once.

    Args:
        displayed: the digest of everything that is displayed of it, or would be of the call that is about to run.

    Raises:
        DeniedError: it was changed, has ended, somebody decided who may not, or on the ground of something else.
        StoreCorrupt: an event about it was changed.
    """
    binding = approval.binding(log.database_id)
    events = people_events(log, approval.id)
    request = _first(events, APPROVAL_REQUESTED, binding)
    names: list[str] = []
    reason = ""
    for event in events:
        if event.kind == APPROVAL_APPROVED:
            name, statement = signatory(authority, event, "approve", binding)
            _compare(statement.get(SHOWN), displayed)
            refuse_requester(name, approval.agent, request)
            names.append(name)
            reason = str(statement.get("reason"))
    if names:
        _compare(request.get(SHOWN), displayed)
        if (approval.decided_by, approval.reason) != (", ".join(names), reason):
            raise DeniedError("who approved it, or why, is not what the log says", "sb log verify")
    return tuple(dict.fromkeys(names))


def _compare(signed: Any, displayed: str) -> None:
    """Raise DeniedError unless what a statement was made about is what is shown, or would run."""
    if not signed:
        raise DeniedError(
            "it was approved with an older version of SecondBrain, which did not sign what is displayed",
            "repeat the call to ask again",
        )
    if signed != displayed:
        raise DeniedError("what was approved is not what would run", "sb log verify")


def confirm_grant(log: EventLog, authority: Authority, grant: Grant) -> None:
    """Pass if a person made this grant as it is now and it still counts; raises like `approvers`."""
    binding = grant.binding(log.database_id)
    events = people_events(log, grant.id)
    _first(events, GRANT_MADE, binding)
    if over(log, grant.id, events[0].at, grant.expires_at, people=True):
        raise DeniedError("it has expired")
    name, statement = signatory(authority, events[0], "grant", binding)
    refuse_requester(name, grant.agent, {})
    if (grant.made_by, grant.reason) != (name, statement.get("reason")):
        raise DeniedError("who made it, or why, is not what the log says", "sb log verify")


def _first(events: list[Event], kind: str, binding: dict[str, Any]) -> dict[str, Any]:
    """The payload of the first event, if it made this very record and nothing has ended it; else {}."""
    if not events or [event.kind for event in events].count(kind) != 1 or events[0].kind != kind:
        raise DeniedError("the log has no record of it", "it was put into the database by something else")
    payload = events[0].payload or {}
    if payload.get("binding") != binding:
        raise DeniedError("it is not what is on the log: it was changed in the database", "sb log verify")
    for event in events:
        if event.kind in _ENDED:
            raise DeniedError(_ENDED[event.kind])
    return payload


def signatory(
    authority: Authority, event: Event, action: str, binding: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The signatory of a decision event, and the signed statement."""
    signed = (event.payload or {}).get("signed")
    statement = signed.get("statement") if isinstance(signed, dict) else None
    if not isinstance(signed, dict) or not isinstance(statement, dict):
        raise DeniedError("the decision on it has no statement")
    if statement.get("action") != action or statement.get("binding") != binding_digest(binding):
        raise DeniedError("the decision on it is about something else")
    return authority.verify(signed, event), statement


def refuse_requester(name: str, agent: str, request: Mapping[str, Any]) -> None:
    """Raise DeniedError when who decides is who asked, for whom it was asked, or whose call it would undo."""
    recovery = request.get("recovery")
    whose = recovery.get("of_agent") if isinstance(recovery, dict) else None
    if name in (agent, request.get("user_sid"), whose):
        raise DeniedError(f"{name} asked for it and cannot decide it", "another operator has to")
