"""Cursor's settings.

A command that fails lets calls run unless `failClosed` says otherwise; one that prints nothing may block them, so the
wrapper prints an object.
Before an edit, and before a tool that is no shell, MCP call or reading, there is only preToolUse, so it is registered for
all. One unknown event name made Cursor drop the whole file: only documented ones stand here.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.install.host import RELAXED, TIMEOUT_S, Host, Wanted

_GATES = ("preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile")
_EVENTS = (
    *_GATES,
    "postToolUse",
    "postToolUseFailure",
    "afterShellExecution",
    "afterMCPExecution",
    "beforeSubmitPrompt",
    "sessionStart",
    "sessionEnd",
    "stop",
    "subagentStart",
    "subagentStop",
    "preCompact",
)


def _handler(event: str, wanted: Wanted) -> dict[str, Any]:
    gate = event in _GATES
    closed = {"failClosed": True} if gate else {}
    return {"command": wanted.command("cursor", gate), "timeout": TIMEOUT_S, **closed}


HOST = Host(
    name="cursor",
    folder=".cursor",
    file="hooks.json",
    project_file=".cursor/hooks.json",
    root="hooks",
    events=_EVENTS,
    handler=_handler,
    extras=(("version", 1),),
    can_fail_closed=True,
    servers=Host(
        name="cursor",
        folder=".cursor",
        file="mcp.json",
        project_file=".cursor/mcp.json",
        root="mcpServers",
        form=RELAXED,
        steps=("Cursor reads the file when it is saved; Settings > MCP shows the server",),
    ),
    steps=("Cursor reads the file when it is saved; Settings > Hooks shows what it runs",),
)
