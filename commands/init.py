"""`sb init`: create the database and the configuration."""

from __future__ import annotations

import sys

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, single
from sb.commands.session import configuration

from sb.runtime import create_home

app = single()


@app.command(epilog="Example: sb init")
def init(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Create the database and configuration that are missing.

    What exists stays as it is.
    """
    config = configuration(ctx)
    made = create_home(config)
    if as_json:
        output.emit_json({"home": str(config.home.folder), "made": [str(path) for path in made]})
        return
    for path in made:
        output.line(f"made {path}")
    if not made:
        output.line(f"nothing to create: {config.home.folder} is set up")
    if not config.operators.file.exists():
        _offer_enrolment(ctx)
    note(
        "next: connect a coding agent (sb install HOST); `sb scan` shows what it would have stopped in past sessions"
    )
    note(
        f"next: name the folders that agents may use (files.roots) in {config.home.config_file}, then `sb doctor`"
    )


def _offer_enrolment(ctx: typer.Context) -> None:
    """Enrol the person at the terminal, if there is one who wants it."""
    from sb.commands.operator import enrol

    if sys.stdin.isatty() and sys.stdout.isatty():
        note("An operator signs decisions with a key; without one, decisions prove nothing.")
        if typer.confirm("Enroll yourself now?", default=True):
            enrol(ctx)
            return
    note("no operator is enrolled: sb operator init")
