"""`sb stack export|import|sync|conflicts|resolve`: exchange stacks between databases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import required
from sb.commands.options import As, AsJson, ChangeReason, NewFile, single
from sb.commands.session import decider, event_log
from sb.commands.stacks import Keeper, StackName, one_of, open_stack, stack_database

from sb.base.text import counted, human_bytes, nearest, shorten
from sb.errors import ExitCode, UsageError
from sb.present.kind import plain_json

if TYPE_CHECKING:
    from sb.protocols.types import SyncConflict
    from sb.stack.sync.conflicts import Keep

app = single()
DATABASE = "database"
FORMATS = (DATABASE, "json", "markdown")


@app.command(name="export", epilog="Example: sb stack export default stack.db")
def export_stack(
    ctx: typer.Context,
    stack: StackName,
    file: NewFile,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="database or json, which can be imported; or markdown.",
            autocompletion=one_of(*FORMATS),
        ),
    ] = DATABASE,
    agent: Keeper = "",
    json_: AsJson = False,
) -> None:
    """Write one stack to a file."""
    if format_ not in FORMATS:
        raise UsageError(f"no format {format_!r}{nearest(format_, FORMATS)}", f"one of {', '.join(FORMATS)}")
    if file.exists():
        raise UsageError(f"{file} already exists", "name a new file")
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=None)
        if format_ == DATABASE:
            opened.export_stack(file)
        else:
            opened.export(file, format=format_)
    size = file.stat().st_size
    if json_:
        output.emit_json({"stack_id": stack, "file": str(file), "format": format_, "bytes": size})
        return
    output.line(f"{stack} in {file}, {human_bytes(size)}", one_line=True)
    note("private memories are not in it" + (f", except of {agent}" if agent else ""))
    if format_ == DATABASE:
        note(f"sb --db {file} stack show {stack} opens it")


@app.command(name="import", epilog="Example: sb stack import stack.db")
def import_stack(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A database or JSON file from `sb stack export`.")],
    stack: Annotated[
        str,
        typer.Option(metavar="STACK", help="Which stack of the file; a JSON dump takes this name."),
    ] = "",
    json_: AsJson = False,
) -> None:
    """Import a stack; exit 1 on conflicting changes."""
    from sb.stack.importer import take_in

    with stack_database(ctx, create=True) as (database, config):
        found = take_in(database, config, file, stack)
    if json_:
        output.emit_json(found.as_json())
    else:
        output.line(
            f"{counted(found.memories, 'memory')} imported into stack {found.stack_id}",
            one_line=True,
        )
        if found.quarantined:
            note(
                f"{found.quarantined:,} quarantined, since nobody of this home sealed them: sb quarantine list"
            )
    for item in found.notes:
        note(item)
    _conflicting(found.stack_id, found.conflicts)


def _conflicting(stack: str, conflicts: int) -> None:
    if conflicts:
        note(f"{conflicts:,} were changed on both sides: sb stack conflicts {stack}")
        raise typer.Exit(ExitCode.FAILED)


@app.command(epilog="Example: sb stack sync default /mnt/team/brain.db")
def sync(
    ctx: typer.Context,
    stack: StackName,
    remote: Annotated[Path, typer.Argument(metavar="FILE", help="The other database with this stack.")],
    from_anybody: Annotated[
        bool, typer.Option("--from-anybody", help="Accept changes that no operator of this home signed.")
    ] = False,
    who: Annotated[
        str,
        typer.Option("--as", help="The operator who signs, for another home's database."),
    ] = "",
    agent: Keeper = "",
    json_: AsJson = False,
) -> None:
    """Exchange changes with another database; exit 1 if open.

    Exit 1 means that conflicts or changes are left.
    """
    from sb.runtime.parts import open_authority

    log = event_log(ctx)
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack, agent, scope=None, remote=remote)
        by = decider(ctx, open_authority(config, log), who) if who else None
        done = opened.synchroniser.sync(by=by, from_anybody=from_anybody)
        waiting = len(opened.conflicts())
    if json_:
        output.emit_json(plain_json(done) | {"open_conflicts": waiting})
    else:
        output.line(f"{counted(done.pulled, 'change')} received, {done.pushed:,} sent", one_line=True)
    for item in done.notes:
        note(item)
    for error in done.errors:
        note(f"warning: {error}")
    _conflicting(stack, waiting)
    if done.errors:
        raise typer.Exit(ExitCode.FAILED)


@app.command(epilog="Example: sb stack conflicts default")
def conflicts(ctx: typer.Context, stack: StackName, json_: AsJson = False) -> None:
    """List memories that were changed on both sides."""
    with stack_database(ctx) as (database, config):
        found = open_stack(database, config, stack).conflicts()
    if json_:
        output.emit_json({"items": [plain_json(entry) for entry in found]})
        return
    for conflict in found:
        what = ", ".join(name.removeprefix("fields.") for name in conflict.differing)
        output.line(f"{conflict.id}  {conflict.table} {conflict.record_id}: {what}", one_line=True)
        for side, item in (("here", conflict.local_summary), ("there", conflict.cloud_summary)):
            output.line(f"    {side}: {item or 'erased'}", one_line=True)
    note(_choice(found, stack) if found else "no conflicts")


def _choice(found: list[SyncConflict], stack: str) -> str:
    return f"sb stack resolve {stack} {found[0].id} --keep local|remote|both --reason TEXT"


@app.command(epilog='Example: sb stack resolve default con_1a2b --keep local --reason "newer"')
def resolve(
    ctx: typer.Context,
    stack: StackName,
    conflict: Annotated[str, typer.Argument(help="Its id.")],
    keep: Annotated[
        str,
        typer.Option(
            help="local, remote, or both as separate memories.",
            autocompletion=one_of("local", "remote", "both"),
        ),
    ],
    reason: ChangeReason = "",
    who: As = "",
    json_: AsJson = False,
) -> None:
    """Choose which version of a memory stays."""
    from sb.runtime.parts import open_authority

    required(reason)
    log = event_log(ctx)
    with stack_database(ctx) as (database, config):
        opened = open_stack(database, config, stack)
        by = decider(ctx, open_authority(config, log), who)
        settled: Any = opened.resolve_conflict(conflict, cast("Keep", keep), reason, actor=by.name)
    if json_:
        output.emit_json(plain_json(settled))
    else:
        summary = {"local": settled.local_summary, "remote": settled.cloud_summary}.get(keep) or ""
        text = f"{shorten(summary, 80)} " if summary else ""
        output.line(f"Kept {keep}: {text}({settled.record_id}, by {by.name})", one_line=True)
