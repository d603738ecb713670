"""How is Windsurf joined? It looks at exit codes alone: a command that is missing lets calls run."""

from __future__ import annotations

import shlex
from pathlib import Path

from sb.hosts.install.entries import Entry
from sb.hosts.install.host import Host, Places, Wanted

_EVENTS = (
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
)


def _entries(wanted: Wanted) -> list[Entry]:
    command = f"{shlex.quote(str(wanted.wrapper))} windsurf"
    return [Entry(("hooks", event), {"command": command, "show_output": False}) for event in _EVENTS]


def _file(places: Places) -> Path:
    return places.home / ".codeium" / "windsurf" / "hooks.json"


WINDSURF = Host(
    name="windsurf",
    user_file=_file,
    project_file=lambda places: places.project / ".windsurf" / "hooks.json",
    root="hooks",
    entries=_entries,
    steps=("start Windsurf again",),
)
