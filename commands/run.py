"""`sb run`: start a coding agent's host in confinement."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from sb.commands.diagnostics import note
from sb.commands.options import HostName, single
from sb.commands.session import configuration

app = single()


@app.command(epilog="Example: sb run codex -- --model gpt-5")
def run(
    ctx: typer.Context,
    host: HostName,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS...", help="What its program is given; after --.")
    ] = None,
    program: Annotated[str, typer.Option(metavar="PATH", help="Its program, if it is not on PATH.")] = "",
    using: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME", help="Let it use this program's credentials, such as git."),
    ] = None,
) -> None:
    """Start a coding agent's host in confinement.

    It, and all that it starts, writes to this project, its own state, temporary folders and caches alone, whatever
    anybody approves. Ends with the exit code of its program; 2 where it cannot be confined.
    """
    from sb.base.sources import SYSTEM_CLOCK
    from sb.hosts.running import HostRun

    host_run = HostRun(configuration(ctx), host, os.environ, Path.cwd(), SYSTEM_CLOCK)
    code, moved = host_run.run(arguments or [], program=program, using=using or [])
    for clause in moved:
        note(f"warning: {clause}")
    raise typer.Exit(code)
