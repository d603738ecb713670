"""`sb memory pending`: corrections that wait for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import Agent, MemoryOptions, memory, with_times
from sb.commands.memory_beliefs import show_collapse
from sb.commands.options import As, AsJson, DecisionReason, Yes, group
from sb.commands.quarantine import All, decide

from sb.base.values.references import full_one
from sb.errors import NotFoundError

if TYPE_CHECKING:
    from sb.memory import Brain
    from sb.memory.beliefs.collapses import Collapse

app = group("Review corrections that wait for a person.")
Id = Annotated[str, typer.Argument(metavar="ID", help="Id of a correction (col_…), or of its new memory.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of pending corrections.")]


@app.command(name="list", epilog="Example: sb memory pending list --scope project:shop")
def list_pending(
    ctx: typer.Context,
    at: MemoryOptions,
    limit: Annotated[int, typer.Option(min=0, help="Maximum results; 0 for no limit.")] = 20,
) -> None:
    """List corrections that wait for a person, newest first."""
    with at.memory(ctx) as brain:
        found, now = brain.collapses(limit or -1, status="pending"), brain.space.clock.now()
    if at.json_:
        output.emit_json({"items": [with_times(item.as_json()) for item in found]})
        return
    for item in found:
        show_collapse(item, now)
    if not found:
        note("no correction is pending")


@app.command(epilog="Example: sb memory pending show col_01a21d")
def show(ctx: typer.Context, correction: Id, agent: Agent = "", json_: AsJson = False) -> None:
    """Show a pending correction, and why it waits."""
    with memory(ctx, agent) as brain:
        found, now = _found(brain, correction), brain.space.clock.now()
    if json_:
        output.emit_json(with_times(found.as_json()))
        return
    show_collapse(found, now)
    for item in found.interference:
        scores = f"dependency score {item['former']:.1f}, {item['remaining']:.1f} afterwards"
        output.line(f"    in use: {item['id']} ({scores}; least {item['threshold']:g})")


@app.command(epilog='Example: sb memory pending accept col_01a21d --reason "the vendor confirmed it"')
def accept(
    ctx: typer.Context,
    corrections: Ids = None,
    all_: All = False,
    reason: DecisionReason = "",
    who: As = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Accept corrections: each replaces what it corrects."""
    decide(ctx, "release", *_winners(ctx, corrections, all_), reason, who, yes, json_)


@app.command(epilog='Example: sb memory pending dismiss col_01a21d --reason "a rumour"')
def dismiss(
    ctx: typer.Context,
    corrections: Ids = None,
    all_: All = False,
    reason: DecisionReason = "",
    who: As = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Dismiss corrections: what they would replace stands."""
    decide(ctx, "dismiss", *_winners(ctx, corrections, all_), reason, who, yes, json_)


def _winners(ctx: typer.Context, corrections: list[str] | None, all_: bool) -> tuple[list[str] | None, bool]:
    """The ids of the new memories, by which they are decided; all of them where all corrections are meant."""
    if bool(corrections) == all_:
        return corrections, all_  # which is refused
    with memory(ctx, "") as brain:
        if all_:
            waiting = list(dict.fromkeys(item.winner for item in brain.collapses(status="pending")))
            if not waiting:
                raise NotFoundError("no correction is pending")
            return waiting, False
        return [_found(brain, uid).winner for uid in corrections or ()], False


def _found(brain: Brain, reference: str) -> Collapse:
    """The pending correction of an id, or of how it begins.

    Raises:
        NotFoundError: there is none in view. UsageError: several begin so.
    """
    known = {uid: item for item in brain.collapses(status="pending") for uid in (item.winner, item.id)}
    found = known.get(full_one(reference, known))
    if found is None:
        raise NotFoundError(f"no pending correction {reference!r}", "sb memory pending list")
    return found
