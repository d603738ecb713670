"""Adapter for Gemini CLI: reads its hook events and writes its answers.

Source: its hooks documentation and the program. It gives calls no id. Its `ask` replaces even a deny of the person's
own policy by a prompt, so it is never used. Any text with an exit code above 1 denies.
"""

from __future__ import annotations

import json
from typing import Any

from sb.hosts.hooks.event import Answer, Decision, HookEvent, Moment, NativeCall, Verdict
from sb.hosts.hooks.fields import started, table, text

HOST = "gemini-cli"
ASKS_ON: frozenset[str] = frozenset()

_MOMENTS = {
    "BeforeTool": Moment.BEFORE,
    "AfterTool": Moment.AFTER,
    "BeforeAgent": Moment.PROMPT,
    "AfterAgent": Moment.STOP,
    "SessionStart": Moment.SESSION_STARTED,
    "SessionEnd": Moment.SESSION_ENDED,
}
# Events that no other host has; of the others the time tells who sent them.
_ITS_OWN = {
    "BeforeTool",
    "AfterTool",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "PreCompress",
}
_EVENTS = {*_MOMENTS, "Notification"}


def sent(payload: dict[str, Any]) -> bool:
    """Whether Gemini CLI sent it, by its fields."""
    name = text(payload, "hook_event_name")
    timed = isinstance(payload.get("timestamp"), str) and name in _EVENTS
    return "session_id" in payload and (name in _ITS_OWN or timed)


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
        note=text(payload, "source", "reason"),
    )


def _call(payload: dict[str, Any]) -> NativeCall:
    tool, args = text(payload, "tool_name"), table(payload, "tool_input")
    response = payload.get("tool_response")
    if tool and isinstance(payload.get("mcp_context"), dict) and not tool.startswith("mcp_"):
        tool = f"mcp_{text(payload['mcp_context'], 'server_name')}_{tool}"  # a server may call its tool like a native one
    return NativeCall(
        tool,
        args,
        response=response,
        error=_error(response) if isinstance(response, dict) else "",
        cwd=text(args, "dir_path", "directory") if tool == "run_shell_command" else "",
    )


def _error(response: dict[str, Any]) -> str:
    said = response.get("error")
    if not said:
        return ""
    return (text(said, "message") if isinstance(said, dict) else str(said)) or "failed"


def answer(event: HookEvent, verdict: Verdict) -> Answer:
    """Silence for no opinion: the person's policy and prompts stay as they are."""
    if event.moment is not Moment.BEFORE or verdict.decision is Decision.NONE:
        return started(event, verdict)
    return Answer(json.dumps({"decision": "deny", "reason": verdict.reason}))
