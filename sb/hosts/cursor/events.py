"""Adapter for Cursor: reads its hook events and writes its answers.

Source: its hooks documentation. Shell commands, calls of MCP servers and reads have events of their own, so preToolUse
is judged for all other tools; else one call would be judged twice. What is asked before it is let through has to be
answered with an object that has a `permission`; none of its values is neutral.
"""

from __future__ import annotations

import json
import os
from typing import Any

from sb.hosts.hooks.event import Answer, Decision, HookEvent, Moment, NativeCall, Verdict
from sb.hosts.hooks.fields import decoded, number, table, text

HOST = "cursor"
ASKS_ON = frozenset(("beforeShellExecution", "beforeMCPExecution"))

_MOMENTS = {
    "preToolUse": Moment.BEFORE,
    "beforeShellExecution": Moment.BEFORE,
    "beforeMCPExecution": Moment.BEFORE,
    "beforeReadFile": Moment.BEFORE,
    "postToolUse": Moment.AFTER,
    "afterShellExecution": Moment.AFTER,
    "afterMCPExecution": Moment.AFTER,
    "postToolUseFailure": Moment.FAILED,
    "beforeSubmitPrompt": Moment.PROMPT,
    "sessionStart": Moment.SESSION_STARTED,
    "sessionEnd": Moment.SESSION_ENDED,
    "stop": Moment.STOP,
}
_PERMISSION = frozenset(
    (
        "preToolUse",
        "beforeShellExecution",
        "beforeMCPExecution",
        "beforeReadFile",
        "beforeTabFileRead",
        "subagentStart",
    )
)


def sent(payload: dict[str, Any]) -> bool:
    """Whether Cursor sent it, by its fields."""
    return "cursor_version" in payload or {"conversation_id", "generation_id"} <= payload.keys()


def read(payload: dict[str, Any]) -> HookEvent:
    """The event of a payload; unknown events and fields mean nothing to us. Nobody's address is taken over."""
    name = text(payload, "hook_event_name")
    name = name[:1].lower() + name[1:]  # as a file in the form of Claude Code's writes it
    moment = _MOMENTS.get(name, Moment.OTHER)
    calls: tuple[NativeCall, ...] = ()
    if moment in (Moment.BEFORE, Moment.AFTER, Moment.FAILED):
        call = _call(name, payload)
        if call is None:
            moment = Moment.OTHER
        else:
            calls = (call,)
    roots = payload.get("workspace_roots")
    root = next((one for one in roots if isinstance(one, str)), "") if isinstance(roots, list) else ""
    return HookEvent(
        HOST,
        name,
        moment,
        text(payload, "conversation_id", "session_id"),
        root or text(payload, "cwd"),
        calls,
        note=text(payload, "reason", "composer_mode"),
    )


def _call(name: str, payload: dict[str, Any]) -> NativeCall | None:
    """The call that an event is about, or None if another event tells of it."""
    match name:
        case "beforeShellExecution" | "afterShellExecution":
            return _shell(payload)
        case "beforeMCPExecution" | "afterMCPExecution":
            response = decoded(payload.get("result_json"))
            ms = number(payload, "duration")
            return NativeCall(_mcp(payload), table(payload, "tool_input"), response=response, ms=ms)
        case "beforeReadFile":
            return NativeCall("Read", {"file_path": text(payload, "file_path")})  # not what is in the file
    tool, args = text(payload, "tool_name"), table(payload, "tool_input")
    own_event = tool == "Shell" or tool.startswith("MCP:")
    if name == "preToolUse" and (own_event or tool == "Read"):
        return None
    if name == "postToolUse" and own_event:
        return None
    if tool == "Shell":
        args = {"command": text(args, "command")}
    response = None if tool == "Read" else decoded(payload.get("tool_output"))
    return NativeCall(
        tool,
        args,
        "" if own_event else text(payload, "tool_use_id"),
        response,
        text(payload, "error_message"),
        payload.get("is_interrupt") is True or payload.get("failure_type") == "timeout",
        number(payload, "duration"),
        text(payload, "cwd"),
    )


def _shell(payload: dict[str, Any]) -> NativeCall:
    output = payload.get("output")
    return NativeCall(
        "Shell",
        {"command": text(payload, "command")},
        response=None if output is None else {"output": output},
        ms=number(payload, "duration"),
        cwd=text(payload, "cwd"),
        folder_untold=not os.path.isabs(text(payload, "cwd")),
    )


def _mcp(payload: dict[str, Any]) -> str:
    tool = text(payload, "tool_name").removeprefix("MCP:")
    return f"MCP:{tool}" if tool else ""


def answer(event: HookEvent, verdict: Verdict) -> Answer:
    """Always an object. No opinion: the person is asked where Cursor asks, since allowing would skip its own prompt."""
    if event.name == "beforeSubmitPrompt":
        return _printed({"continue": True})
    if event.name not in _PERMISSION:
        told = event.moment is Moment.SESSION_STARTED and verdict.context
        return _printed({"additional_context": verdict.context} if told else {})
    asks = event.name in ASKS_ON
    if verdict.decision is Decision.NONE:
        return _printed({"permission": "ask" if asks else "allow"})
    permission = "ask" if asks and verdict.decision is Decision.ASK else "deny"
    said = {"user_message": verdict.reason, "agent_message": verdict.reason}
    return _printed({"permission": permission, **said})


def _printed(said: dict[str, Any]) -> Answer:
    return Answer(json.dumps(said))
