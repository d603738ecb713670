"""`sb undo`: reverse what an agent's call did."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, Yes, single
from sb.commands.session import decider, runtime
from sb.commands.terminal import fits_terminal
from sb.commands.undo_in_part import exit_in_part

from sb.base.repository import project_folder
from sb.base.secrets.redaction import one_line
from sb.base.text import plain, shorten
from sb.errors import CheckFailed, ExitCode, NotFoundError, UsageError
from sb.kernel.contracts import ToolError
from sb.kernel.recovery_loop.last import last_change, unknown_outcome
from sb.kernel.recovery_loop.variants import snapshot_of
from sb.kernel.reversibility.contracts import MutationState
from sb.log.references import full_id, known_run
from sb.present.recovery import undone_sentence
from sb.present.undo import UNDO, WIDEST_OBJECT, call_args, folder_of, object_of, undo_record
from sb.runtime.parts import hosted_files, open_snapshots
from sb.tools.roots import absolute

if TYPE_CHECKING:
    from sb.kernel.calls.intents import Intent
    from sb.kernel.contracts import MutationRef
    from sb.kernel.recovery_loop.answers import Plan
    from sb.runtime import Runtime

app = single()
LAST, SHOW = "last", "show"
_EXITS = {"waiting": ExitCode.DENIED, "in part": ExitCode.IN_PART}


@app.command(epilog="Example: sb undo last --diff")
def undo(
    ctx: typer.Context,
    mutation: Annotated[
        str,
        typer.Argument(help="An undo record (mut_…), a call (call_…), last, or show."),
    ] = LAST,
    shown: Annotated[str, typer.Argument(metavar="[ID]", help="With show: the id to show.")] = "",
    run: Annotated[str, typer.Option(help="Reverse everything this run did, newest first.")] = "",
    path: Annotated[str, typer.Option(help="Only this file: its last change, or its content (show).")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show the difference first.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Restore also what changed since; undo brings it back.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="List what can be undone, newest first.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="With --list: also agent and run.")] = False,
    purge: Annotated[bool, typer.Option("--purge", help="Remove snapshots, so that undo is lost.")] = False,
    older_than: Annotated[str, typer.Option(help="With --purge: only older ones, such as 7d.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="Maximum results for --list; 0 for no limit.")] = 20,
    reason: Annotated[str, typer.Option(help="Why; recorded with the decision.")] = "undone by hand",
    who: As = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Reverse a call, unless its effect was changed since."""
    if run and (mutation != LAST or path or force):
        raise UsageError("name one call or --run, not both", "sb undo --run RUN reverses the whole run")
    if purge:
        from sb.commands.undo_snapshots import purge_snapshots

        purge_snapshots(ctx, older_than, who, reason, yes=yes, as_json=as_json)
        return
    with runtime(ctx) as opened:
        run = full_id(opened.log.database, run)
        if mutation == SHOW:
            from sb.commands.undo_snapshots import show_snapshot

            show_snapshot(opened, _named(opened, shown or LAST), path, as_json=as_json)
        elif listing:
            _list(opened, run, limit, as_json=as_json, everything=everything)
        elif path or force:
            _one(ctx, opened, mutation, path, force, diff, dry_run, who, reason, yes=yes, as_json=as_json)
        else:
            _all(ctx, opened, mutation, run, diff, dry_run, who, reason, yes=yes, as_json=as_json)


