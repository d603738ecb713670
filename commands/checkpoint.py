"""`sb checkpoint`: save, compare and restore an agent's core."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import confirmed, required
from sb.commands.options import As, AsJson, ChangeReason, Yes, group
from sb.commands.session import configuration, decider, event_log
from sb.commands.stacks import OPERATOR, Whose, stack_database, stack_ids

from sb.errors import SBError
from sb.present.checkpoints import CHECKPOINT, ShownCheckpoint, change_lines
from sb.present.kind import plain_json
from sb.present.times import minute

app = group()


def checkpoint_ids(incomplete: str) -> list[str]:
    """The checkpoints that there are, for the shell to complete."""
    try:
        from sb.base.sources import SYSTEM_CLOCK, SYSTEM_IDS
        from sb.config import current_config
        from sb.entity import Checkpoints

        known = Checkpoints(current_config().home.folder, SYSTEM_CLOCK, SYSTEM_IDS).ids()
    except SBError:
        return []
    return [name for name in ("last", *known) if name.startswith(incomplete)]


Reference = Annotated[
    str,
    typer.Argument(
        metavar="CHECKPOINT",
        help="Checkpoint id, `last`, or a file from another home.",
        autocompletion=checkpoint_ids,
    ),
]
OfAgent = Annotated[
    str, typer.Option("--agent", metavar="NAME", help="Only checkpoints of this agent's core.")
]


@app.command(epilog='Example: sb checkpoint save --agent scribe -m "before the release"')
def save(
    ctx: typer.Context,
    message: Annotated[str, typer.Option("--message", "-m", help="What this checkpoint is for.")] = "",
    stacks: Annotated[
        list[str] | None,
        typer.Option(
            "--stack",
            metavar="STACK",
            help="Stack of the core; may be repeated, the first is active.",
            autocompletion=stack_ids,
        ),
    ] = None,
    agent: Whose = OPERATOR,
    json_: AsJson = False,
) -> None:
    """Save an agent's core; the ten newest stay."""
    from sb.entity.composition import Present

    with stack_database(ctx, create=True) as (database, config):
        present = Present(database, config)
        checkpoint_id = present.save(agent, message, tuple(stacks or ()))
        checkpoint = present.find(checkpoint_id)
    if json_:
        output.emit_json(ShownCheckpoint(checkpoint_id, checkpoint).to_dict())
    else:
        output.line(checkpoint_id, one_line=True)
        note(f"sb checkpoint restore {checkpoint_id} --reason TEXT restores it")


@app.command(name="list", epilog="Example: sb checkpoint list --agent scribe")
def list_checkpoints(ctx: typer.Context, agent: OfAgent = "", json_: AsJson = False) -> None:
    """List checkpoints, newest first."""
    from sb.entity.composition import Present

    with stack_database(ctx) as (database, config):
        found = [ShownCheckpoint(*item) for item in Present(database, config).readable(agent or None)]
    output.listing(CHECKPOINT, found, "no checkpoints yet: sb checkpoint save --agent NAME", as_json=json_)


@app.command(epilog="Example: sb checkpoint show last --agent scribe")
def show(ctx: typer.Context, checkpoint: Reference, agent: OfAgent = "", json_: AsJson = False) -> None:
    """Show a checkpoint, and what restoring it changes."""
    from sb.entity.composition import Present, parts

    with stack_database(ctx) as (database, config):
        present = Present(database, config)
        found = present.find(checkpoint, agent)
        changes = present.changes(found)
    if json_:
        output.emit_json(
            ShownCheckpoint(found.checkpoint_id, found).to_dict() | {"changes": plain_json(changes)}
        )
        return
    for name, text in (
        ("checkpoint", found.checkpoint_id),
        ("at", minute(found.created_at)),
        ("message", found.message or "none"),
        *parts(found.binding).items(),
    ):
        output.line(f"{name}: {text}", one_line=True)
    if not found.intact:
        note("warning: its file was edited; it cannot be restored")
    for line in change_lines(changes):
        output.line(f"restoring it: {line}", one_line=True)
    if not changes:
        note("the core is in this state now")


@app.command(epilog="Example: sb checkpoint diff last --agent scribe")
def diff(
    ctx: typer.Context,
    checkpoint: Reference,
    other: Annotated[
        str,
        typer.Argument(
            metavar="OTHER",
            help="Another checkpoint; by default the current core.",
            autocompletion=checkpoint_ids,
        ),
    ] = "",
    agent: OfAgent = "",
    json_: AsJson = False,
) -> None:
    """Compare two checkpoints, or one with the current core."""
    from sb.entity.composition import Present, differences

    with stack_database(ctx) as (database, config):
        present = Present(database, config)
        before = present.find(checkpoint, agent).binding
        after = present.find(other, agent).binding if other else present.binding(before.core_id)
    changes = differences(before, after)
    if json_:
        output.emit_json({"items": plain_json(changes)})
        return
    for line in change_lines(changes):
        output.line(line, one_line=True)
    if not changes:
        note("no differences")


@app.command(epilog='Example: sb checkpoint restore last --reason "wrong stack"')
def restore(
    ctx: typer.Context,
    checkpoint: Reference,
    reason: ChangeReason = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would change, and change nothing.")
    ] = False,
    who: As = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Restore a core from a checkpoint.

    The core as it was becomes another checkpoint.
    """
    from sb.entity.composition import Present
    from sb.runtime.parts import open_authority

    if not dry_run:
        required(reason)
    log = event_log(ctx)
    config = configuration(ctx, quietly=True)
    present = Present(log.database, config, clock=log.clock, ids=log.ids)
    chosen = present.find(checkpoint)
    changes = present.changes(chosen)
    for line in change_lines(changes):
        note(line)
    if dry_run or not changes:
        if json_:
            output.emit_json({"core_id": chosen.binding.core_id, "changes": plain_json(changes)})
        if not changes:
            note("nothing changes: the core is in this state now")
        return
    confirmed(f"restore core {chosen.binding.core_id}?", yes=yes)
    by = decider(ctx, open_authority(config, log), who)
    done = present.restore(log, chosen, actor=by.name, reason=reason)
    if json_:
        output.emit_json(plain_json(done))
        return
    output.line(f"restored {done.core_id} from {chosen.checkpoint_id}", one_line=True)
    note(f"sb checkpoint restore {done.before_id} --reason TEXT goes back")
