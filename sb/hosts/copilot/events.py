"""Adapter for Copilot CLI and its cloud agent: reads their hook events and writes their answers.

Source: the hooks reference. Entries under camelCase names get camelCase fields and no name of their event; entries
under PascalCase names get snake_case fields. Calls have no id. Its `ask` is not asked everywhere, so it is not used.
"""

from __future__ import annotations

import json
from typing import Any

from sb.hosts.hooks.event import Answer, Decision, HookEvent, Moment, NativeCall, Verdict
from sb.hosts.hooks.fields import table, text

HOST = "copilot"
ASKS_ON: frozenset[str] = frozenset()

_MOMENTS = {
    "PreToolUse": Moment.BEFORE,
    "PostToolUse": Moment.AFTER,
    "PostToolUseFailure": Moment.FAILED,
    "UserPromptSubmit": Moment.PROMPT,
    "UserPromptSubmitted": Moment.PROMPT,
    "SessionStart": Moment.SESSION_STARTED,
    "SessionEnd": Moment.SESSION_ENDED,
    "AgentStop": Moment.STOP,
    "Stop": Moment.STOP,
}
# Of an event without a name: the field that only it has. The order counts.
_BY_FIELD = (
    ("toolResult", "PostToolUse"),
    ("agentName", "SubagentStart"),
    ("notificationType", "Notification"),
    ("stopReason", "AgentStop"),
    ("source", "SessionStart"),
    ("reason", "SessionEnd"),
    ("prompt", "UserPromptSubmitted"),
)


def sent(payload: dict[str, Any]) -> bool:
    """Whether Copilot sent it, by its fields."""
    if "hookEventName" in payload and "toolName" not in payload:
        return False
    if "sessionId" in payload:
        return "timestamp" in payload
    named = text(payload, "hook_event_name") in _MOMENTS and "tool_use_id" not in payload
    return named and "session_id" in payload and isinstance(payload.get("timestamp"), str)


def read(payload: dict[str, Any]) -> HookEvent:
    """The event of a payload; unknown events and fields mean nothing to us."""
    called = "toolName" in payload or "toolArgs" in payload  # then no other field says which event it is
    name = _event_of(payload) if called else text(payload, "hook_event_name") or _event_of(payload)
    moment = _MOMENTS.get(name, Moment.OTHER)
    told = moment in (Moment.BEFORE, Moment.AFTER, Moment.FAILED)
    return HookEvent(
        HOST,
        name,
        moment,
        text(payload, "sessionId", "session_id"),
        text(payload, "cwd"),
        (_call(payload),) if told else (),
        note=text(payload, "source", "reason"),
    )


def _event_of(payload: dict[str, Any]) -> str:
    if ("toolName" in payload or "toolArgs" in payload) and payload.get("toolResult") is None:
        return "PostToolUseFailure" if payload.get("error") else "PreToolUse"
    return next((event for field, event in _BY_FIELD if field in payload), "")


def _call(payload: dict[str, Any]) -> NativeCall:
    field = "toolArgs" if "toolArgs" in payload else "tool_input"
    tool = text(payload, "toolName", "tool_name")
    response = payload.get("toolResult", payload.get("tool_result", payload.get("tool_response")))
    return NativeCall(
        tool,
        table(payload, field),
        response=response,
        error=_error(payload, response),
        folder_untold=tool == "bash",
    )


def _error(payload: dict[str, Any], response: Any) -> str:
    said = payload.get("error")
    if said:
        return (text(said, "message") if isinstance(said, dict) else str(said)) or "failed"
    kind = text(response, "resultType", "result_type") if isinstance(response, dict) else ""
    return (
        ""
        if kind in ("", "success")
        else f"{kind}: {text(response, 'textResultForLlm', 'text_result_for_llm')}"
    )


def answer(event: HookEvent, verdict: Verdict) -> Answer:
    """Silence for no opinion. A deny needs its reason; entries in Claude Code's form may look for it in Claude's place."""
    if event.moment is not Moment.BEFORE or verdict.decision is Decision.NONE:
        return Answer()
    decided = {"permissionDecision": "deny", "permissionDecisionReason": verdict.reason}
    of_claude = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decided}}
    return Answer(json.dumps(decided | of_claude))
