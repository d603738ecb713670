"""Where Claude Code keeps the MCP servers that it starts."""

from __future__ import annotations

from collections.abc import Iterator

from sb.hosts.install.host import Places
from sb.hosts.servers import Source


def sources(places: Places) -> Iterator[Source]:
    """The settings that name servers: of the user, then of the project."""
    named = places.env.get("CLAUDE_CONFIG_DIR", "")
    file = (places.named("CLAUDE_CONFIG_DIR", "") if named else places.home) / ".claude.json"
    yield Source(file, ("mcpServers",))
    for folder in dict.fromkeys((places.project, places.cwd)):
        yield Source(file, ("projects", str(folder), "mcpServers"))
    yield Source(places.project / ".mcp.json", ("mcpServers",))
