"""`sb undo`: take back what an agent's call did."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, Yes, single
from sb.commands.session import decider, runtime

from sb.errors import CheckFailed, ExitCode, NotFoundError, UsageError
from sb.redaction import one_line
from sb.text import plain, shorten

if TYPE_CHECKING:
    from sb.kernel.calls.intents import Intent
    from sb.kernel.contracts import MutationRef
    from sb.kernel.recovery.service import Plan
    from sb.runtime import Runtime

app = single()
LAST = "last"
WIDEST = 120  # characters of a cell: a path of usual length is in it


@app.command(epilog="Example: sb undo last --dry-run")
def undo(
    ctx: typer.Context,
    mutation: Annotated[
        str,
        typer.Argument(help="Id of the undo record (mut_…) or call (call_…), or last."),
    ] = LAST,
    run: Annotated[str, typer.Option(help="Reverse everything this run did, newest first.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="List what can be undone, newest first.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Maximum results for --list; 0 for no limit.")] = 20,
    reason: Annotated[str, typer.Option(help="Why; recorded with the decision.")] = "undone by hand",
    who: As = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Reverse a call, unless its effect was changed since."""
    if run and mutation != LAST:
        raise UsageError("name either one mutation or --run", "sb undo --run RUN undoes all of it")
    with runtime(ctx) as opened:
        if listing:
            _list(opened, run, limit, as_json)
            return
        doubtful = opened.executor.in_doubt(run) if run else []
        plans = opened.recovery.plan_all(_meant(opened, mutation, run, doubtful))
        for intent in doubtful:
            note(f"{_in_doubt(intent.call_id)}: sb recovery settle {intent.call_id}")
        if dry_run:
            _show(plans, as_json)
        else:
            _undo(ctx, opened, plans, who, reason, yes=yes, as_json=as_json)
        if doubtful:
            raise typer.Exit(ExitCode.FAILED)


def _meant(opened: Runtime, mutation: str, run: str, doubtful: list[Intent]) -> list[MutationRef]:
    """The mutations that were named.

    Args:
        doubtful: the calls of the run that are in doubt.
    """
    store = opened.recovery.mutations
    if run:
        found = store.of_run(run)
        if not found and not doubtful:
            raise NotFoundError(f"run {run} changed nothing that is on record", "sb undo --list")
        return found
    if mutation == LAST:
        return [store.last()]
    return [store.for_call(mutation) or _unknown(opened, mutation)]


def _unknown(opened: Runtime, reference: str) -> MutationRef:
    """Say why there is nothing to undo under this name."""
    if any(intent.call_id == reference for intent in opened.executor.in_doubt()):
        raise CheckFailed(_in_doubt(reference), f"sb recovery settle {reference}")
    if reference.startswith("call_"):
        shown = one_line(reference, 40)
        raise NotFoundError(f"no call {shown} has changed anything that is on record", "sb undo --list")
    return opened.recovery.mutations.get(reference)


def _in_doubt(call_id: str) -> str:
    return f"{call_id} is in doubt: whether it changed anything is not known"


def _list(opened: Runtime, run: str, limit: int, as_json: bool) -> None:
    store = opened.recovery.mutations
    found = store.of_run(run)[::-1] if run else store.newest(limit=limit)
    if as_json:
        output.emit_json({"items": [ref.to_dict() for ref in found]})
    elif found:
        output.table(
            ["state", "left", "agent", "tool", "done", "reversal", "mutation", "run"],
            [_row(ref, store.now()) for ref in found],
        )
    else:
        note(f"run {run} changed nothing that is on record" if run else "no call has changed anything yet")


def _row(ref: MutationRef, now: int) -> tuple[str, ...]:
    from sb.present.recovery import recovery_line

    line = recovery_line(ref, now)
    way = shorten(line.why, WIDEST)
    return (line.state, line.left, line.agent, line.tool, line.since_ago, way, line.id, ref.run_id)


def _show(plans: list[Plan], as_json: bool) -> None:
    if as_json:
        output.emit_json({"items": [plan.to_dict() for plan in plans]})
    else:
        for plan in plans:
            output.line(_sentence(plan))
    if not any(plan.ok for plan in plans):
        raise typer.Exit(ExitCode.FAILED)


def _sentence(plan: Plan) -> str:
    ref = plan.ref
    said = f"{ref.mutation_id} {ref.tool_id} by {ref.agent}: {'' if plan.ok else 'NO: '}{plan.detail}"
    return plain(said, one_line=True)


def _undo(
    ctx: typer.Context,
    opened: Runtime,
    plans: list[Plan],
    who: str,
    reason: str,
    *,
    yes: bool,
    as_json: bool,
) -> None:
    for plan in plans:
        note(_sentence(plan))
    if not any(plan.ok for plan in plans):
        raise CheckFailed(
            "there is nothing here that can be undone", "sb undo --list shows what else was done"
        )
    _confirm(sum(plan.ok for plan in plans), yes)
    by = decider(ctx, opened.recovery.approvals.authority, who)
    refs = [plan.ref for plan in plans]
    done = []
    for undone in opened.recovery.undo_all(refs, by, reason):
        done.append(undone)
        if not as_json:
            output.line(f"{undone.mutation_id} {undone.state}: {undone.detail}", one_line=True)
    if as_json:
        output.emit_json({"items": [undone.to_dict() for undone in done]})
    if done and done[-1].state == "waiting":
        raise typer.Exit(ExitCode.DENIED)
    store = opened.recovery.mutations
    left = sum(store.get(ref.mutation_id).state != "reversed" for ref in refs)
    if left:
        note(f"{left} of {len(refs)} stay as they are")
        raise typer.Exit(ExitCode.FAILED)


def _confirm(count: int, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("undoing asks first, and there is no terminal", "pass --yes, or --dry-run to look")
    if not typer.confirm(f"undo {'this' if count == 1 else f'these {count}'}?"):
        raise typer.Exit(ExitCode.FAILED)
