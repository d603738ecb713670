"""Facts recorded with an approval request: reasons, arguments, requester, and earlier calls."""

from __future__ import annotations

from typing import Any

from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.calls.call import ToolCall
from sb.kernel.calls.consequence import money
from sb.log.event import EVENT_COLUMNS
from sb.log.kinds import BUDGET_EXCEEDED, TOOL_DISPATCH, TOOL_POLICY_BLOCKED

LAST_CALLS = 5
_LATEST = 100  # requests that are looked at
_CALLS = (TOOL_DISPATCH, TOOL_POLICY_BLOCKED, BUDGET_EXCEEDED)
_LAST_OF_RUN = (
    f"SELECT {EVENT_COLUMNS} FROM events WHERE run_id = ? AND kind IN ({', '.join('?' * len(_CALLS))})"
    # The text may stand in an argument too: only where it does is the payload parsed.
    """ AND (instr(coalesce(payload, ''), '"phase":"intent"') = 0"""
    " OR iif(json_valid(payload), json_extract(payload, '$.phase'), '') IS NOT 'intent') ORDER BY id DESC LIMIT +?"
)


def background(queue: ApprovalQueue, call: ToolCall) -> dict[str, Any]:
    """The request as its event records it: why, what exactly, who asks, and what that agent did before."""
    ctx, spec = call.ctx, call.spec
    request: dict[str, Any] = {
        "tool": spec.name,
        "description": spec.description,
        "args": call.shown_args(to_judge=True),
        "reasons": call.reasons,
        "intent": ctx.intent,
        "session_id": ctx.session_id,
        "user_sid": ctx.user_sid,
        "step": call.step,
        "history": _history(queue, ctx.run_id),
        "earlier": _earlier(queue, ctx.agent_name, call.tool_id),
        **money(call),
    }
    return {key: value for key, value in request.items() if value}


def _history(queue: ApprovalQueue, run_id: str) -> list[str]:
    """The last calls of this run, oldest first, one line each."""
    from sb.kernel.calls.narrative import (
        describe,  # only a call that waits for a person tells what came before it
    )

    rows = queue.log.database.query(_LAST_OF_RUN, (run_id, *_CALLS, LAST_CALLS))
    return [describe(queue.log.event(row)) for row in reversed(rows)]


def _earlier(queue: ApprovalQueue, agent: str, tool_id: str) -> dict[str, int]:
    """Counts by final state of this agent's requests for this tool, among the latest of all."""
    rows = queue.log.database.query(
        "SELECT state, count(*) FROM approvals WHERE number > (SELECT max(number) FROM approvals) - ?"
        " AND agent = ? AND tool_id = ? GROUP BY state",
        (_LATEST, agent, tool_id),
    )
    return dict(rows)
