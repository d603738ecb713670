"""Context of a request for an operator: the calls before it, the agent's requests, and the deciders."""

from __future__ import annotations

from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen
from sb.errors import StoreCorrupt
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.approval import Approval
from sb.kernel.review.activity import DAY_S
from sb.kernel.review.agents import AgentRequests, agent_requests
from sb.kernel.review.calls import CallRecord, calls_at, run_calls
from sb.kernel.review.needs import CallOrigin, call_origins
from sb.log.event_log import EventLog
from sb.log.kinds import APPROVAL_APPROVED, APPROVAL_DENIED, APPROVAL_REVOKED
from sb.log.people_events import people_events

HISTORY_DAYS = 30
_VERBS = {APPROVAL_APPROVED: "approved", APPROVAL_DENIED: "denied", APPROVAL_REVOKED: "revoked"}


@frozen
class Decided:
    """One decision about a request; `at` in microseconds since the epoch."""

    verb: str
    by: str
    reason: str
    at: int


@frozen
class RequestContext:
    """The context of a request.

    Args:
        before: the calls of its run before it, the newest first.
        history: what became of the agent's requests of the last HISTORY_DAYS days.
        decisions: oldest first; of dual control there are two.
        problem: why the decisions cannot be relied on, or "".
    """

    origin: CallOrigin
    before: tuple[CallRecord, ...]
    history: AgentRequests
    decisions: tuple[Decided, ...]
    problem: str = ""


def request_context(log: EventLog, approval: Approval, *, most: int = 5) -> RequestContext:
    """The context of a request.

    Args:
        most: calls before it.
    """
    rows = log.database.query("SELECT event_id FROM approvals WHERE id = ?", (approval.id,))
    asked = rows[0][0] - log.first_id if rows else 0
    firsts = run_calls(log, approval.run_id, before=asked, limit=most) if asked else ()
    found = calls_at(log, firsts)
    since = ApprovalQueue(log).now() - HISTORY_DAYS * DAY_S * MICROSECONDS
    decisions, problem = _decisions(log, approval.id)
    return RequestContext(
        call_origins(log, [approval.run_id]).get(approval.run_id, CallOrigin()),
        tuple(found[first] for first in firsts if first in found),
        agent_requests(log, approval.agent, since),
        decisions,
        problem,
    )


def _decisions(log: EventLog, approval_id: str) -> tuple[tuple[Decided, ...], str]:
    """The decisions about a request, and why they cannot be relied on."""
    try:
        events = people_events(log, approval_id)
    except StoreCorrupt as error:
        return (), error.message
    decided = [
        Decided(_VERBS[event.kind], str(payload.get("by", "")), str(payload.get("reason", "")), event.at)
        for event in events
        if event.kind in _VERBS and (payload := event.payload or {})
    ]
    return tuple(decided), ""
