"""`sb backup`: copy the database while it is in use."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import progress
from sb.commands.options import AsJson, single
from sb.commands.session import configuration

from sb.errors import UsageError
from sb.store.backup import back_up, back_up_files
from sb.store.database import open_database

app = single()


@app.command(epilog="Example: sb backup /mnt/backups/monday --all")
def backup(
    ctx: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(help="A new folder; by default SB_HOME/backups/TIME.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also copy anchors, configuration and file snapshots.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the database, checked, into a new folder."""
    config = configuration(ctx)
    target = folder or config.home.folder / "backups" / time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime())
    if target.resolve().is_relative_to(config.home.snapshots.resolve()):
        raise UsageError(f"{target} is inside the snapshot folder", "choose another one")
    database = open_database(config.database, create=False)
    try:
        size = back_up(database, target / config.database.name, progress=progress("copying"))
    finally:
        database.close()
    home = config.home
    also = [home.config_file, home.anchors, home.statements, home.workflows, home.trusted, home.digest_key]
    extra = [*also, home.snapshots] if everything else []
    copies = [target / config.database.name, *back_up_files(extra, target)]
    if as_json:
        output.emit_json({"folder": str(target), "bytes": size, "files": [copy.name for copy in copies]})
    else:
        output.line(f"{', '.join(copy.name for copy in copies)} copied to {target}")
