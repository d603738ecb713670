"""`sb migrate`: bring the database to this version's schema."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, single
from sb.commands.session import configuration

from sb.base.sources import SYSTEM_CLOCK
from sb.config import Config
from sb.errors import ExitCode, SBError, StoreError
from sb.kernel.durable_execution.seals import MIGRATION, Seals
from sb.log.event_log import EventLog
from sb.runtime.parts import adopt_log
from sb.store import migrate as schema
from sb.store.backup import back_up
from sb.store.database import Database

app = single()


@app.command(epilog="Example: sb migrate --status")
def migrate(
    ctx: typer.Context,
    status: Annotated[
        bool, typer.Option("--status", help="Show the state of each migration; exit 1 if amiss.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be applied, and apply nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Apply missing migrations after a backup.

    With --status, exit 1 if something is amiss.
    """
    config = configuration(ctx)
    if not config.database.is_file():
        raise StoreError(f"no database at {config.database}", "make one with `sb init`")
    database = Database(config.database)
    try:
        if schema.is_empty(database.query):
            raise StoreError(f"database {config.database} is empty", "make it with `sb init`")
        if status or dry_run:
            lines = schema.status(database.query)
            _print([line for line in lines if status or line.state != "applied"], as_json)
            amiss = any(line.state in ("partial", "drifted") for line in lines)
            raise typer.Exit(ExitCode.FAILED if amiss else ExitCode.OK)
        _print(_apply(database, config), as_json)
    finally:
        database.close()


def _apply(database: Database, config: Config) -> list[schema.MigrationStatus]:
    home = config.home
    schema.refuse_newer(database.query, database.path)
    unchanged = all(line.state == "applied" for line in schema.plan(database.query))
    if unchanged and schema.version(database.query) == schema.latest():
        return []
    copy = (
        home.folder
        / "backups"
        / time.strftime("before-migrate-%Y-%m-%dT%H%M%SZ", time.gmtime())
        / Path(database.path).name
    )
    back_up(database, copy)
    note(f"backup: {copy}")
    log = EventLog.of_home(database, home, make_key=True)
    if MIGRATION not in schema.recorded(database.query):
        with suppress(SBError):  # operators that cannot be relied on are mended with the new schema
            adopt_log(config, log)
    with database.write(power=True) as execute:
        done = schema.upgrade(execute, now=SYSTEM_CLOCK.now())
        Seals(log).adopt(execute, [line.number for line in done])
    return done


def _print(lines: list[schema.MigrationStatus], as_json: bool) -> None:
    if as_json:
        output.emit_json({"items": [line._asdict() for line in lines]})
    elif lines:
        output.table(
            ["migration", "state", "missing or changed"],
            [(f"{line.number:04d}_{line.name}", line.state, ", ".join(line.differing)) for line in lines],
        )
    else:
        note("the schema is current")
