"""`sb memory signals list|show|log`: signals of the whitepaper beside ranking, off by default."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import MemoryOptions, with_times
from sb.commands.options import Results, group

app = group("Show signals of memories, such as affect or expertise.")


@app.command("list", epilog="Example: sb memory signals list")
def list_(ctx: typer.Context, at: MemoryOptions) -> None:
    """List signals, and whether each is on."""
    with at.memory(ctx) as brain:
        _answer(brain.signals.listed(), at.json_)


@app.command(epilog="Example: sb memory signals show expertise --about payments")
def show(
    ctx: typer.Context,
    at: MemoryOptions,
    signal: Annotated[str, typer.Argument(metavar="SIGNAL", help="Name, as `list` has it.")],
    about: Annotated[str, typer.Option(help="Topic, for expertise and perspectives.")] = "",
    of: Annotated[str, typer.Option(metavar="AGENT", help="Only what is about this agent.")] = "",
    limit: Results = 20,
) -> None:
    """Show what a signal that is on says now."""
    with at.memory(ctx) as brain:
        _answer(brain.signals.show(signal, about=about, of=of, limit=limit), at.json_)


@app.command(epilog="Example: sb memory signals log replay")
def log(
    ctx: typer.Context,
    at: MemoryOptions,
    signal: Annotated[str, typer.Argument(metavar="[SIGNAL]", help="Name; by default all.")] = "",
    limit: Results = 20,
) -> None:
    """Show what signals changed, newest first."""
    with at.memory(ctx) as brain:
        _answer(brain.signals.log(signal, limit), at.json_)


def _answer(items: list[dict[str, Any]], json_: bool) -> None:
    shown = [with_times(item) for item in items]
    if json_:
        output.emit_json({"items": shown})
        return
    names = list(dict.fromkeys(name for item in shown for name in item))
    if shown:
        output.table(names, [[_cell(item.get(name)) for name in names] for item in shown])
    else:
        note("nothing to show")


def _cell(value: Any) -> str:
    """A value in a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else f"{value:g}" if isinstance(value, float) else str(value)
