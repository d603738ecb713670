"""`sb install`: connect a coding agent, so that its host calls `sb` before and after each tool call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from sb.commands import agents_md, output
from sb.commands.diagnostics import note
from sb.commands.file_changes import confirm, described
from sb.commands.options import AsJson, Yes, single
from sb.commands.serve import require_sdk
from sb.commands.session import approval_queue, configuration, decider

from sb.base.text import counted, plain
from sb.config import Config
from sb.config.home import Home
from sb.errors import SBError
from sb.hosts.install.environment import Environment
from sb.hosts.install.host import Host, Places
from sb.hosts.install.installing import Installer
from sb.hosts.install.sharing import committed_warning
from sb.hosts.registry import host_settings
from sb.hosts.server_approvals import approve_server, server_states, server_steps
from sb.hosts.servers import configured_servers
from sb.kernel.calls.servers import Server
from sb.runtime import create_home

_SIGN = "approve and sign the contracts of this release: sb doctor --fix"
app = single()


class Scope(StrEnum):
    USER = "user"
    PROJECT = "project"


DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change; write nothing.")]


@app.command(epilog="Example: sb install claude-code --dry-run")
def install(
    ctx: typer.Context,
    name: agents_md.HostOrFile,
    scope: Annotated[Scope, typer.Option(help="All of your projects, or this one.")] = Scope.USER,
    fail_closed: Annotated[
        bool, typer.Option("--fail-closed", help="Have the host deny calls when a hook fails.")
    ] = False,
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Connect it to the MCP server, instead of hooks.")
    ] = False,
    project: agents_md.Project = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Connect an agent: hooks in its settings, or the MCP server.

    Shows the change and asks first. Your own entries stay, and the file is backed up. Makes the home and its database
    where they are missing.
    """
    if agents_md.is_meant(name, project, scope == Scope.PROJECT, fail_closed, mcp):
        agents_md.install(project, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    if mcp:
        require_sdk()
    host, installer = host_settings(name), open_installer()
    change = installer.plan_install(
        host, scope=scope, fail_closed=fail_closed, server=mcp, confine=_confines(ctx)
    )
    if change.needed and not as_json:
        output.line(change.diff, one_line=False)
    if not dry_run:
        if change.needed and not yes:
            confirm(f"write {change.current.path}?", [change.diff])
        installer.install(change)
    config = configuration(ctx, quietly=True)
    made = [] if dry_run or config.database.exists() else create_home(config)
    renewed, unsigned = ([], 0) if dry_run else _renew_contracts(config)
    warning = committed_warning(change) if scope is Scope.PROJECT else ""
    connected = change.needed and not dry_run
    servers = [] if mcp else configured_servers(host.name, os.environ, Path.cwd())
    host = change.host
    if as_json:
        steps = _next_steps(host, servers) if connected else []
        steps += [_SIGN] if unsigned else []
        more = {"scope": str(scope), "next_steps": steps, "made": [str(path) for path in made]}
        more |= {"contracts": renewed}
        output.emit_json({**described(host.name, change, dry_run), **more, "warning": warning or None})
        return
    for path in made:
        output.line(f"made {path}")
    calls = "names the MCP server" if mcp else "calls sb"
    done = "would be changed" if dry_run else f"now {calls}"
    output.line(f"{change.current.path} {done if change.needed else f'already {calls}'}")
    if renewed:
        output.line(f"approved the contracts of this release: {', '.join(renewed)}")
    if unsigned:
        note(
            f"warning: {counted(unsigned, 'contract')} of this release must be signed, or their calls are denied"
        )
        note(f"next: {_SIGN}")
    if warning:
        note(f"warning: {warning}")
    if not connected:
        return
    if servers and not yes:
        servers = _offer_servers(ctx, host)
    for step in _next_steps(host, servers):
        note(f"next: {step}")


def _confines(ctx: typer.Context) -> bool:
    """True if hosts are to start commands in confinement."""
    return configuration(ctx, quietly=True).hooks.confine != "off"


def _renew_contracts(config: Config) -> tuple[list[str], int]:
    """Approve the contracts of shipped tools that an upgrade changed; an operator, if there is one, has to sign them.

    Returns:
        The tools, and how many contracts wait for a signature.
    """
    from sb.kernel.baselines.seeding import approve_outdated, installation, outdated_contracts
    from sb.runtime.parts import open_log, open_surfaces, shipped_registry

    try:
        log = open_log(config)
        with closing(log.database):
            shipped, stores = shipped_registry(config), open_surfaces(config, log)
            outdated = outdated_contracts(stores, shipped)
            if not outdated or stores[0].authority.enrolled():
                return [], len(outdated)
            approve_outdated(stores, installation(), shipped)
    except SBError as error:  # the host is connected all the same
        note(f"warning: the contracts of this release were not compared: {error.message}")
        return [], 0
    return sorted({contract.tool_id for contract in outdated}), 0


def _offer_servers(ctx: typer.Context, host: Host) -> list[Server]:
    """Ask at the terminal which of the host's MCP servers to approve; returns those that still wait for it.

    Not with --yes: an agent can pass that, and may not approve its own servers.
    """
    queue, config = approval_queue(ctx), configuration(ctx)
    states = server_states(queue, config, host.name, os.environ, Path.cwd())
    waiting = [state.server for state in states if state.grant is None]
    chosen = [server for server in waiting if _confirmed(server)]
    if chosen:
        by = decider(ctx, queue.authority, "")
        for server in chosen:
            approve_server(queue, config, host.name, server, by, "approved at sb install")
    return [server for server in waiting if server not in chosen]


def _confirmed(server: Server) -> bool:
    for entry in server.entries:
        note(f"MCP server {plain(server.name, one_line=True)}: {plain(entry, one_line=True)}")
    return typer.confirm(f"approve MCP server {plain(server.name, one_line=True)}?", err=True)


def _next_steps(host: Host, servers: Sequence[Server]) -> list[str]:
    advice = Environment().advice
    return [
        *host.steps,
        "check the installation: sb doctor",
        *server_steps(host.name, servers),
        *(["try the MCP server: sb serve mcp --doctor"] if not host.has_hooks else []),
        "watch its calls: sb console",
        "see what it would have stopped in past sessions: sb scan",
        *([advice] if advice else []),
    ]


def open_installer() -> Installer:
    return Installer(Home.locate(os.environ), Places(os.environ, Path.cwd()))
