"""Hook events of VS Code's own agent (the Local harness), which are Claude Code's with fields of both cases.

Source: its documentation (a preview). It runs the entries of Claude Code's and Copilot's files too, whatever their
matchers say.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.claude_code.events import ClaudeCode
from sb.hosts.hooks.event import HookEvent, Moment, NativeCall


class VSCode(ClaudeCode):
    host = "vscode"
    moments = {
        name: moment
        for name, moment in ClaudeCode.moments.items()
        if moment not in (Moment.BATCH, Moment.FAILED)
    }
    event_fields = ("hookEventName", "hook_event_name")
    session_fields = ("sessionId", "session_id")

    def is_sender(self, payload: dict[str, Any]) -> bool:
        fields = payload.keys()
        copilots = {"toolName", "toolArgs"}
        return not fields & copilots and (
            "hookEventName" in fields or {"sessionId", "transcript_path"} <= fields
        )

    def can_ask(self, event: HookEvent) -> bool:
        """It names no mode, and asks whenever it is told to."""
        return event.name in self.asks_on

    def call(self, payload: dict[str, Any], name: str) -> NativeCall:
        call = super().call(payload, name)
        return call._replace(folder_unknown=call.tool == "run_in_terminal")


ADAPTER = VSCode()
