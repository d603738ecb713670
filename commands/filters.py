"""`sb filters`: list, save and delete the filters that lists and searches take by their names."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, group
from sb.commands.session import configuration

from sb.operator.saved_filters import SavedFilter, SavedFilters

app = group()
Name = Annotated[str, typer.Argument(metavar="NAME", help="The filter's name.")]


@app.command(name="list", epilog="Example: sb filters list")
def list_filters(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List saved filters, and why one cannot be read any more."""
    known = SavedFilters(configuration(ctx).home).all()
    if as_json:
        output.emit_json({"items": [_item(name, saved) for name, saved in known.items()]})
    elif known:
        rows = [(name, saved.text, saved.problem) for name, saved in known.items()]
        output.table(["name", "filter", ""], rows)
    else:
        note("no saved filters: sb filters save NAME FILTER")


@app.command(epilog="Example: sb filters save refunds agent:clerk tool:payments.* since:7d")
def save(
    ctx: typer.Context,
    name: Name,
    words: Annotated[
        list[str], typer.Argument(metavar="FILTER", help='Terms as agent:clerk since:7d "rm -rf".')
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a filter of this name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Save a filter under a name, without the secrets in it."""
    from sb.operator.filters import filter_of

    text = filter_of("", words, {}).text
    saved = SavedFilters(configuration(ctx).home).save(name, text, replace=replace)
    if as_json:
        output.emit_json(_item(name, saved))
    else:
        output.line(f"saved {name}: {saved.text}")


@app.command(epilog="Example: sb filters delete refunds")
def delete(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Delete a saved filter."""
    SavedFilters(configuration(ctx).home).delete(name)
    if as_json:
        output.emit_json({"name": name, "deleted": True})
    else:
        output.line(f"deleted {name}")


def _item(name: str, saved: SavedFilter) -> dict[str, str]:
    return {"name": name, "filter": saved.text, "sort": saved.sort, "problem": saved.problem}
