"""How is VS Code joined? As a host of MCP servers: only the entry of the server can be prepared.

Its agents that run hooks read those of Claude Code, so `sb install claude-code` reaches them.
"""

from __future__ import annotations

from pathlib import Path

from sb.hosts.install.entries import Entry
from sb.hosts.install.host import RELAXED, Host, Places, Wanted


def _entries(wanted: Wanted) -> list[Entry]:
    server = {"type": "stdio", "command": str(wanted.wrapper), "args": ["serve"]}
    return [Entry(("servers", "secondbrain"), server, named=True)]


def _file(places: Places) -> Path:
    return places.settings / "Code" / "User" / "mcp.json"


VSCODE = Host(
    name="vscode",
    user_file=_file,
    project_file=lambda places: places.project / ".vscode" / "mcp.json",
    root="servers",
    entries=_entries,
    form=RELAXED,
    hooks=False,
    steps=("run the command MCP: List Servers",),
)
