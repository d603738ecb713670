"""Adapter for VS Code's own agent (the Local harness): reads its hook events and writes its answers.

Source: its documentation (a preview). Its fields are in both cases at once, its answers are Claude Code's, and it runs
the entries of Claude Code's and Copilot's files too, whatever their matchers say.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.claude_code import events as claude_code
from sb.hosts.hooks.event import Answer, HookEvent, Moment, Verdict
from sb.hosts.hooks.fields import text

HOST = "vscode"
ASKS_ON = claude_code.ASKS_ON


def sent(payload: dict[str, Any]) -> bool:
    """Whether VS Code sent it, by its fields."""
    fields = payload.keys()
    copilots = {"toolName", "toolArgs"}
    return not fields & copilots and ("hookEventName" in fields or {"sessionId", "transcript_path"} <= fields)


def read(payload: dict[str, Any]) -> HookEvent:
    """The event of a payload; unknown events and fields mean nothing to us."""
    known = payload | {
        "session_id": text(payload, "sessionId", "session_id"),
        "hook_event_name": text(payload, "hookEventName", "hook_event_name"),
    }
    event = claude_code.read(known)
    if event.moment in (Moment.BATCH, Moment.FAILED):
        return event._replace(host=HOST, moment=Moment.OTHER, calls=())  # it has no such events
    calls = tuple(call._replace(folder_untold=call.tool == "run_in_terminal") for call in event.calls)
    return event._replace(host=HOST, calls=calls)


def answer(event: HookEvent, verdict: Verdict) -> Answer:
    """As Claude Code is answered."""
    return claude_code.answer(event, verdict)
