"""`sb memory forget|recover|protect|split|erase|tidy|stats`: manage memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note, progress
from sb.commands.memories import Id, MemoryOptions, confirmed, memory, required
from sb.commands.options import As, AsJson, ChangeReason, Yes, single
from sb.commands.session import configuration, decider, event_log

from sb.base.text import counted, human_bytes, plain, shorten
from sb.errors import ExitCode, UsageError
from sb.present.memories import memory_heading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sb.log.event_log import EventLog
    from sb.memory.erasure import Erased
    from sb.memory.operator_view import Overseer
    from sb.memory.views import Memory

app = single()
WIDEST = 100  # characters of a memory on one line
_MOST_NAMED = 20  # memories that are erased at once


@app.command(epilog='Example: sb memory forget mem_7c2e91 --reason "no longer true"')
def forget(
    ctx: typer.Context,
    at: MemoryOptions,
    record: Id,
    reason: ChangeReason = "",
) -> None:
    """Hide a memory from searches until it is recovered."""
    required(reason)
    with at.memory(ctx) as brain:
        found = brain.look_up(record)
        brain.forget(record, reason)
        _done(found.id, "forgotten", at.json_)
        note(f"sb memory recover {found.id} --reason TEXT brings it back; erase removes it for good")


@app.command(epilog='Example: sb memory recover mem_7c2e91 --reason "still true"')
def recover(
    ctx: typer.Context,
    at: MemoryOptions,
    record: Id,
    reason: ChangeReason = "",
) -> None:
    """Recover a forgotten memory."""
    required(reason)
    with at.memory(ctx) as brain:
        found = brain.look_up(record)
        brain.recover(record, reason)
        _done(found.id, "recovered", at.json_)


@app.command(epilog='Example: sb memory protect mem_7c2e91 --reason "house rule"')
def protect(
    ctx: typer.Context,
    at: MemoryOptions,
    record: Id,
    lift: Annotated[bool, typer.Option("--lift", help="Allow it to be forgotten again.")] = False,
    reason: ChangeReason = "",
) -> None:
    """Protect a memory from being forgotten."""
    required(reason)
    with at.memory(ctx) as brain:
        found = brain.look_up(record)
        brain.protect(record, not lift, reason)
        _done(found.id, "not protected" if lift else "protected", at.json_)


@app.command(epilog='Example: sb memory split mem_7c2e91 --reason "another job"')
def split(
    ctx: typer.Context,
    at: MemoryOptions,
    record: Id,
    revert: Annotated[bool, typer.Option("--revert", help="Merge it into that memory again.")] = False,
    reason: ChangeReason = "",
) -> None:
    """Make a restatement a memory of its own again."""
    required(reason)
    with at.memory(ctx) as brain:
        found = brain.look_up(record)
        try:
            into = brain.split(found.id, reason, revert=revert)
        except ValueError as error:
            raise UsageError(str(error), "sb memory show lists the restatements of a memory") from None
        _done(found.id, f"merged into {into}" if revert else f"split from {into}", at.json_)


@app.command(epilog='Example: sb memory erase mem_7c2e91 --reason "asked to be deleted"')
def erase(
    ctx: typer.Context,
    records: Annotated[
        list[str], typer.Argument(metavar="ID…", help="Ids of memories (mem_…), or names of entities.")
    ],
    reason: ChangeReason = "",
    with_handoffs: Annotated[
        bool, typer.Option("--with-handoffs", help="Also erase handoffs that quote it.")
    ] = False,
    who: As = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Erase memories for good, from the files too.

    Asks twice, unless --yes.
    """
    from sb.memory.operator_view import Overseer

    required(reason)
    log = event_log(ctx)
    config = configuration(ctx, quietly=True)
    brain = Overseer(database=log.database, config=config, clock=log.clock, ids=log.ids)
    found = [brain.look_up(record) for record in dict.fromkeys(records)]
    erase_found(ctx, brain, log, found, reason, with_handoffs=with_handoffs, who=who, yes=yes, json_=json_)


