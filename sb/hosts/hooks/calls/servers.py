"""Find the MCP server of a call in its host's settings, when a call needs it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sb.hosts.hooks.event import NativeCall, Server


def servers_of(host: str, cwd: Path) -> Callable[[NativeCall], Server]:
    """What finds the server of a call; the settings are read when it is first asked."""

    def find(call: NativeCall) -> Server:
        from sb.hosts.servers import built_in_servers, configured_servers, server_of  # few calls need it

        return server_of(call, [*configured_servers(host, os.environ, cwd), *built_in_servers(host)])

    return find
