"""Claude Desktop's settings. It calls no hooks; earlier versions could prepare the entry of the MCP server."""

from __future__ import annotations

from sb.hosts.install.host import Host

HOST = Host(
    name="claude-desktop",
    folder="Claude",
    has_window=True,
    file="claude_desktop_config.json",
    project_file="",
    root="mcpServers",
    instead="it is offered once sb has an MCP server",
)
