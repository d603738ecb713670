"""Gemini CLI's hook events and the answers that it understands.

Source: its hooks documentation and the program. It gives calls no id. Its `ask` replaces even a deny of the user's
own policy by a prompt, so it is never used. Any text with an exit code above 1 denies.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.hooks.adapter import Adapter, as_json
from sb.hosts.hooks.calls.fields import error_text, table, text
from sb.hosts.hooks.event import HookAnswer, HookEvent, HookVerdict, Moment, NativeCall

# Events that no other host has; events of other names are its own if they have a time.
_ITS_OWN = frozenset(
    "BeforeTool AfterTool BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection PreCompress".split()
)


class GeminiCLI(Adapter):
    host = "gemini-cli"
    moments = {
        "BeforeTool": Moment.BEFORE,
        "AfterTool": Moment.AFTER,
        "BeforeAgent": Moment.PROMPT,
        "AfterAgent": Moment.STOP,
        "SessionStart": Moment.SESSION_STARTED,
        "SessionEnd": Moment.SESSION_ENDED,
    }
    takes_context_on = frozenset(("BeforeAgent",))

    def is_sender(self, payload: dict[str, Any]) -> bool:
        name = self.event_name(payload)
        timed = isinstance(payload.get("timestamp"), str) and name in {*self.moments, "Notification"}
        return "session_id" in payload and (name in _ITS_OWN or timed)

    def call(self, payload: dict[str, Any], name: str) -> NativeCall:
        tool, args = text(payload, "tool_name"), table(payload, "tool_input")
        response = payload.get("tool_response")
        server = payload.get("mcp_context")
        if tool and isinstance(server, dict) and not tool.startswith("mcp_"):
            tool = f"mcp_{text(server, 'server_name')}_{tool}"  # a server may name its tool like a native one
        return NativeCall(
            tool,
            args,
            response=response,
            error=error_text(response.get("error")) if isinstance(response, dict) else "",
            cwd=text(args, "dir_path", "directory") if tool == "run_shell_command" else "",
            server=text(server, "server_name") if isinstance(server, dict) else "",
            address=_address(server) if isinstance(server, dict) else "",
        )

    def decided(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        return as_json({"decision": "deny", "reason": verdict.reason})


def _address(server: dict[str, Any]) -> str:
    """The command or address of an MCP server, as the host tells it."""
    args = server.get("args")
    words = [text(server, "command"), *(map(str, args) if isinstance(args, list) else ())]
    command = " ".join(filter(None, [*words, text(server, "cwd")]))
    return command or text(server, "url", "httpUrl", "tcp")


ADAPTER = GeminiCLI()
