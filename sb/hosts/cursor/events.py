"""Cursor's hook events and the answers that it understands.

Source: its hooks documentation. Shell commands, calls of MCP servers and reads have events of their own, so preToolUse
is judged for all other tools; else one call would be judged twice. What is asked before it is let through has to be
answered with an object that has a `permission`; none of its values is neutral.
"""

from __future__ import annotations

import os
from typing import Any

from sb.hosts.hooks.adapter import Adapter, as_json
from sb.hosts.hooks.calls.fields import decoded, number, table, text
from sb.hosts.hooks.event import Decision, HookAnswer, HookEvent, HookVerdict, Moment, NativeCall

# Events whose answer has a `permission`.
_GATES = frozenset(
    "preToolUse beforeShellExecution beforeMCPExecution beforeReadFile beforeTabFileRead subagentStart".split()
)


class Cursor(Adapter):
    host = "cursor"
    moments = {
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
    asks_on = frozenset(("beforeShellExecution", "beforeMCPExecution"))
    session_fields = ("conversation_id", "session_id")
    note_fields = ("reason", "composer_mode")

    def is_sender(self, payload: dict[str, Any]) -> bool:
        return "cursor_version" in payload or {"conversation_id", "generation_id"} <= payload.keys()

    def event_name(self, payload: dict[str, Any]) -> str:
        """Its name; a file in Claude Code's form writes it in PascalCase."""
        name = super().event_name(payload)
        return name[:1].lower() + name[1:]

    def folder(self, payload: dict[str, Any]) -> str:
        roots = payload.get("workspace_roots")
        named = roots if isinstance(roots, list) else ()
        return next((root for root in named if isinstance(root, str)), "") or text(payload, "cwd")

    def call(self, payload: dict[str, Any], name: str) -> NativeCall | None:
        match name:
            case "beforeShellExecution" | "afterShellExecution":
                return _shell(payload)
            case "beforeMCPExecution" | "afterMCPExecution":
                return _mcp(payload)
            case "beforeReadFile":
                return NativeCall("Read", {"file_path": text(payload, "file_path")})  # without its content
        tool, args = text(payload, "tool_name"), table(payload, "tool_input")
        has_own_event = tool == "Shell" or tool.startswith("MCP:")
        if name in ("preToolUse", "postToolUse") and has_own_event:
            return None
        if name == "preToolUse" and tool == "Read":
            return None
        return NativeCall(
            tool,
            {"command": text(args, "command")} if tool == "Shell" else args,
            "" if has_own_event else text(payload, "tool_use_id"),
            None if tool == "Read" else decoded(payload.get("tool_output")),
            text(payload, "error_message"),
            payload.get("is_interrupt") is True or payload.get("failure_type") == "timeout",
            number(payload, "duration"),
            text(payload, "cwd"),
        )

    def answer(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        """Always an object. No opinion: Cursor asks where it can, since allowing would skip its own prompt."""
        if event.name == "beforeSubmitPrompt":
            return as_json({"continue": True})
        if event.name in _GATES:
            return self.decided(event, verdict)
        starts = event.moment is Moment.SESSION_STARTED and verdict.context
        return as_json({"additional_context": verdict.context} if starts else {})

    def decided(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        asks = event.name in self.asks_on
        if verdict.decision is Decision.NONE:
            return as_json({"permission": "ask" if asks else "allow"})
        permission = "ask" if asks and verdict.decision is Decision.ASK else "deny"
        return as_json(
            {"permission": permission, "user_message": verdict.reason, "agent_message": verdict.reason}
        )


def _shell(payload: dict[str, Any]) -> NativeCall:
    output = payload.get("output")
    return NativeCall(
        "Shell",
        {"command": text(payload, "command")},
        response=None if output is None else {"output": output},
        ms=number(payload, "duration"),
        cwd=text(payload, "cwd"),
        folder_unknown=not os.path.isabs(text(payload, "cwd")),
    )


def _mcp(payload: dict[str, Any]) -> NativeCall:
    tool = text(payload, "tool_name").removeprefix("MCP:")
    return NativeCall(
        f"MCP:{tool}" if tool else "",
        table(payload, "tool_input"),
        response=decoded(payload.get("result_json")),
        ms=number(payload, "duration"),
        address=text(payload, "url", "command"),
    )


ADAPTER = Cursor()
