"""Codex's hook events and the answers that it understands.

Source: its hooks documentation and the schemas in the program. Its parser knows no field but its own, and whatever it
cannot parse lets the call run: so of a call nothing is printed but a deny with a reason, or a text for its model. It
cannot ask its user.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.hooks.adapter import Adapter, as_json, denial, specific
from sb.hosts.hooks.calls.fields import table, text
from sb.hosts.hooks.event import HookAnswer, HookEvent, HookVerdict, Moment, NativeCall

_OF_A_SESSION = ("SessionStart", "SessionEnd")  # events that belong to no turn
_OF_OTHER_HOSTS = {"cursor_version", "sessionId", "message_id"}
_OF_OTHER_HOSTS_SESSIONS = {"timestamp", "prompt_id"}


class Codex(Adapter):
    host = "codex"
    moments = {
        "PreToolUse": Moment.BEFORE,
        "PostToolUse": Moment.AFTER,
        "UserPromptSubmit": Moment.PROMPT,
        "SessionStart": Moment.SESSION_STARTED,
        "SessionEnd": Moment.SESSION_ENDED,
        "Stop": Moment.STOP,
        "SubagentStop": Moment.STOP,
        "Interrupt": Moment.STOP,
    }
    goes_on_after = frozenset(("Stop", "SubagentStop"))
    agent_fields = ("agent_id",)
    takes_context_on = frozenset(("PreToolUse", "UserPromptSubmit"))

    def is_sender(self, payload: dict[str, Any]) -> bool:
        """True if Codex sent it; its events of a session look like Claude Code's.

        A turn, or a call with a model, is enough: Codex drops an answer for another host, and the call runs.
        """
        fields = payload.keys()
        if not {"session_id", "hook_event_name"} <= fields or fields & _OF_OTHER_HOSTS:
            return False
        if "turn_id" in fields or {"model", "tool_name"} <= fields:
            return True
        session = "model" in fields and self.event_name(payload) in _OF_A_SESSION
        return session and not fields & _OF_OTHER_HOSTS_SESSIONS

    def call(self, payload: dict[str, Any], name: str) -> NativeCall:
        args = table(payload, "tool_input")
        return NativeCall(
            text(payload, "tool_name"),
            args,
            text(payload, "tool_use_id"),
            payload.get("tool_response"),
            cwd=text(args, "workdir"),
            folder_unknown=not text(args, "workdir"),  # a model may choose another folder than the turn's
        )

    def decided(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        """Exactly one deny; an empty reason would let the call run."""
        reason = verdict.reason.strip() or "SecondBrain: not run: it was denied"
        return as_json(specific("PreToolUse", **denial(reason)))


ADAPTER = Codex()
