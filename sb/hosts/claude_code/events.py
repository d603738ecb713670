"""What does Claude Code tell its hooks, and which answers does it understand?

Source: its hooks reference. An answer that names no event, or another one, is dropped as a whole and the call runs;
so is one that is not a single JSON object.
"""

from __future__ import annotations

import json
from typing import Any

from sb.hosts.hooks.event import Answer, Decision, HookEvent, Moment, NativeCall, Verdict
from sb.hosts.hooks.fields import number, started, table, text

HOST = "claude-code"
ASKS_ON = frozenset(("PreToolUse",))

_MOMENTS = {
    "PreToolUse": Moment.BEFORE,
    "PostToolUse": Moment.AFTER,
    "PostToolUseFailure": Moment.FAILED,
    "PostToolBatch": Moment.BATCH,
    "UserPromptSubmit": Moment.PROMPT,
    "SessionStart": Moment.SESSION_STARTED,
    "SessionEnd": Moment.SESSION_ENDED,
    "Stop": Moment.STOP,
    "SubagentStop": Moment.STOP,
}
_DECISIONS = {Decision.DENY: "deny", Decision.ASK: "ask"}


def sent(payload: dict[str, Any]) -> bool:
    """Whether Claude Code sent it, by its fields."""
    fields = payload.keys()
    others = {"timestamp", "cursor_version", "sessionId"}
    if (
        "message_id" not in fields
    ):  # of a message that is shown it tells the turn too, as Codex does of everything
        others.add("turn_id")
    return {"session_id", "transcript_path", "hook_event_name"} <= fields and not fields & others


def read(payload: dict[str, Any]) -> HookEvent:
    """The event of a payload; unknown events and fields mean nothing to us."""
    name = text(payload, "hook_event_name")
    moment = _MOMENTS.get(name, Moment.OTHER)
    if moment is Moment.BATCH:
        listed = payload.get("tool_calls")
        calls = (
            tuple(_call(one) for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()
        )
    else:
        calls = (_call(payload),) if moment is Moment.BEFORE or "tool_name" in payload else ()
    return HookEvent(
        HOST,
        name,
        moment,
        text(payload, "session_id"),
        text(payload, "cwd"),
        calls,
        text(payload, "agent_id"),
        text(payload, "source", "reason"),
    )


def _call(payload: dict[str, Any]) -> NativeCall:
    return NativeCall(
        text(payload, "tool_name"),
        table(payload, "tool_input"),
        text(payload, "tool_use_id"),
        payload.get("tool_response"),
        text(payload, "error"),
        payload.get("is_interrupt") is True,
        number(payload, "duration_ms"),
    )


def answer(event: HookEvent, verdict: Verdict) -> Answer:
    """Silence for no opinion, so that the person's own rules and prompts stay as they are."""
    if event.moment is not Moment.BEFORE or verdict.decision is Decision.NONE:
        return started(event, verdict)
    decided = {
        "hookEventName": event.name,
        "permissionDecision": _DECISIONS[verdict.decision],
        "permissionDecisionReason": verdict.reason,
    }
    return Answer(json.dumps({"hookSpecificOutput": decided}))