def _all(
    ctx: typer.Context,
    opened: Runtime,
    mutation: str,
    run: str,
    diff: bool,
    dry_run: bool,
    who: str,
    reason: str,
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """Undo one call, or all of a run."""
    doubtful = opened.executor.in_doubt(run) if run else []
    plans = opened.recovery.plan_all(_meant(opened, mutation, run, doubtful))
    for intent in doubtful:
        note(f"{unknown_outcome(intent.call_id)}: sb recovery settle {intent.call_id}")
    if diff:
        _differences(opened, plans)
    if dry_run:
        _show(plans, opened, as_json=as_json)
    else:
        is_last = mutation == LAST and not run
        _undo(ctx, opened, plans, who, reason, is_last=is_last, yes=yes, as_json=as_json)
    if doubtful:
        raise typer.Exit(ExitCode.FAILED)


def _one(
    ctx: typer.Context,
    opened: Runtime,
    mutation: str,
    path: str,
    force: bool,
    diff: bool,
    dry_run: bool,
    who: str,
    reason: str,
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """Undo one call for one path alone, or over later changes."""
    real = absolute(path) if path else ""
    ref = _last_of(opened, real) if path and mutation == LAST else _named(opened, mutation)
    plan = opened.recovery.plan(ref, force=force, path=real)
    if diff:
        _differences(opened, [plan], real)
    if dry_run:
        _show([plan], opened, as_json=as_json)
        return
    if not plan.ok:
        note(_sentence(plan, opened))
        _require_kept(opened, plan, is_last=mutation == LAST)
        raise CheckFailed("nothing can be undone", "sb undo --force restores also what changed since")
    _confirm([plan], opened, yes=yes)
    by = decider(ctx, opened.recovery.approvals.authority, who)
    undone = opened.recovery.undo(ref, by, reason, force=force, path=real)
    if as_json:
        output.emit_json({"items": [undone.to_dict()]})
    else:
        output.line(undone_sentence(undone))
    if undone.state != "reversed":
        raise typer.Exit(_EXITS.get(undone.state, ExitCode.FAILED))
    if not path:
        exit_in_part([ref], opened)


def _last_of(opened: Runtime, path: str) -> MutationRef:
    """The newest call that changed a path and was not undone."""
    for ref in opened.recovery.mutations.about_path(path):
        if ref.reversal_tool and ref.state is MutationState.COMMITTED:
            return ref
    raise NotFoundError(f"no undo record of {shorten(path, 80)}", "sb undo --list shows what was done")


def _differences(opened: Runtime, plans: list[Plan], path: str = "") -> None:
    """Print what undoing would change in the files, or in one of them, as a unified diff."""
    files = hosted_files(opened.config)
    for plan in plans:
        snapshot = snapshot_of(plan.ref, path)
        if snapshot is None:
            continue
        try:
            shown = files.difference(snapshot[1], snapshot[0])
        except ToolError as error:
            note(f"{plan.ref.mutation_id}: no difference can be shown: {error}")
            continue
        for line in shown.splitlines():
            output.line(line)


def _meant(opened: Runtime, mutation: str, run: str, doubtful: list[Intent]) -> list[MutationRef]:
    """The mutations that were named.

    Args:
        doubtful: the calls of the run that are in doubt.
    """
    if run:
        found = opened.recovery.mutations.of_run(run)
        if not found and not doubtful:
            raise NotFoundError(f"run {run} has no undo records", "sb undo --list")
        return found
    return [_named(opened, mutation)]


def _named(opened: Runtime, reference: str) -> MutationRef:
    """One undo record by its id, its call's, or the beginning of one."""
    store = opened.recovery.mutations
    if reference == LAST:
        try:
            ref = last_change(opened.recovery)
        except NotFoundError:
            _note_doubts(opened)
            raise
        _note_doubts(opened)
        return ref
    reference = store.resolve(reference)
    return store.for_call(reference) or _unknown(opened, reference)


def _require_kept(opened: Runtime, plan: Plan, *, is_last: bool) -> None:
    """Pass if a call left something that can be undone; no older one is named in place of the last, or hurried on."""
    if not plan.ref.reversal_tool:
        what = shorten(object_of(plan.ref, call_args(plan.ref, opened.log)), WIDEST_OBJECT)
        hint = "sb undo --list shows other calls, each with the id that undoes it"
        raise CheckFailed(f"the {'last ' if is_last else ''}call ({what}) was not kept", hint)


def _unknown(opened: Runtime, reference: str) -> MutationRef:
    """Say why there is nothing to undo under this name."""
    if any(intent.call_id == reference for intent in opened.executor.in_doubt()):
        raise CheckFailed(unknown_outcome(reference), f"sb recovery settle {reference}")
    if reference.startswith("call_"):
        shown = one_line(reference, 40)
        raise NotFoundError(f"no call {shown} with an undo record", "sb undo --list")
    return opened.recovery.mutations.get(reference)


def _note_doubts(opened: Runtime) -> None:
    """Name the calls that may have changed something, which cannot be undone until that is settled."""
    doubtful = opened.executor.in_doubt()
    if doubtful:
        more = f" and {len(doubtful) - 1} more" if len(doubtful) > 1 else ""
        note(f"{unknown_outcome(doubtful[-1].call_id)}{more}: sb recovery settle {doubtful[-1].call_id}")


def _list(opened: Runtime, run: str, limit: int, *, as_json: bool, everything: bool) -> None:
    store = opened.recovery.mutations
    found = store.of_run(run)[::-1] if run else store.newest(limit=limit)
    if not found:
        known_run(opened.log, run)
        note(f"run {run} has no undo records" if run else "no undo records yet")
    if not (run or as_json):
        _note_doubts(opened)
    total = opened.log.database.query("SELECT count(*) FROM mutations")[0][0]
    if not run and 0 < limit < total:
        note(f"the newest {limit} of {total:,}: --limit 0 lists all")
    snapshots, now = open_snapshots(opened.config), store.now()
    shortened = not (everything or as_json or fits_terminal())
    records = [undo_record(ref, opened.log, snapshots, shortened=shortened) for ref in found]
    output.listing(UNDO, records, as_json=as_json, now=now, face="all" if everything else "table")


def _show(plans: list[Plan], opened: Runtime, *, as_json: bool) -> None:
    if as_json:
        output.emit_json({"items": [plan.to_dict() for plan in plans]})
    else:
        for plan in plans:
            output.line(_sentence(plan, opened))
    if not any(plan.ok for plan in plans):
        raise typer.Exit(ExitCode.FAILED)
    exit_in_part([plan.ref for plan in plans], opened)


def _sentence(plan: Plan, opened: Runtime) -> str:
    """One plan on a line; it names the folder of a call that was not made in the project at hand."""
    ref = plan.ref
    folder = folder_of(ref, opened.log)
    elsewhere = folder and project_folder(Path(folder)) != project_folder(Path.cwd())
    by = f"{ref.agent} in {folder}" if elsewhere else ref.agent
    return plain(
        f"{ref.mutation_id} {ref.tool_id} by {by}: {'' if plan.ok else 'NO: '}{plan.detail}", one_line=True
    )


def _undo(
    ctx: typer.Context,
    opened: Runtime,
    plans: list[Plan],
    who: str,
    reason: str,
    *,
    is_last: bool,
    yes: bool,
    as_json: bool,
) -> None:
    if not any(plan.ok for plan in plans):
        for plan in plans:
            note(_sentence(plan, opened))
        if len(plans) == 1:
            _require_kept(opened, plans[0], is_last=is_last)
        changed = len(plans) == 1 and plans[0].checked and snapshot_of(plans[0].ref)
        forced = f"sb undo {plans[0].ref.mutation_id} --force" if changed else ""
        hint = f"{forced} overwrites what changed since" if forced else "sb undo --list shows other calls"
        raise CheckFailed("nothing can be undone", hint)
    _confirm(plans, opened, yes=yes)
    by = decider(ctx, opened.recovery.approvals.authority, who)
    refs = [plan.ref for plan in plans]
    done = []
    for undone in opened.recovery.undo_all(refs, by, reason):
        done.append(undone)
        if not as_json:
            output.line(undone_sentence(undone))
    if as_json:
        output.emit_json({"items": [undone.to_dict() for undone in done]})
    if done and done[-1].state == "waiting":
        raise typer.Exit(ExitCode.DENIED)
    store = opened.recovery.mutations
    left = sum(store.get(ref.mutation_id).state != "reversed" for ref in refs)
    if left:
        note(f"{left} of {len(refs)} were not reversed")
        in_part = any(undone.state == "in part" for undone in done)
        raise typer.Exit(ExitCode.IN_PART if in_part else ExitCode.FAILED)
    exit_in_part(refs, opened)


def _confirm(plans: Sequence[Plan], opened: Runtime, *, yes: bool) -> None:
    """Ask about what would be undone; with --yes only say what will not be, as the rest is told once it is done."""
    for plan in plans:
        if not (yes and plan.ok):
            note(_sentence(plan, opened))
    if yes:
        return
    count = sum(plan.ok for plan in plans)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("needs a terminal, or --yes, to undo", "pass --yes, or --dry-run to preview")
    if not typer.confirm(f"undo {'this' if count == 1 else f'these {count}'}?"):
        raise typer.Exit(ExitCode.FAILED)
