"""Helpers of `sb memory`: open a memory, parse options, print records."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import read_stdin
from sb.commands.diagnostics import note
from sb.commands.options import AsJson
from sb.commands.session import configuration, event_log

from sb.base.sources import iso
from sb.base.values.frozen import frozen
from sb.errors import SBError, UsageError
from sb.present.memories import memory_heading

if TYPE_CHECKING:
    from sb.log.event_log import EventLog
    from sb.memory import Brain
    from sb.memory.operator_view import Overseer
    from sb.memory.views import Memory


def overseer(ctx: typer.Context) -> tuple[Overseer, EventLog]:
    """The memory, and the log of the same database."""
    from sb.memory.operator_view import Overseer

    log = event_log(ctx)
    config = configuration(ctx, quietly=True)
    return Overseer(database=log.database, config=config, clock=log.clock, ids=log.ids), log


def scopes(incomplete: str) -> list[str]:
    """The scopes that there are, for the shell to complete."""
    try:
        from sb.config import current_config
        from sb.store.database import open_database
        from sb.store.records.places import Places

        database = open_database(current_config().database, create=False)
        known = {place.scope for place in Places(database).all().values()}
    except SBError:
        return []
    return sorted(scope for scope in known if scope.startswith(incomplete))


def categories(incomplete: str) -> list[str]:
    """The categories of facts, for the shell to complete."""
    from sb.protocols.types.vocabulary import CATEGORIES

    return sorted(category for category in CATEGORIES if category.startswith(incomplete))


def event_types(incomplete: str) -> list[str]:
    """The types of events, for the shell to complete."""
    from sb.protocols.types.vocabulary import EVENT_TYPES

    return sorted(item for item in EVENT_TYPES if item.startswith(incomplete))


def entity_types(incomplete: str) -> list[str]:
    """The types of entities, for the shell to complete."""
    from sb.protocols.types.vocabulary import ENTITY_TYPES

    return sorted(item for item in ENTITY_TYPES if item.startswith(incomplete))


def kinds(incomplete: str) -> list[str]:
    """The kinds of memories, for the shell to complete."""
    from sb.store.records.descriptors import DESCRIPTORS

    return sorted(
        kind
        for kind, descriptor in DESCRIPTORS.items()
        if kind.startswith(incomplete) and not descriptor.aside
    )


def not_blank(ctx: typer.Context, param: typer.CallbackParam, value: str) -> str:
    """The typed text; refuses an empty one, as of an unset variable, which would mean all or none."""
    source = ctx.get_parameter_source(param.name or "")
    if not value.strip() and source is not None and source.name == "COMMANDLINE":
        raise typer.BadParameter("empty value: name one, or omit the option")
    return value


Agent = Annotated[
    str,
    typer.Option(
        help="Act as this agent; by default as operator, who sees all.",
        metavar="NAME",
        callback=not_blank,
    ),
]
Project = Annotated[str, typer.Option(help="Same as --scope project:NAME.", callback=not_blank)]
Scope = Annotated[
    str,
    typer.Option(
        help="global, or TYPE:NAME such as project:api-v2.", autocompletion=scopes, callback=not_blank
    ),
]
Session = Annotated[
    str, typer.Option(help="Continue this session; by default a new one.", callback=not_blank)
]
Private = Annotated[bool, typer.Option("--private", help="Let only this agent read it.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Id of a memory (mem_…), or the name of an entity.")]
WIDEST = 600  # characters of a memory in a list; `sb memory show` has all of them
_INDENT = "    "
_TIMES = frozenset(
    {
        "at",
        "since",
        "due_at",
        "happened_at",
        "created_at",
        "ended_at",
        "updated_at",
        "last_accessed",
        "settled_at",
        "expires_at",
        "review_at",
        "fades_at",
        "snoozed_until",
        "told_at",
        "last_active",
        "window_start",
        "window_end",
    }
)


@frozen
class MemoryOptions:
    """Options of a command on memories: where it begins, as whom it acts, and how it prints."""

    project: Project = ""
    scope: Scope = ""
    agent: Agent = ""
    json_: AsJson = False

    def memory(self, ctx: typer.Context, **more: Any) -> AbstractContextManager[Brain]:
        """The memory, as `memory` opens it."""
        return memory(ctx, self.agent, project=self.project, scope=self.scope, **more)


@frozen
class Writing:
    """Options of a command that saves something among memories."""

    project: Project = ""
    scope: Scope = ""
    private: Private = False
    agent: Agent = ""
    session: Session = ""
    json_: AsJson = False

    def memory(self, ctx: typer.Context) -> AbstractContextManager[Brain]:
        """The memory that it is saved in, made if there is none."""
        where = {"project": self.project, "scope": self.scope, "session": self.session}
        return memory(ctx, self.agent, create=True, **where)


@contextmanager
def memory(
    ctx: typer.Context,
    agent: str,
    *,
    project: str = "",
    scope: str = "",
    session: str = "",
    create: bool = False,
) -> Iterator[Brain]:
    """An agent's memory or, for no agent, an operator's view of all.

    Args:
        project, scope, session: where the session begins, and its name; "" if none was named.
        create: whether a missing database is made.

    Raises:
        UsageError: a value cannot be used; also of what is done with the memory.
    """
    from sb.memory.brain import Brain
    from sb.memory.operator_view import Overseer
    from sb.store.database import open_database

    if project and scope:
        raise UsageError("name a project or a scope, not both")
    config = configuration(ctx)
    database = open_database(config.database, create=create)
    more: dict[str, Any] = {"database": database, "config": config, "session": session or None}
    if project or scope:
        more["scope"] = scope or f"project:{project}"
    if agent and config.agent_charters == "enforce":
        from sb.kernel.boundaries.boundaries import Boundaries
        from sb.log.event_log import EventLog
        from sb.runtime.parts import open_authority, open_charters

        log = EventLog.of_home(database, config.home)
        charters = open_charters(config, log, open_authority(config, log))
        more["scope_refusal"] = Boundaries(charters=charters).scope_refusal
    try:
        yield Brain(agent, **more) if agent else Overseer(**more)
    except SBError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from None
    finally:
        database.close()


def typed(text: str, what: str) -> str:
    """The typed text, or with - the content of stdin.

    Raises:
        UsageError: it is empty, or no text.
    """
    text = read_stdin().rstrip("\n") if text == "-" else text
    if not text.strip():
        raise UsageError(f"the {what} is empty", "pass a text, or - to read it from stdin")
    return text


def note_masked(labels: Collection[str]) -> None:
    """Say which secrets and personal values were masked, if any."""
    if labels:
        note(f"masked: {', '.join(labels)} (not kept in memory)")


def as_json(found: Memory) -> dict[str, Any]:
    """A memory as commands print it: times in UTC, each stage of a score by name."""
    shown: dict[str, Any] = with_times(found.as_json())
    if shown.get("explanation"):
        shown["explanation"] = {
            stage: {"value": value, "weight": weight}
            for stage, (value, weight) in shown["explanation"].items()
        }
    return shown


def with_times(value: Any) -> Any:
    """JSON of memory's own with its times as text, in UTC; what a record says is left as it is."""
    if isinstance(value, dict):
        return {
            name: iso(item)
            if name in _TIMES and isinstance(item, float)
            else item
            if name == "details"
            else with_times(item)
            for name, item in value.items()
        }
    return [with_times(item) for item in value] if isinstance(value, list) else value


def show(found: Memory, now: float, query: str = "") -> None:
    """A memory in a list: its heading, and below it payload, with the words that were asked for set off."""
    from sb.memory.highlights import excerpt, spans

    output.line(memory_heading(found, now), one_line=True)
    for text in (found.content, *(f"restated as: {text}" for text in found.restated)):
        output.passage(excerpt(query, text, WIDEST), _INDENT, lambda line: spans(query, line))


def confirmed(question: str, *, yes: bool) -> None:
    """Ask on the terminal.

    Raises:
        UsageError: there is no terminal. typer.Exit: the answer was no.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("needs a terminal, or --yes", "pass --yes")
    if not typer.confirm(question):
        raise typer.Exit(1)


def required(reason: str) -> str:
    """The reason.

    Raises:
        UsageError: there is none.
    """
    if not reason.strip():
        raise UsageError("this needs a reason", "--reason TEXT")
    return reason