def erase_found(
    ctx: typer.Context,
    brain: Overseer,
    log: EventLog,
    found: Sequence[Memory],
    reason: str,
    *,
    with_handoffs: bool,
    who: str,
    yes: bool,
    json_: bool,
) -> None:
    """Name memories, ask twice unless `yes`, erase them, and print what was done."""
    from sb.memory.erasure import erase as remove
    from sb.memory.erasure import old_copies
    from sb.runtime.parts import open_authority

    for item in found[:_MOST_NAMED]:
        note(plain(f"{memory_heading(item, log.clock.now())}: {shorten(item.title, WIDEST)}", one_line=True))
    if len(found) > _MOST_NAMED:
        note(f"and {len(found) - _MOST_NAMED:,} more")
    what = "this memory" if len(found) == 1 else f"these {len(found)} memories"
    confirmed(f"erase {what}?", yes=yes)
    confirmed("nothing brings it back; erase?", yes=yes)
    by = decider(ctx, open_authority(brain.config, log), who)
    try:
        done = remove(
            brain.space,
            log,
            [entry.id for entry in found],
            actor=by.name,
            reason=reason,
            with_handoffs=with_handoffs,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    copies = [str(path) for path in old_copies(brain.config.home.folder / "backups")]
    if json_:
        output.emit_json(done.as_json() | {"old_copies": copies})
    else:
        _erased(done, copies)
    if done.held_back:
        raise typer.Exit(ExitCode.FAILED)


def _erased(done: Erased, copies: list[str]) -> None:
    for record in done.ids[:_MOST_NAMED]:
        output.line(f"{record} erased")
    if len(done.ids) > _MOST_NAMED:
        output.line(f"and {len(done.ids) - _MOST_NAMED:,} more erased")
    if not done.ids:
        note("already erased; the files were cleaned again")
    for record in done.quoting:
        note(f"{record} quotes it: erase it too, or pass --with-handoffs")
    if done.questions:
        note(f"{done.questions} questions on record that said it were removed")
    for copy in copies:
        note(f"{copy} is older, and still has it")
    if done.held_back:
        note(
            "warning: a reader blocks the write-ahead log, which still has it: run this again when it has ended"
        )


def _done(record: str, state: str, json_: bool) -> None:
    if json_:
        output.emit_json({"id": record, "state": state})
    else:
        output.line(f"{record} {state}")


@app.command(epilog="Example: sb memory tidy --most 1000")
def tidy(
    ctx: typer.Context,
    most: Annotated[int, typer.Option(min=0, help="Maximum records; 0 for no limit.")] = 0,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Rebuild the full-text index first; blocks writers.")
    ] = False,
    json_: AsJson = False,
) -> None:
    """Rebuild missing or outdated vectors and word counts.

    May be interrupted; the next run continues.
    """
    from sb.memory.housekeeping import tidy as go_through

    with memory(ctx, "") as brain:
        if rebuild:
            brain.space.words.rebuild()
        found = go_through(brain.space, most=most or None, progress=progress("going through memory"))
    if json_:
        output.emit_json(found.as_json())
        return
    counts = (
        f"{counted(found.records, 'record')} checked",
        f"{counted(found.embedded, 'vector')} made",
        f"{counted(found.left, 'record')} left",
    )
    output.line(", ".join(counts))
    if found.words_alone:
        note(found.words_alone)


@app.command(epilog="Example: sb memory stats")
def stats(ctx: typer.Context, json_: AsJson = False) -> None:
    """Show how much is stored, where, and how it is searched."""
    from sb.memory.counts import counted as memory_counts

    with memory(ctx, "") as brain:
        found = memory_counts(brain.space)
    if json_:
        output.emit_json(found.as_json())
        return
    for title, counts in (("kind", found.kinds), ("scope", found.scopes), ("state", found.states)):
        if counts:
            output.table([title, "records"], [(name, f"{count:,}") for name, count in counts.items()])
            output.line()
    meaning = found.words_alone or f"{found.embedder}, {counted(found.to_embed, 'record')} without vectors"
    for title, text in (
        (
            "records",
            f"{found.records:,} active, in {counted(found.sessions, 'session')}, with {counted(found.relations, 'relation')}",
        ),
        ("meaning", meaning),
        ("database", human_bytes(found.bytes)),
    ):
        output.line(f"{title}: {text}", one_line=True)
    if not found.records:
        note('no memories yet: sb memory remember "…"')
