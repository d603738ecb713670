"""The servers of Rules: the MCP servers that hosts start, and whether they were approved in advance."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.kind_view import KindView

from sb.hosts.install.records import installed_hosts
from sb.hosts.server_approvals import ServerState, server_states
from sb.kernel.approvals.decisions import Approvals
from sb.present.rules import SERVER, ShownServer


class ServersScreen(KindView[ShownServer]):
    """MCP servers in the settings of installed hosts, as they hold for the folder that the console was started in."""

    name_ = "servers"
    parts = ("servers", LISTS, RECORDS, PANELS)
    heading = "Rules"
    kind = SERVER
    noun = "Server"
    gone = "no host starts this server here"
    empty = "No MCP servers in the settings of your hosts here.\n\nsb approvals servers HOST lists those of another folder."
    BINDINGS = bindings("servers")

    def read_items(self) -> Sequence[ShownServer]:
        config = self.records.config
        queue = Approvals(self.records.log("rows"), self.records.authority())
        here = Path.cwd()
        return [
            _shown(host, state)
            for host in installed_hosts(config.home)
            for state in server_states(queue, config, host, os.environ, here)
        ]

    def reference(self, item: ShownServer) -> str:
        return f"{item.host} {item.name}"

    def command(self) -> str:
        if self.current is None:
            return ""
        name = shlex.quote(self.current.name)
        return f"sb approvals servers {self.current.host} --approve {name} --reason WHY"


def _shown(host: str, state: ServerState) -> ShownServer:
    starts = "\n".join(state.server.entries) or str(state.server.configured)
    grant = state.grant.id if state.grant else ""
    return ShownServer(state.server.name, host, starts, grant, str(state.server.digest))
