"""Claude Desktop's settings. It calls no hooks, and has the MCP server."""

from __future__ import annotations

from sb.hosts.install.host import Host

HOST = Host(
    name="claude-desktop",
    folder="Claude",
    has_window=True,
    file="claude_desktop_config.json",
    project_file="",
    root="mcpServers",
    instead="sb install claude-desktop --mcp connects it to the MCP server",
    steps=("quit Claude Desktop, and start it again",),
)
