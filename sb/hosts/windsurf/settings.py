"""Windsurf's settings. It looks at exit codes alone: a command that is missing lets calls run."""

from __future__ import annotations

from typing import Any

from sb.hosts.install.host import Host, Wanted


def _handler(event: str, wanted: Wanted) -> dict[str, Any]:
    return {"command": wanted.command("windsurf"), "show_output": False}


HOST = Host(
    name="windsurf",
    folder=".codeium/windsurf",
    file="hooks.json",
    project_file=".windsurf/hooks.json",
    root="hooks",
    events=(
        "pre_read_code",
        "post_read_code",
        "pre_write_code",
        "post_write_code",
        "pre_run_command",
        "post_run_command",
        "pre_mcp_tool_use",
        "post_mcp_tool_use",
        "pre_user_prompt",
        "post_cascade_response",
    ),
    handler=_handler,
    steps=("start Windsurf again",),
)
