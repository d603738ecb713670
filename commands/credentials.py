"""`sb credentials`: list where credentials come from, and try to fetch one."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, group
from sb.commands.session import configuration

from sb.base.text import nearest
from sb.errors import ExitCode, NotFoundError

app = group()


@app.command(name="list", epilog="Example: sb credentials list")
def list_sources(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List credentials by name, with where their values are."""
    sources = configuration(ctx).credentials
    if as_json:
        output.emit_json(
            {"items": [{"name": name, "source": str(source)} for name, source in sources.items()]}
        )
        return
    if sources:
        output.table(["name", "source"], [(name, str(source)) for name, source in sources.items()])
    else:
        note("no credentials: `credentials` in config.yaml names them")


@app.command(epilog="Example: sb credentials check billing")
def check(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of a credential.")],
    as_json: AsJson = False,
) -> None:
    """Fetch a credential, and print whether that worked."""
    from sb.kernel.registry.credentials import Credentials
    from sb.kernel.results import ToolError

    config = configuration(ctx)
    if name not in config.credentials:
        raise NotFoundError(
            f"no credential {name!r}{nearest(name, config.credentials)}", "sb credentials list"
        )
    problem = ""
    try:
        Credentials(config.credentials, config.home.folder).value(name)
    except ToolError as error:
        problem = str(error)
    if as_json:
        output.emit_json({"name": name, "ok": not problem, "problem": problem})
    else:
        output.line(problem or f"ok: {name} can be fetched")
    raise typer.Exit(ExitCode.FAILED if problem else ExitCode.OK)
