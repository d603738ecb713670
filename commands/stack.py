"""`sb stack`: create, search and maintain stacks of memories."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import typed
from sb.commands.options import AsJson, MinConfidence, Query, Tokens, Work, group
from sb.commands.stack_files import app as files_app
from sb.commands.stacks import (
    Context,
    Kinds,
    Limit,
    Reader,
    ReadFrom,
    StackName,
    one_of,
    open_stack,
    scopes_of,
    show_loaded,
    show_results,
    stack_database,
)

from sb.present.kind import plain_json

app = group()


@app.command(name="list", epilog="Example: sb stack list")
def list_stacks(ctx: typer.Context, agent: Reader = "", scope: ReadFrom = "", json_: AsJson = False) -> None:
    """List the stacks of the database."""
    from sb.stack.catalogue import all_stacks

    with stack_database(ctx) as (database, config):
        found = all_stacks(database, core=agent or None, scopes=scopes_of(database, config, agent, scope))
    if json_:
        output.emit_json({"items": [stack_entry.as_json() for stack_entry in found]})
        return
    if not found:
        note("no stacks yet: sb stack create STACK")
        return
    output.table(
        ["stack", "state", "memories", "forgotten", "private"],
        [
            (
                stack_entry.stack_id,
                stack_entry.state,
                f"{stack_entry.memories:,}",
                f"{stack_entry.forgotten:,}",
                f"{stack_entry.private:,}",
            )
            for stack_entry in found
        ],
    )


@app.command(epilog="Example: sb stack show default")
def show(
    ctx: typer.Context, stack: StackName, agent: Reader = "", scope: ReadFrom = "", json_: AsJson = False
) -> None:
    """Show a stack, and how much is in it."""
    from sb.stack.catalogue import one_stack

    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=scope)
        scopes = scopes_of(database, config, agent, scope)
        entry = one_stack(database, stack, core=agent or None, scopes=scopes)
        fields: dict[str, Any] = entry.as_json() | {
            "file": opened.path,
            "schema_version": opened.schema_version,
            "enforce_provenance": opened.enforce_provenance,
            "components": list(opened.components),
            "changes_to_sync": opened.get_pending_sync_count(),
        }
    if json_:
        output.emit_json(fields)
        return
    for name, value in fields.items():
        if name == "memories":
            of_kinds = ", ".join(f"{count:,} {kind}" for kind, count in fields["kinds"].items())
            output.line(f"memories: {value:,}" + (f" ({of_kinds})" if of_kinds else ""), one_line=True)
        elif name != "kinds":
            shown = ", ".join(value) if isinstance(value, list) else value
            output.line(f"{name.replace('_', ' ')}: {shown}", one_line=True)


@app.command(epilog="Example: sb stack create research")
def create(
    ctx: typer.Context,
    stack: Annotated[str, typer.Argument(metavar="STACK", help="Its name.")],
    json_: AsJson = False,
) -> None:
    """Create an empty stack."""
    from sb.stack.catalogue import make_stack, one_stack

    with stack_database(ctx, create=True) as (database, _):
        make_stack(database, stack)
        made = one_stack(database, stack)
    if json_:
        output.emit_json(made.as_json())
    else:
        output.line(stack, one_line=True)
        note("sb entity note TEXT --stack STACK saves the first memory")


@app.command(epilog='Example: sb stack search default "who reviews migrations"')
def search(
    ctx: typer.Context,
    stack: StackName,
    query: Query,
    limit: Limit = 10,
    kind: Kinds = None,
    context: Context = "",
    min_confidence: MinConfidence = None,
    agent: Reader = "",
    scope: ReadFrom = "",
    json_: AsJson = False,
) -> None:
    """Search the memories of a stack."""
    query = typed(query, "question")
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=scope)
        found = opened.search(
            query, limit=limit, record_types=kind, context=context or None, min_confidence=min_confidence
        )
    show_results(query, found, json_)


@app.command(epilog="Example: sb stack load default --tokens 2000")
def load(
    ctx: typer.Context,
    stack: StackName,
    tokens: Tokens = 8000,
    context: Work = "",
    agent: Reader = "",
    scope: ReadFrom = "",
    json_: AsJson = False,
) -> None:
    """Print the memories an agent should start with."""
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=scope)
        found = opened.load(token_budget=tokens, context=context or None)
    show_loaded(found, json_)


@app.command(epilog="Example: sb stack dump default --format json")
def dump(
    ctx: typer.Context,
    stack: StackName,
    format_: Annotated[
        str, typer.Option("--format", help="markdown or json.", autocompletion=one_of("markdown", "json"))
    ] = "markdown",
    raw: Annotated[bool, typer.Option("--raw/--no-raw", help="Also raw entries.")] = True,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="Also forgotten memories.")] = False,
    agent: Reader = "",
    scope: ReadFrom = "",
) -> None:
    """Print everything in a stack."""
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=scope)
        whole = opened.dump(format=format_, include_raw=raw, include_forgotten=forgotten)
    if format_ == "json":  # to be read by programs: character by character what is kept
        output.emit_json(json.loads(whole))
    else:
        output.line(whole.rstrip("\n"), one_line=False)


@app.command(epilog="Example: sb stack make default summary 2026-11")
def make(
    ctx: typer.Context,
    stack: StackName,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="playbook, epoch, summary, self_narrative or entity_model.",
            autocompletion=one_of("playbook", "epoch", "summary", "self_narrative", "entity_model"),
        ),
    ],
    about: Annotated[
        str, typer.Argument(metavar="ABOUT", help="Objective, epoch name, period, type, or entity name.")
    ] = "",
    json_: AsJson = False,
) -> None:
    """Make a playbook, summary or model of what is remembered."""
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack)
        made = [opened.get_memory(kind, uid) for uid in opened.make(kind, about)]
    if json_:
        output.emit_json({"items": [plain_json(item) for item in made]})
        return
    for item in made:
        text = getattr(item, "content", "") or getattr(item, "observation", "") or getattr(item, "name", "")
        output.line(f"{text} ({getattr(item, 'id', '')})", one_line=True)


@app.command(epilog="Example: sb stack maintain default")
def maintain(ctx: typer.Context, stack: StackName, json_: AsJson = False) -> None:
    """Run maintenance that is due: fade, merge, suggest, index."""
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack)
        note(f"maintaining {stack}…")
        done = opened.maintenance()
    if json_:
        output.emit_json(done)
        return
    for name, item in done.items():
        parts = [
            f"{key.replace('_', ' ')} {value}" for key, value in item.items() if value not in (None, [], {})
        ]
        output.line(f"{name}: {', '.join(parts)}", one_line=True)


app.add_typer(files_app)
