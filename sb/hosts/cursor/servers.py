"""Where Cursor keeps the MCP servers that it starts."""

from __future__ import annotations

from collections.abc import Iterator

from sb.hosts.install.host import Places
from sb.hosts.servers import Source


def sources(places: Places) -> Iterator[Source]:
    """The settings that name servers: of the user, then of the project."""
    yield Source(places.home / ".cursor" / "mcp.json", ("mcpServers",))
    yield Source(places.project / ".cursor" / "mcp.json", ("mcpServers",))
