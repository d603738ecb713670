"""`sb stack`: look after containers of memories."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import AsJson, typed
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

app = typer.Typer(
    help="Look after stacks, which contain memories.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(name="list")
def list_stacks(ctx: typer.Context, agent: Reader = "", scope: ReadFrom = "", json_: AsJson = False) -> None:
    """List the stacks of the database."""
    from sb.stack.catalogue import all_stacks

    with stack_database(ctx) as (database, config):
        found = all_stacks(database, core=agent or None, scopes=scopes_of(database, config, agent, scope))
    if json_:
        output.emit_json({"items": [one.as_json() for one in found]})
        return
    if not found:
        note("there is no stack yet: sb stack create STACK")
        return
    output.table(
        ["stack", "state", "memories", "forgotten", "private"],
        [
            (one.stack_id, one.state, f"{one.memories:,}", f"{one.forgotten:,}", f"{one.private:,}")
            for one in found
        ],
    )


@app.command()
def show(
    ctx: typer.Context, stack: StackName, agent: Reader = "", scope: ReadFrom = "", json_: AsJson = False
) -> None:
    """Say what one stack is and how much is in it."""
    from sb.stack.catalogue import one_stack

    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=scope)
        scopes = scopes_of(database, config, agent, scope)
        entry = one_stack(database, stack, core=agent or None, scopes=scopes)
        said: dict[str, Any] = entry.as_json() | {
            "file": opened.path,
            "schema_version": opened.schema_version,
            "enforce_provenance": opened.enforce_provenance,
            "components": list(opened.components),
            "changes_to_sync": opened.get_pending_sync_count(),
        }
    if json_:
        output.emit_json(said)
        return
    kinds = said.pop("kinds")
    for name, value in said.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        output.line(f"{name.replace('_', ' ')}: {shown}", one_line=True)
    for kind, count in kinds.items():
        output.line(f"    {kind}: {count:,}", one_line=True)


@app.command()
def create(
    ctx: typer.Context,
    stack: Annotated[str, typer.Argument(metavar="STACK", help="Its name.")],
    json_: AsJson = False,
) -> None:
    """Make an empty stack."""
    from sb.stack.catalogue import make_stack, one_stack

    with stack_database(ctx, create=True) as (database, _):
        make_stack(database, stack)
        made = one_stack(database, stack)
    if json_:
        output.emit_json(made.as_json())
    else:
        output.line(stack, one_line=True)
        note("sb entity note TEXT --stack STACK keeps something in it")


@app.command()
def search(
    ctx: typer.Context,
    stack: StackName,
    query: Annotated[str, typer.Argument(help="A question, or a few words; - reads it from stdin.")],
    limit: Limit = 10,
    kind: Kinds = None,
    context: Context = "",
    min_confidence: Annotated[
        float | None, typer.Option(help="Only what is at least so sure, from 0 to 1.")
    ] = None,
    agent: Reader = "",
    scope: ReadFrom = "",
    json_: AsJson = False,
) -> None:
    """Find the memories of a stack that answer a question best."""
    query = typed(query, "question")
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=scope)
        found = opened.search(
            query, limit=limit, record_types=kind, context=context or None, min_confidence=min_confidence
        )
    show_results(query, found, json_)


@app.command()
def load(
    ctx: typer.Context,
    stack: StackName,
    tokens: Annotated[int, typer.Option(min=100, max=50_000, help="The most it may take.")] = 8000,
    context: Annotated[
        str, typer.Option(help="What the work is about: what belongs to it comes first.")
    ] = "",
    agent: Reader = "",
    scope: ReadFrom = "",
    json_: AsJson = False,
) -> None:
    """Print what an entity should have in mind: the most important memories within a budget of tokens."""
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=scope)
        found = opened.load(token_budget=tokens, context=context or None)
    show_loaded(found, json_)


@app.command()
def dump(
    ctx: typer.Context,
    stack: StackName,
    format_: Annotated[
        str, typer.Option("--format", help="markdown or json.", autocompletion=one_of("markdown", "json"))
    ] = "markdown",
    raw: Annotated[bool, typer.Option("--raw/--no-raw", help="Also what was captured as it came.")] = True,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="Also what was forgotten.")] = False,
    agent: Reader = "",
    scope: ReadFrom = "",
) -> None:
    """Print everything that is in a stack."""
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=scope)
        whole = opened.dump(format=format_, include_raw=raw, include_forgotten=forgotten)
    if format_ == "json":  # to be read by programs: character by character what is kept
        output.emit_json(json.loads(whole))
    else:
        output.line(whole.rstrip("\n"), one_line=False)


@app.command()
def maintain(ctx: typer.Context, stack: StackName, json_: AsJson = False) -> None:
    """Let each component do what is due: fade, consolidate, suggest, index anew."""
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack)
        note(f"maintaining {stack}…")
        done = opened.maintenance()
    if json_:
        output.emit_json(done)
        return
    for name, said in done.items():
        told = [
            f"{key.replace('_', ' ')} {value}" for key, value in said.items() if value not in (None, [], {})
        ]
        output.line(f"{name}: {', '.join(told)}", one_line=True)


app.add_typer(files_app)
