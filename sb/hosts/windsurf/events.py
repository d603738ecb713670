"""Hook events of Windsurf's Cascade, and the exit code that it understands.

Source: its documentation. It looks at exit codes alone: 2 from a hook that is asked before a call blocks it, and what
is on stderr says why. Calls have no id; only commands say in which folder they run.
"""

from __future__ import annotations

import os
from typing import Any

from sb.hosts.hooks.adapter import Adapter, by_exit_code
from sb.hosts.hooks.calls.fields import decoded, table, text
from sb.hosts.hooks.event import HookAnswer, HookEvent, HookVerdict, Moment, NativeCall

_CALLS = ("read_code", "write_code", "run_command", "mcp_tool_use")


class Windsurf(Adapter):
    host = "windsurf"
    moments = {
        **{f"pre_{call}": Moment.BEFORE for call in _CALLS},
        **{f"post_{call}": Moment.AFTER for call in _CALLS},
        "pre_user_prompt": Moment.PROMPT,
        "post_cascade_response": Moment.STOP,
    }
    event_fields = ("agent_action_name",)
    session_fields = ("trajectory_id",)
    note_fields = ()
    takes_context = False

    def is_sender(self, payload: dict[str, Any]) -> bool:
        return "agent_action_name" in payload

    def folder(self, payload: dict[str, Any]) -> str:
        """The folder of a command, else that of the file which a call is about."""
        about = table(payload, "tool_info")
        return text(about, "cwd") or os.path.dirname(text(about, "file_path"))

    def call(self, payload: dict[str, Any], name: str) -> NativeCall:
        about = table(payload, "tool_info")
        match name.partition("_")[2]:
            case "read_code":
                return NativeCall("Read", {"file_path": text(about, "file_path")})
            case "write_code":
                return NativeCall(
                    "Write", {"file_path": text(about, "file_path"), "edits": about.get("edits")}
                )
            case "run_command":
                unknown = not os.path.isabs(text(about, "cwd"))
                command = {"command": text(about, "command_line")}
                return NativeCall("Shell", command, folder_unknown=unknown)
        server, tool = text(about, "mcp_server_name"), text(about, "mcp_tool_name")
        return NativeCall(
            f"mcp__{server}__{tool}" if tool else "",
            table(about, "mcp_tool_arguments"),
            response=decoded(about.get("mcp_result")),
            server=server,
        )

    def decided(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        return by_exit_code(verdict)


ADAPTER = Windsurf()
