"""`sb suggestions`: review suggested memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import read_arguments
from sb.commands.diagnostics import note
from sb.commands.memories import required
from sb.commands.options import AsJson, ChangeReason, group
from sb.commands.stacks import (
    DEFAULT,
    OPERATOR,
    Limit,
    Reader,
    ReadFrom,
    Stack,
    as_json,
    moment,
    open_stack,
    stack_database,
)

from sb.errors import CheckFailed, NotFoundError
from sb.references import full_one, is_prefix

if TYPE_CHECKING:
    from sb.stack import SQLiteStack
    from sb.types import MemorySuggestion

_MOST_KNOWN = 10_000  # suggestions among which the beginning of an id is looked up
app = group("Review suggested memories.")
PENDING, ANY = "pending", "any"


def statuses(incomplete: str) -> list[str]:
    """What can have become of a suggestion, for the shell to complete."""
    from sb.types.vocabulary import SUGGESTION_STATUSES

    return sorted(one for one in (*SUGGESTION_STATUSES, ANY) if one.startswith(incomplete))


def kinds(incomplete: str) -> list[str]:
    """What can be suggested, for the shell to complete."""
    from sb.types.vocabulary import SUGGESTION_MEMORY_TYPES

    return sorted(one for one in SUGGESTION_MEMORY_TYPES if one.startswith(incomplete))


Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the suggestion.")]


@app.command(name="list", epilog="Example: sb suggestions list --min-confidence 0.7")
def list_suggestions(
    ctx: typer.Context,
    status: Annotated[
        str, typer.Option(help="Their status; `any` for all.", autocompletion=statuses)
    ] = PENDING,
    kind: Annotated[str, typer.Option(help="Only this kind, such as belief.", autocompletion=kinds)] = "",
    min_confidence: Annotated[float | None, typer.Option(help="Minimum confidence, from 0 to 1.")] = None,
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
    if json_:
        output.emit_json({"items": [as_json(one) for one in found]})
    elif found:
        output.table(
            ["suggestion", "kind", "status", "sure", "at", "what"],
            [
                (
                    one.id,
                    one.memory_type,
                    one.status,
                    f"{one.confidence:.2f}",
                    output.when(moment(one.created_at), one.created_at),
                    _said(one),
                )
                for one in found
            ],
        )
    else:
        note(f"no suggestions: sb stack maintain {stack} looks for some in raw entries")


def _said(one: MemorySuggestion) -> str:
    return " · ".join(dict.fromkeys(str(value) for value in one.content.values() if value))


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
        output.emit_json(as_json(found))
        return
    output.line(f"{found.id}  {found.memory_type}  {found.status}  {moment(found.created_at)}", one_line=True)
    for name, value in found.content.items():
        output.line(f"{name}: {value}", one_line=True)
    output.line(f"confidence: {found.confidence:.2f}")
    for name, text in (
        ("derived from", ", ".join(found.source_raw_ids)),
        ("became", found.promoted_to),
        ("reason", found.resolution_reason),
    ):
        if text:
            output.line(f"{name}: {text}", one_line=True)


def _found(opened: SQLiteStack, suggestion: str) -> MemorySuggestion:
    found = opened.get_suggestion(suggestion)
    if found is None and is_prefix(suggestion):
        known = (one.id for one in opened.get_suggestions(status=None, limit=_MOST_KNOWN))
        found = opened.get_suggestion(full_one(suggestion, known))
    if found is None:
        raise NotFoundError(f"no suggestion {suggestion!r} in stack {opened.stack_id}", "sb suggestions list")
    return found


def _pending(opened: SQLiteStack, suggestion: str) -> MemorySuggestion:
    found = _found(opened, suggestion)
    if found.status != PENDING:
        became = f", as {found.promoted_to}" if found.promoted_to else ""
        raise CheckFailed(f"suggestion {suggestion} was {found.status} already{became}")
    return found


@app.command(epilog='Example: sb suggestions accept sug_5d10 --reason "matches my notes"')
def accept(
    ctx: typer.Context,
    suggestion: Id,
    reason: ChangeReason = "",
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
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack)
        _pending(opened, suggestion)
        uid = opened.suggestions.accept(suggestion, modifications, actor=OPERATOR, reason=reason)
        found = _found(opened, suggestion)
    if uid is None:
        raise CheckFailed(
            f"suggestion {suggestion} makes no {found.memory_type}: the text is too short, or a fragment",
            "--with JSON changes it first; sb suggestions dismiss ID --reason TEXT",
        )
    if json_:
        output.emit_json({"id": uid, "kind": found.memory_type, "suggestion": suggestion})
    else:
        output.line(uid, one_line=True)
        note(f"kept as {found.memory_type} in stack {stack}")


@app.command(epilog='Example: sb suggestions dismiss sug_5d10 --reason "a guess"')
def dismiss(
    ctx: typer.Context,
    suggestion: Id,
    reason: ChangeReason = "",
    stack: Stack = DEFAULT,
    json_: AsJson = False,
) -> None:
    """Dismiss a suggestion."""
    required(reason)
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack)
        _pending(opened, suggestion)
        opened.suggestions.dismiss(suggestion, reason, actor=OPERATOR)
    if json_:
        output.emit_json({"suggestion": suggestion, "status": "dismissed", "reason": reason})
    else:
        output.line(f"{suggestion} dismissed", one_line=True)
