"""`sb approvals servers`: the MCP servers of a host, and their approval in advance."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.arguments import require_reason
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, DecisionReason, single
from sb.commands.session import approval_queue, configuration, decider

from sb.base.text import nearest
from sb.errors import NotFoundError

if TYPE_CHECKING:
    from sb.kernel.calls.servers import ServerState

app = single()


@app.command(epilog="Example: sb approvals servers claude-code --approve github --reason 'our issues'")
def servers(
    ctx: typer.Context,
    host: Annotated[str, typer.Argument(metavar="HOST", help="The host, such as claude-code.")],
    approve: Annotated[
        list[str] | None, typer.Option("--approve", help="Approve this server; may be repeated.")
    ] = None,
    reason: DecisionReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """List a host's MCP servers, or approve them in advance.

    An approval counts until the server's configuration changes; tools that delete or run something ask each time.
    """
    from sb.hosts.server_approvals import approve_server, server_states

    names = approve or []
    if names:
        require_reason(reason)
    config, queue = configuration(ctx, quietly=True), approval_queue(ctx)

    def states() -> list[ServerState]:
        return server_states(queue, config, host, os.environ, Path.cwd())

    known = {state.server.name: state.server for state in states()}
    for name in names:
        if name not in known:
            raise NotFoundError(f"no MCP server {name!r} of {host}{nearest(name, known)}", ", ".join(known))
    if names:
        by = decider(ctx, queue.authority, who)
        for name in names:
            approve_server(queue, config, host, known[name], by, reason)
    if as_json:
        output.emit_json({"items": [state.to_dict() for state in states()]})
        return
    for state in states():
        approved = f"approved ({state.grant.id})" if state.grant else "not approved"
        for entry in state.server.entries or (state.server.configured,):
            output.line(f"{state.server.name}: {approved}: {entry}")
    if not known:
        note(f"no MCP servers in the settings of {host} for this folder")
