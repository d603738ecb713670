"""`sb entity search|load|status`: read an agent's core."""

from __future__ import annotations

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import typed
from sb.commands.options import AsJson, Query, Tokens, Work, single
from sb.commands.stacks import (
    OPERATOR,
    Context,
    Kinds,
    Limit,
    OfCore,
    Reader,
    ReadFrom,
    opened_core,
    read_from,
    show_loaded,
    show_results,
)

app = single()


@app.command(epilog='Example: sb entity search "who reviews migrations" --agent scribe')
def search(
    ctx: typer.Context,
    query: Query,
    limit: Limit = 10,
    kind: Kinds = None,
    context: Context = "",
    agent: Reader = "",
    scope: ReadFrom = "",
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Search the active stack."""
    query = typed(query, "question")
    with opened_core(ctx, agent or OPERATOR, stack, scope=read_from(agent, scope)) as core:
        show_results(
            query, core.search(query, limit=limit, record_types=kind, context=context or None), json_
        )


@app.command(epilog="Example: sb entity load --agent scribe --tokens 2000")
def load(
    ctx: typer.Context,
    tokens: Tokens = 8000,
    context: Work = "",
    agent: Reader = "",
    scope: ReadFrom = "",
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Print the memories a core should start with."""
    with opened_core(ctx, agent or OPERATOR, stack, scope=read_from(agent, scope)) as core:
        show_loaded(core.load(token_budget=tokens, context=context or None), json_)


@app.command(epilog="Example: sb entity status --agent scribe")
def status(
    ctx: typer.Context,
    agent: Reader = "",
    scope: ReadFrom = "",
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Show what the core consists of."""
    with opened_core(ctx, agent or OPERATOR, stack, scope=read_from(agent, scope)) as core:
        report = core.status()
    if json_:
        output.emit_json(report)
        return
    output.line(f"core: {report['core_id']}", one_line=True)
    output.line(f"model: {report['model'] or 'none'}", one_line=True)
    for stack_id, item in report["stacks"].items():
        known_as = f" ({item['alias']})" if item["alias"] else ""
        counts = ", ".join(f"{count:,} {kind}" for kind, count in item["stats"].items() if count) or "empty"
        active = ", active" if item["active"] else ""
        output.line(f"stack: {stack_id}{known_as}{active}: {counts}", one_line=True)
    for name, item in report["plugins"].items():
        health = item["health"]
        standing = "healthy" if health["healthy"] else f"NOT healthy: {health['message']}"
        output.line(f"plugin: {name} {item['version']}, {standing}", one_line=True)
    if not report["stacks"]:
        note("no stack could be attached: --stack STACK, or sb checkpoint restore")
