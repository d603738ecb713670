"""Adapter for Codex: reads its hook events and writes its answers.

Source: its hooks documentation and the schemas in the program. Its parser knows no field but its own, and whatever it
cannot parse lets the call run: so of a call nothing is printed but a deny with a reason. It cannot ask its person.
"""

from __future__ import annotations

import json
from typing import Any

from sb.hosts.hooks.event import Answer, Decision, HookEvent, Moment, NativeCall, Verdict
from sb.hosts.hooks.fields import started, table, text

HOST = "codex"
ASKS_ON: frozenset[str] = frozenset()

_MOMENTS = {
    "PreToolUse": Moment.BEFORE,
    "PostToolUse": Moment.AFTER,
    "UserPromptSubmit": Moment.PROMPT,
    "SessionStart": Moment.SESSION_STARTED,
    "SessionEnd": Moment.SESSION_ENDED,
    "Stop": Moment.STOP,
    "SubagentStop": Moment.STOP,
    "Interrupt": Moment.STOP,
}
_OF_A_SESSION = ("SessionStart", "SessionEnd")  # events that belong to no turn
_OF_OTHERS = {"cursor_version", "sessionId", "message_id"}
_OF_SESSIONS_OF_OTHERS = {"timestamp", "prompt_id"}


def sent(payload: dict[str, Any]) -> bool:
    """Whether Codex sent it, by its fields. What it says of a session looks like what Claude Code says of one.

    A turn, or a call with a model, is enough: an answer for another host is one that Codex drops, and the call runs.
    """
    fields = payload.keys()
    if not {"session_id", "hook_event_name"} <= fields or fields & _OF_OTHERS:
        return False
    if "turn_id" in fields or {"model", "tool_name"} <= fields:
        return True
    session = "model" in fields and text(payload, "hook_event_name") in _OF_A_SESSION
    return session and not fields & _OF_SESSIONS_OF_OTHERS


def read(payload: dict[str, Any]) -> HookEvent:
    """The event of a payload; unknown events and fields mean nothing to us."""
    name = text(payload, "hook_event_name")
    moment = _MOMENTS.get(name, Moment.OTHER)
    return HookEvent(
        HOST,
        name,
        moment,
        text(payload, "session_id"),
        text(payload, "cwd"),
        (_call(payload),) if moment in (Moment.BEFORE, Moment.AFTER) else (),
        text(payload, "agent_id"),
        text(payload, "source", "reason"),
    )


def _call(payload: dict[str, Any]) -> NativeCall:
    args = table(payload, "tool_input")
    return NativeCall(
        text(payload, "tool_name"),
        args,
        text(payload, "tool_use_id"),
        payload.get("tool_response"),
        cwd=text(args, "workdir"),
        folder_untold=not text(args, "workdir"),  # a model may choose another folder than the turn's
    )


def answer(event: HookEvent, verdict: Verdict) -> Answer:
    """Silence, or exactly one deny: a reason that is empty would let the call run."""
    if event.moment is not Moment.BEFORE or verdict.decision is Decision.NONE:
        return started(event, verdict)
    decided = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": verdict.reason.strip() or "SecondBrain refuses this call",
    }
    return Answer(json.dumps({"hookSpecificOutput": decided}))
