"""Hook events of Copilot CLI and its cloud agent, and the answers that they understand.

Source: the hooks reference. Entries under camelCase names get camelCase fields and no name of their event; entries
under PascalCase names get snake_case fields. Calls have no id. Its `ask` is not asked everywhere, so it is not used.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.hooks.adapter import Adapter, as_json, denial, specific
from sb.hosts.hooks.calls.fields import error_text, table, text
from sb.hosts.hooks.event import HookAnswer, HookEvent, HookVerdict, Moment, NativeCall

SEPARATOR = "-"  # between the names of an MCP server and its tool, as in `github-mcp-server-list_issues`
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


class Copilot(Adapter):
    host = "copilot"
    moments = {
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
    session_fields = ("sessionId", "session_id")
    takes_context = False

    def is_sender(self, payload: dict[str, Any]) -> bool:
        if "hookEventName" in payload and "toolName" not in payload:
            return False
        if "sessionId" in payload:
            return "timestamp" in payload
        named = text(payload, "hook_event_name") in self.moments and "tool_use_id" not in payload
        return named and "session_id" in payload and isinstance(payload.get("timestamp"), str)

    def event_name(self, payload: dict[str, Any]) -> str:
        called = "toolName" in payload or "toolArgs" in payload
        if called and payload.get("toolResult") is None:
            return "PostToolUseFailure" if payload.get("error") else "PreToolUse"
        by_field = next((event for field, event in _BY_FIELD if field in payload), "")
        # Of an event with camelCase fields about a call, no other field says which one it is.
        return by_field if called else text(payload, "hook_event_name") or by_field

    def call(self, payload: dict[str, Any], name: str) -> NativeCall:
        field = "toolArgs" if "toolArgs" in payload else "tool_input"
        tool = text(payload, "toolName", "tool_name")
        response = payload.get("toolResult", payload.get("tool_result", payload.get("tool_response")))
        return NativeCall(
            tool,
            table(payload, field),
            response=response,
            error=error_text(payload.get("error")) or _failure(response),
            folder_unknown=tool == "bash",
            separator=SEPARATOR,
        )

    def decided(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        """A deny with its reason, in both forms: entries in Claude Code's form may look for it in Claude's place."""
        denied = denial(verdict.reason)
        return as_json(denied | specific("PreToolUse", **denied))


def _failure(response: Any) -> str:
    kind = text(response, "resultType", "result_type") if isinstance(response, dict) else ""
    if kind in ("", "success"):
        return ""
    return f"{kind}: {text(response, 'textResultForLlm', 'text_result_for_llm')}"


ADAPTER = Copilot()
