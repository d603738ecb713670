"""The servers of Rules: the MCP servers that hosts start, and whether they were approved in advance."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.kind_view import KindView

from sb.hosts.install.records import installed_hosts
from sb.hosts.server_approvals import server_states
from sb.kernel.approvals.decisions import Approvals
from sb.kernel.calls.servers import ServerState
from sb.present.rules import SERVER


class ServersScreen(KindView[ServerState]):
    """MCP servers in the settings of installed hosts, as they hold for the folder that the console was started in."""

    name_ = "servers"
    parts = ("servers", LISTS, RECORDS, PANELS)
    heading = "Rules"
    kind = SERVER
    noun = "Server"
    gone = "no host starts this server here"
    empty = "No MCP servers in the settings of your hosts here.\n\nsb approvals servers HOST lists those of another folder."
    BINDINGS = bindings("servers")

    def read_items(self) -> Sequence[ServerState]:
        config = self.records.config
        queue = Approvals(self.records.log("rows"), self.records.authority())
        here = Path.cwd()
        return [
            state
            for host in installed_hosts(config.home)
            for state in server_states(queue, config, host, os.environ, here)
        ]

    def reference(self, item: ServerState) -> str:
        return f"{item.host} {item.server.name}"

    def command(self) -> str:
        if self.current is None:
            return ""
        name = shlex.quote(self.current.server.name)
        return f"sb approvals servers {self.current.host} --approve {name} --reason WHY"
