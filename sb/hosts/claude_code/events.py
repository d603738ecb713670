"""Claude Code's hook events and the answers that it understands.

Source: its hooks reference. An answer that names no event, or another one, is dropped as a whole and the call runs;
so is one that is not a single JSON object.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.hooks.adapter import Adapter, as_json, specific
from sb.hosts.hooks.calls.fields import number, table, text
from sb.hosts.hooks.event import HookAnswer, HookEvent, HookVerdict, Moment, NativeCall

_WATCHED = ("default", "acceptEdits", "plan")
_OF_OTHER_HOSTS = frozenset(("timestamp", "cursor_version", "sessionId"))


class ClaudeCode(Adapter):
    host = "claude-code"
    moments = {
        "PreToolUse": Moment.BEFORE,
        "PostToolUse": Moment.AFTER,
        "PostToolUseFailure": Moment.FAILED,
        "PostToolBatch": Moment.BATCH,
        "PermissionRequest": Moment.QUESTION,
        "PermissionDenied": Moment.DENIED,
        "UserPromptSubmit": Moment.PROMPT,
        "SessionStart": Moment.SESSION_STARTED,
        "SessionEnd": Moment.SESSION_ENDED,
        "Stop": Moment.STOP,
        "SubagentStop": Moment.STOP,
    }
    asks_on = frozenset(("PreToolUse",))
    goes_on_after = frozenset(("Stop", "SubagentStop"))
    agent_fields = ("agent_id",)
    mode_fields = ("permission_mode",)
    takes_context_on = frozenset(("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"))
    shows_context = True

    def is_sender(self, payload: dict[str, Any]) -> bool:
        fields = payload.keys()
        # A message that is displayed has a turn here too; Codex names one in everything else.
        others = _OF_OTHER_HOSTS if "message_id" in fields else _OF_OTHER_HOSTS | {"turn_id"}
        return {"session_id", "transcript_path", "hook_event_name"} <= fields and not fields & others

    def can_ask(self, event: HookEvent) -> bool:
        """Only in modes in which somebody watches; a subagent may be in the background, which its events do not say."""
        return super().can_ask(event) and event.mode in _WATCHED and not event.agent_id

    def calls(self, payload: dict[str, Any], name: str, moment: Moment) -> tuple[NativeCall, ...]:
        listed = payload.get("tool_calls") if moment is Moment.BATCH else None
        if isinstance(listed, list):
            ran = (item for item in listed if isinstance(item, dict) and not _was_not_run(item))
            return tuple(self.call(item, name) for item in ran)
        return super().calls(payload, name, moment)

    def call(self, payload: dict[str, Any], name: str) -> NativeCall:
        return NativeCall(
            text(payload, "tool_name"),
            table(payload, "tool_input"),
            text(payload, "tool_use_id"),
            payload.get("tool_response"),
            text(payload, "error"),
            payload.get("is_interrupt") is True,
            number(payload, "duration_ms"),
        )

    def decided(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        fields = {"permissionDecision": str(verdict.decision), "permissionDecisionReason": verdict.reason}
        if verdict.context:
            fields["additionalContext"] = verdict.context
        return as_json(specific(event.name, **fields))


def _was_not_run(item: dict[str, Any]) -> bool:
    """True for a call that its host or a person kept from running, as the summary of a batch tells it."""
    response = item.get("tool_response")
    return isinstance(response, str) and response.startswith(_NOT_RUN)


# How Claude Code 2.1 answers the model for a call that does not run.
_NOT_RUN = (
    "SecondBrain: ", "SecondBrain asks ", "Claude requested permissions ", "The user doesn't want to ", "Permission to use ", "PreToolUse:", "<tool_use_error>",
)  # fmt: skip
ADAPTER = ClaudeCode()
