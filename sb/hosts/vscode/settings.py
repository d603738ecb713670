"""VS Code's settings of MCP servers.

Its agents that run hooks read those of Claude Code, so `sb install claude-code` reaches them.
"""

from __future__ import annotations

from sb.hosts.install.host import RELAXED, Host

HOST = Host(
    name="vscode",
    folder="Code/User",
    has_window=True,
    file="mcp.json",
    project_file=".vscode/mcp.json",
    root="servers",
    server={"type": "stdio"},
    form=RELAXED,
    instead="its agents run Claude Code's hooks: sb install claude-code; sb install vscode --mcp connects the MCP server",
)
