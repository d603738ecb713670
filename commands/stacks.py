"""Helpers of the stack commands: open a stack or a core, print its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import not_blank, scopes
from sb.commands.session import configuration

from sb.base.text import counted
from sb.cli import Options
from sb.errors import SBError, UsageError
from sb.present.kind import plain_json

if TYPE_CHECKING:
    from sb.config import Config
    from sb.entity import Entity
    from sb.protocols.types import SearchResult
    from sb.stack import SQLiteStack
    from sb.store.database import Database

DEFAULT = "default"
GLOBAL = "global"
OPERATOR = "operator"  # who acts where no agent is named
WIDEST = 600  # characters of a memory in a list


def stack_ids(incomplete: str) -> list[str]:
    """The stacks that there are, for the shell to complete."""
    try:
        from sb.config import current_config
        from sb.stack.catalogue import stack_names
        from sb.store.database import open_database

        known = stack_names(open_database(current_config().database, create=False))
    except SBError:
        return []
    return [name for name in known if name.startswith(incomplete)]


def kinds(incomplete: str) -> list[str]:
    """The kinds of memories that can be searched for, for the shell to complete."""
    from sb.protocols.types.vocabulary import (
        MemoryType,  # and not what searches: that takes far longer than a person types
    )

    unsearched = {MemoryType.SUGGESTION, MemoryType.TRUST_ASSESSMENT}
    return sorted(
        memory_type
        for memory_type in MemoryType
        if memory_type.startswith(incomplete) and memory_type not in unsearched
    )


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Completes one of these words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


Stack = Annotated[str, typer.Option(help="The stack.", metavar="STACK", autocompletion=stack_ids)]
StackName = Annotated[str, typer.Argument(metavar="STACK", help="The stack.", autocompletion=stack_ids)]
Reader = Annotated[
    str,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="Read as this agent; by default as operator, who sees all.",
        callback=not_blank,
    ),
]
Keeper = Annotated[
    str,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="Also include this agent's private memories.",
        callback=not_blank,
    ),
]
Whose = Annotated[
    str, typer.Option("--agent", metavar="NAME", help="The agent whose core this is.", callback=not_blank)
]
ReadFrom = Annotated[
    str,
    typer.Option(
        "--scope",
        help="Scope to read, beside global; needs --agent.",
        autocompletion=scopes,
        callback=not_blank,
    ),
]
OfCore = Annotated[
    str,
    typer.Option(
        "--stack",
        metavar="STACK",
        help="Only this stack; by default the core's newest checkpoint.",
        autocompletion=stack_ids,
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-k", min=1, max=1000, help="Maximum results.")]

Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only this kind, such as belief; may be repeated.", autocompletion=kinds),
]
Context = Annotated[str, typer.Option(help="Only memories of this context.")]


@contextmanager
def stack_database(ctx: typer.Context, *, create: bool = False) -> Iterator[tuple[Database, Config]]:
    """The configured database, for what a stack or an entity does in it.

    Args:
        create: whether a missing one is made.

    Raises:
        UsageError: a value is refused by what is done with it.
    """
    from sb.store.database import open_database

    config = configuration(ctx)
    database = open_database(config.database, create=create)
    try:
        yield database, config
    except SBError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from None
    finally:
        database.close()


def open_stack(
    database: Database,
    config: Config,
    stack_id: str,
    agent: str = "",
    *,
    scope: str | None = "",
    remote: Path | None = None,
) -> SQLiteStack:
    """A stack that is there: as an operator sees it or, if one is named, as an agent does.

    Args:
        scope: which one the agent reads from, "" for `global`; None for every scope, and what is private to the agent.
        remote: the other database that keeps it.

    Raises:
        NotFoundError: there is none of that name. UsageError: a scope, and no agent.
    """
    from sb.stack import SQLiteStack
    from sb.stack.catalogue import require_stack

    require_stack(database, stack_id)
    stack = SQLiteStack(stack_id, database=database, config=config, remote=remote)
    if agent:
        stack.view_as(agent, scope if scope is None else read_from(agent, scope))
        return stack
    stack.view_as_operator()
    if scope:
        read_from(agent, scope)
    return stack


def scopes_of(database: Database, config: Config, agent: str, scope: str) -> tuple[str, ...] | None:
    """The scopes that somebody sees; None for all.

    Raises:
        UsageError: a scope, and no agent.
    """
    from sb.memory.space import Space

    start = read_from(agent, scope)
    return None if start is None else Space(database, config.memory).chain(start)


def read_from(agent: str, scope: str) -> str | None:
    """The scope that somebody reads from: an agent's own or `global`; None, which is every scope, for operators.

    Raises:
        UsageError: a scope, and no agent.
    """
    if scope and not agent:
        raise UsageError("--scope needs --agent", "add --agent NAME, or use --context")
    return (scope or GLOBAL) if agent else None


@contextmanager
def opened_core(
    ctx: typer.Context, agent: str, stack_id: str = "", *, create: bool = False, scope: str | None = GLOBAL
) -> Iterator[Entity]:
    """An agent's core as its newest checkpoint has it, or with one stack of the database alone.

    Args:
        stack_id: that stack; "" for what the checkpoint says, unless --db names a database.
        create: whether a missing database is made, for what is written; otherwise this only looks.
        scope: what it reads from; None for every scope.

    Raises:
        UsageError: a value is refused by what is done with it.
    """
    from sb.entity.composition import Present

    if not stack_id and (ctx.find_object(Options) or Options()).db:
        stack_id = DEFAULT
    with (
        stack_database(ctx, create=create) as (database, config),
        Present(database, config).entity(
            agent, (stack_id,) if stack_id else (), looking=not create, scope=scope
        ) as core,
    ):
        yield core


def show_results(query: str, found: list[SearchResult], json_: bool) -> None:
    """Print search results, the best first."""
    from sb.memory.highlights import excerpt, spans

    if json_:
        output.emit_json({"items": [plain_json(item) for item in found]})
        return
    for result in found:
        output.line(f"{result.memory_id}  {result.memory_type}  {result.score:.2f}", one_line=True)
        text = excerpt(query, result.content, WIDEST)
        output.passage(text, "    ", lambda line: spans(query, line))
    if not found:
        note("nothing found: try other words")


def show_loaded(loaded: Mapping[str, Any], json_: bool) -> None:
    """Print loaded working memory, kind by kind."""
    if json_:
        output.emit_json(plain_json(loaded))
        return
    shown = 0
    for kind, items in loaded.items():
        if not isinstance(items, list) or not items:
            continue
        output.line(kind.replace("_", " "))
        shown += len(items)
        for item in items:
            output.passage(_said(item), "    ")
    meta = loaded["_meta"]
    memories = counted(shown, "memory")
    note(
        f"{memories}, {meta['budget_used']:,} of {meta['budget_total']:,} tokens;"
        f" {meta['excluded_count']:,} did not fit"
    )


def _said(item: Mapping[str, Any]) -> str:
    """One loaded memory: payload, without its id and times."""
    unsaid = ("id", "created_at", "last_interaction")
    return " · ".join(
        value for name, value in item.items() if name not in unsaid and isinstance(value, str) and value
    )
