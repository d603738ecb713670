"""`sb status`: what waits, who is connected, what is enforced; also `sb` without a command."""

from __future__ import annotations

import shutil

import typer
from sb.commands import output
from sb.commands.options import AsJson, single
from sb.commands.session import configuration
from sb.commands.terminal import fits_terminal

app = single()


@app.command(epilog="Example: sb status")
def status(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show what needs you, who is connected, what is enforced."""
    from sb.operator.attention.summary import summary

    found = summary(configuration(ctx))
    if as_json:
        output.emit_json(found.to_dict())
        return
    width = shutil.get_terminal_size().columns if fits_terminal() else 0
    for line in found.lines(width):
        output.line(line, tones=found.tones())
