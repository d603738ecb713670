"""Windsurf's settings.

It looks at exit codes alone: 2 denies, each other lets the call run, so the entry itself denies when the wrapper fails.
"""

from __future__ import annotations

from typing import Any

from sb.hosts.install.host import Host, Wanted

_GATES = ("pre_read_code", "pre_write_code", "pre_run_command", "pre_mcp_tool_use")


def _handler(event: str, wanted: Wanted) -> dict[str, Any]:
    return {"command": wanted.command_if_there("windsurf", event in _GATES), "show_output": False}


HOST = Host(
    name="windsurf",
    folder=".codeium/windsurf",
    file="hooks.json",
    project_file=".windsurf/hooks.json",
    root="hooks",
    events=(
        *_GATES,
        "post_read_code",
        "post_write_code",
        "post_run_command",
        "post_mcp_tool_use",
        "pre_user_prompt",
        "post_cascade_response",
    ),
    handler=_handler,
    steps=("start Windsurf again",),
)
