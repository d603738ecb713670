"""How is Claude Desktop joined? It calls no hooks: only the entry of the MCP server can be prepared."""

from __future__ import annotations

from pathlib import Path

from sb.hosts.install.entries import Entry
from sb.hosts.install.host import Host, Places, Wanted


def _entries(wanted: Wanted) -> list[Entry]:
    server = {"command": str(wanted.wrapper), "args": ["serve"]}
    return [Entry(("mcpServers", "secondbrain"), server, named=True)]


def _file(places: Places) -> Path:
    return places.settings / "Claude" / "claude_desktop_config.json"


CLAUDE_DESKTOP = Host(
    name="claude-desktop",
    user_file=_file,
    project_file=None,
    root="mcpServers",
    entries=_entries,
    hooks=False,
    steps=("quit Claude Desktop and start it again",),
)
