"""`sb sources`: list and check the registered sources of context."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, group
from sb.commands.session import configuration

from sb.base.duration import parse_duration
from sb.errors import ExitCode
from sb.present.rules import SOURCE

app = group()


@app.command(name="list", epilog="Example: sb sources list")
def list_sources(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List registered sources, with owner, age limit and trust."""
    from sb.runtime.parts import open_authority, open_log, open_sources

    config = configuration(ctx)
    log = open_log(config)
    sources = list(open_sources(config, log, open_authority(config, log)).load())
    if as_json:
        items = [SOURCE.to_dict(source) for source in sources]
        output.emit_json({"mode": config.context_sources, "items": items})
        return
    if sources:
        output.records(SOURCE, sources)
    else:
        note(f"no sources yet; write {config.home.context_sources}")
    off = "; observe or enforce in config.yaml switches sources on"
    note(f"context_sources is {config.context_sources}{off if config.context_sources == 'off' else ''}")


@app.command(epilog="Example: sb sources check https://wiki.example.org/refunds --age 2h")
def check(
    ctx: typer.Context,
    uri: Annotated[str, typer.Argument(metavar="URI", help="The address or path that is read.")],
    age: Annotated[str, typer.Option(help="How long ago it was read, such as 2h.")] = "0s",
    write: Annotated[bool, typer.Option("--write", help="Ask whether it may be written.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say whether context may come from an address; exit 4 if not."""
    from sb.kernel.context_sources.sources import SourceRefused
    from sb.runtime.parts import open_authority, open_log, open_sources

    seconds = parse_duration(age)
    config = configuration(ctx)
    log = open_log(config)
    sources = open_sources(config, log, open_authority(config, log)).load()
    source, rule, reason = "", "", ""
    try:
        found = (
            sources.check_write(uri) if write else sources.check_read(uri, read_at=log.clock.now() - seconds)
        )
        source = found.source_id
    except SourceRefused as refused:
        rule, reason = refused.rule, refused.message
    if as_json:
        output.emit_json({"ok": not rule, "source": source, "rule": rule, "reason": reason})
    else:
        output.line(reason or f"{uri} belongs to source {source}")
    raise typer.Exit(ExitCode.DENIED if rule else ExitCode.OK)
