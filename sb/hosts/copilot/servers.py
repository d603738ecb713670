"""Where Copilot CLI keeps the MCP servers that it starts."""

from __future__ import annotations

from collections.abc import Iterator

from sb.hosts.install.host import Places
from sb.hosts.servers import Source

BUILT_IN = ("github-mcp-server",)  # comes with the program, and is in no settings


def sources(places: Places) -> Iterator[Source]:
    """The settings that name servers: of the user, then of the project."""
    yield Source(places.named("COPILOT_HOME", ".copilot") / "mcp-config.json", ("mcpServers",))
    yield Source(places.project / ".mcp.json", ("mcpServers",))
    yield Source(places.project / ".github" / "mcp.json", ("mcpServers",))
