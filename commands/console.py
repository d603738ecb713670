"""`sb console`: the operator's screens."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from sb.commands.session import configuration

from sb.errors import UsageError

app = typer.Typer(
    help="Watch agents work, and decide, in a full-screen console.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def console(
    ctx: typer.Context,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show everything, decide nothing.")] = False,
    operator: Annotated[
        str, typer.Option("--as", help="The operator who decides, where this home has several keys.")
    ] = "",
) -> None:
    """Watch agents work, and decide, in a full-screen console."""
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):  # it draws on stderr
        raise UsageError("the console needs a terminal", "sb console --plain prints a screen as lines")
    config = configuration(ctx)
    from sb.screens.app import ConsoleApp
    from sb.screens.state.records import Records

    records = Records(config)
    try:
        ConsoleApp(records, read_only=read_only, operator=operator).run()
    finally:
        records.close()
