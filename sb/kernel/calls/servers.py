"""MCP servers of hosts, and whether an operator approved them in advance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sb.kernel.calls.approval import Grant


class Server(NamedTuple):
    """The server of a tool.

    Args:
        name: as its host's settings name it, or "".
        configured: its command or address, for display; "" if it is not known.
        digest: of its configuration, without secrets; "" if it is not known.
        entries: each of its entries in full, for who approves all of them; secrets are masked.
    """

    name: str = ""
    configured: str = ""
    digest: str = ""
    entries: tuple[str, ...] = ()

    @property
    def grant_key(self) -> str:
        """The key of an approval of the server."""
        return f"mcp {self.name} {self.digest}"


class ServerState(NamedTuple):
    """A configured server of a host, and the grant that approves it as it is now, or None."""

    server: Server
    grant: Grant | None
    host: str

    def to_dict(self) -> dict[str, Any]:
        """The state as plain JSON."""
        return {
            "server": self.server.name,
            "configured": self.server.configured,
            "entries": list(self.server.entries),
            "digest": self.server.digest,
            "grant": self.grant.id if self.grant else None,
        }
