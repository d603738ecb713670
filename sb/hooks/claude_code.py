"""What does Claude Code tell its hooks, and which answers does it understand?

Source: its hooks reference. An answer that names no event, or another one, is dropped as a whole and the call runs;
so is one that is not a single JSON object.
"""

from __future__ import annotations

import json
from typing import Any

from sb.hooks.event import Answer, Decision, HookEvent, Moment, NativeCall, Verdict

HOST = "claude-code"
CAN_ASK = True
LONGEST_RESPONSE = 4_000  # characters that are kept of what a call gave

_MOMENTS = {
    "PreToolUse": Moment.BEFORE,
    "PostToolUse": Moment.AFTER,
    "PostToolUseFailure": Moment.FAILED,
    "PostToolBatch": Moment.BATCH,
    "UserPromptSubmit": Moment.PROMPT,
    "SessionStart": Moment.SESSION_STARTED,
    "SessionEnd": Moment.SESSION_ENDED,
    "Stop": Moment.STOP,
}
_DECISIONS = {Decision.DENY: "deny", Decision.ASK: "ask"}


def sent(payload: dict[str, Any]) -> bool:
    """Whether Claude Code sent it, by its fields."""
    fields = payload.keys()
    return {"session_id", "transcript_path", "hook_event_name"} <= fields and not fields & {
        "turn_id",
        "timestamp",
        "cursor_version",
        "sessionId",
    }


def read(payload: dict[str, Any]) -> HookEvent:
    """The event of a payload; unknown events and fields mean nothing to us."""
    name = _text(payload, "hook_event_name")
    moment = _MOMENTS.get(name, Moment.OTHER)
    if moment is Moment.BATCH:
        listed = payload.get("tool_calls")
        calls = (
            tuple(_call(one) for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()
        )
    else:
        calls = (_call(payload),) if "tool_name" in payload else ()
    return HookEvent(
        HOST,
        name,
        moment,
        _text(payload, "session_id"),
        _text(payload, "cwd"),
        calls,
        _text(payload, "agent_id"),
        _text(payload, "source") or _text(payload, "reason"),
    )


def _call(payload: dict[str, Any]) -> NativeCall:
    args, ms = payload.get("tool_input"), payload.get("duration_ms")
    return NativeCall(
        _text(payload, "tool_name"),
        args if isinstance(args, dict) else {},
        _text(payload, "tool_use_id"),
        payload.get("tool_response"),
        _text(payload, "error"),
        payload.get("is_interrupt") is True,
        float(ms) if isinstance(ms, int | float) else 0.0,
    )


def _text(payload: dict[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def answer(event: HookEvent, verdict: Verdict) -> Answer:
    """Silence for no opinion, so that the person's own rules and prompts stay as they are."""
    if event.moment is not Moment.BEFORE or verdict.decision is Decision.NONE:
        return Answer()
    decided = {
        "hookEventName": event.name,
        "permissionDecision": _DECISIONS[verdict.decision],
        "permissionDecisionReason": verdict.reason,
    }
    return Answer(json.dumps({"hookSpecificOutput": decided}))
