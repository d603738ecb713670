"""Approve the MCP servers of a host in advance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sb.base.text import counted, nearest
from sb.errors import NotFoundError
from sb.hosts.registry import WITH_SERVERS
from sb.hosts.servers import configured_servers
from sb.kernel.calls.servers import Server, ServerState

if TYPE_CHECKING:
    from sb.config import Config
    from sb.kernel.approvals.decisions import Approvals
    from sb.kernel.authority.signing import Decider
    from sb.kernel.calls.approval import Grant


def server_steps(host: str, waiting: Sequence[Server]) -> list[str]:
    """The next step for a host's user: approve the servers that wait, if any do."""
    step = f"approve its {counted(len(waiting), 'MCP server')}: sb approvals servers {host}"
    return [step] if waiting else []


def server_states(
    approvals: Approvals, config: Config, host: str, env: Mapping[str, str], cwd: Path
) -> list[ServerState]:
    """The servers that a host's settings name for a folder, and whether they are approved.

    Raises:
        NotFoundError: no settings of servers are known for the host.
    """
    from sb.kernel.calls.approval import STANDING
    from sb.tools.hosted.contracts import MCP

    if host not in WITH_SERVERS:
        raise NotFoundError(
            f"no servers of host {host!r}{nearest(host, WITH_SERVERS)}", ", ".join(WITH_SERVERS)
        )
    fingerprint = _fingerprint(config)
    grants = {
        grant.args.get(STANDING): grant
        for grant in approvals.grants()
        if (grant.agent, grant.tool_id, grant.fingerprint) == (host, MCP, fingerprint)
    }
    return [
        ServerState(server, grants.get(server.grant_key), host)
        for server in configured_servers(host, env, cwd)
    ]


def approve_server(
    approvals: Approvals, config: Config, host: str, server: Server, by: Decider, reason: str
) -> Grant:
    """Approve a server as it is configured now; raises as `Approvals.settle`."""
    from sb.tools.hosted.contracts import MCP

    return approvals.settle(host, MCP, _fingerprint(config), server.grant_key, by, reason)


def _fingerprint(config: Config) -> str:
    from sb.runtime.parts import hosted_registry
    from sb.tools.hosted.contracts import MCP

    tool = hosted_registry(config).tool(MCP)
    assert tool is not None
    return tool.current_fingerprint()
