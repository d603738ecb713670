"""`sb suggestions`: review suggested memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import read_arguments
from sb.commands.diagnostics import note
from sb.commands.memories import required
from sb.commands.options import As, AsJson, ChangeReason, MinConfidence, group
from sb.commands.session import anybody, decider, event_log
from sb.commands.stacks import (
    DEFAULT,
    Limit,
    Reader,
    ReadFrom,
    Stack,
    open_stack,
    stack_database,
)

from sb.base.values.references import full_one, is_prefix
from sb.errors import NotFoundError
from sb.present.suggestions import SUGGESTION, suggestion_fields

if TYPE_CHECKING:
    from sb.protocols.types import MemorySuggestion
    from sb.stack import SQLiteStack

_MOST_KNOWN = 10_000  # suggestions among which the beginning of an id is looked up
app = group()
PENDING, ANY = "pending", "any"


def statuses(incomplete: str) -> list[str]:
    """States of suggestions, for the shell to complete."""
    from sb.protocols.types.vocabulary import SUGGESTION_STATUSES

    return sorted(item for item in (*SUGGESTION_STATUSES, ANY) if item.startswith(incomplete))


def kinds(incomplete: str) -> list[str]:
    """Kinds of suggestions, for the shell to complete."""
    from sb.protocols.types.vocabulary import SUGGESTION_MEMORY_TYPES

    return sorted(item for item in SUGGESTION_MEMORY_TYPES if item.startswith(incomplete))


Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the suggestion.")]


@app.command(name="list", epilog="Example: sb suggestions list --min-confidence 0.7")
def list_suggestions(
    ctx: typer.Context,
    status: Annotated[
        str, typer.Option(help="Their status; `any` for all.", autocompletion=statuses)
    ] = PENDING,
    kind: Annotated[str, typer.Option(help="Only this kind, such as belief.", autocompletion=kinds)] = "",
    min_confidence: MinConfidence = None,
    source: Annotated[
        str, typer.Option(metavar="ID", help="Only suggestions made from this raw entry.")
    ] = "",
    limit: Limit = 100,
    stack: Stack = DEFAULT,
    agent: Reader = "",
    scope: ReadFrom = "",
    json_: AsJson = False,
) -> None:
    """List suggested memories, newest first."""
    with stack_database(ctx) as (database, config):
        found = open_stack(database, config, stack, agent, scope=scope).get_suggestions(
            status=None if status == ANY else status,
            memory_type=kind or None,
            limit=limit,
            min_confidence=min_confidence,
            source_raw_id=source or None,
        )
    nothing = f"no suggestions: sb stack maintain {stack} looks for some in raw entries"
    output.listing(SUGGESTION, found, nothing, as_json=json_)


@app.command(epilog="Example: sb suggestions show sug_5d10")
def show(
    ctx: typer.Context,
    suggestion: Id,
    stack: Stack = DEFAULT,
    agent: Reader = "",
    scope: ReadFrom = "",
    json_: AsJson = False,
) -> None:
    """Show a suggestion, and what it was made from."""
    with stack_database(ctx) as (database, config):
        found = _found(open_stack(database, config, stack, agent, scope=scope), suggestion)
    if json_:
        output.emit_json(SUGGESTION.to_dict(found))
        return
    output.line("  ".join(cell.text for cell in SUGGESTION.cells(found, 0, "heading")), one_line=True)
    for name, text in suggestion_fields(found):
        output.line(f"{name}: {text}", one_line=True)


def _found(opened: SQLiteStack, suggestion: str) -> MemorySuggestion:
    found = opened.get_suggestion(suggestion)
    if found is None and is_prefix(suggestion):
        known = (item.id for item in opened.get_suggestions(status=None, limit=_MOST_KNOWN))
        found = opened.get_suggestion(full_one(suggestion, known))
    if found is None:
        raise NotFoundError(f"no suggestion {suggestion!r} in stack {opened.stack_id}", "sb suggestions list")
    return found


@app.command(epilog='Example: sb suggestions accept sug_5d10 --reason "matches my notes"')
def accept(
    ctx: typer.Context,
    suggestion: Id,
    reason: ChangeReason = "",
    who: As = "",
    changes: Annotated[
        str,
        typer.Option(
            "--with", metavar="JSON", help="Fields to change: a JSON object, @FILE, or - for stdin."
        ),
    ] = "",
    stack: Stack = DEFAULT,
    json_: AsJson = False,
) -> None:
    """Save a suggested memory."""
    required(reason)
    modifications: dict[str, Any] | None = read_arguments(changes) if changes else None
    found = _settled(ctx, "accept", suggestion, stack, who, reason, modifications)
    uid = (found.promoted_to or "").partition(":")[2]
    if json_:
        output.emit_json({"id": uid, "kind": found.memory_type, "suggestion": found.id})
    else:
        output.line(uid, one_line=True)
        note(f"kept as {found.memory_type} in stack {stack}")


@app.command(epilog='Example: sb suggestions dismiss sug_5d10 --reason "a guess"')
def dismiss(
    ctx: typer.Context,
    suggestion: Id,
    reason: ChangeReason = "",
    who: As = "",
    stack: Stack = DEFAULT,
    json_: AsJson = False,
) -> None:
    """Dismiss a suggestion."""
    required(reason)
    found = _settled(ctx, "dismiss", suggestion, stack, who, reason)
    if json_:
        output.emit_json({"suggestion": found.id, "status": "dismissed", "reason": reason})
    else:
        output.line(f"{found.id} dismissed", one_line=True)


def _settled(
    ctx: typer.Context,
    verb: str,
    suggestion: str,
    stack: str,
    who: str,
    reason: str,
    modifications: dict[str, Any] | None = None,
) -> MemorySuggestion:
    """Accept or dismiss in the name of a person, as the console does."""
    from sb.runtime.parts import open_authority
    from sb.stack.settling import settle

    log = event_log(ctx)
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack)
        name = _found(opened, suggestion).id
        authority = open_authority(config, log)
        by = decider(ctx, authority, who) if who else anybody(ctx, authority, "")
        return settle(opened, verb, name, by=by.name, reason=reason, modifications=modifications)
