"""What does a person need to see to decide about a call?"""

from __future__ import annotations

from itertools import islice
from typing import Any

from sb.decisions.namespace import BUDGET_EXCEEDED, TOOL_DISPATCH, TOOL_POLICY_BLOCKED
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.tooling.call import ToolCall

LAST_CALLS = 5
_LATEST = 100  # requests that are looked at
_CALLS = (TOOL_DISPATCH, TOOL_POLICY_BLOCKED, BUDGET_EXCEEDED)
_HISTORY_ROWS = 12  # of the run, newest first, among which the last calls are looked for


def background(queue: ApprovalQueue, call: ToolCall) -> dict[str, Any]:
    """The request as its event records it: why, what exactly, who asks, and what that agent did before."""
    ctx, spec = call.ctx, call.spec
    said: dict[str, Any] = {
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
    }
    return {key: value for key, value in said.items() if value}


def _history(queue: ApprovalQueue, run_id: str) -> list[str]:
    """The last calls of this run, oldest first, one line each."""
    events = queue.log.events(run_id=run_id, newest_first=True, limit=_HISTORY_ROWS)
    calls = (
        event for event in events if event.kind in _CALLS and (event.payload or {}).get("phase") != "intent"
    )
    from sb.kernel.narrative import describe  # only a call that waits for a person tells what came before it

    return [describe(event) for event in islice(calls, LAST_CALLS)][::-1]


def _earlier(queue: ApprovalQueue, agent: str, tool_id: str) -> dict[str, int]:
    """How those of the latest requests ended that were this agent's for this tool."""
    rows = queue.log.database.query(
        "SELECT state, count(*) FROM (SELECT agent, tool_id, state FROM approvals ORDER BY number DESC LIMIT ?)"
        " WHERE agent = ? AND tool_id = ? GROUP BY state",
        (_LATEST, agent, tool_id),
    )
    return dict(rows)
