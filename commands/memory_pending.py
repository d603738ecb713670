"""`sb memory pending`: corrections that wait for a person."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import Agent, MemoryOptions, memory, with_times
from sb.commands.memory_beliefs import show_collapse
from sb.commands.options import AsJson, group
from sb.commands.quarantine import Decision, decide

from sb.errors import UsageError

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
        (found,), now = brain.pending_corrections(correction), brain.space.clock.now()
    if json_:
        output.emit_json(with_times(found.as_json()))
        return
    show_collapse(found, now)
    for item in found.interference:
        scores = f"dependency score {item['former']:.1f}, {item['remaining']:.1f} afterwards"
        output.line(f"    in use: {item['id']} ({scores}; least {item['threshold']:g})")


@app.command(epilog='Example: sb memory pending accept col_01a21d --reason "the vendor confirmed it"')
def accept(ctx: typer.Context, by: Decision, corrections: Ids = None) -> None:
    """Accept corrections: each replaces what it corrects."""
    _decide(ctx, "release", corrections, by)


@app.command(epilog='Example: sb memory pending dismiss col_01a21d --reason "a rumour"')
def dismiss(ctx: typer.Context, by: Decision, corrections: Ids = None) -> None:
    """Dismiss corrections: what they would replace stands."""
    _decide(ctx, "dismiss", corrections, by)


def _decide(
    ctx: typer.Context, verb: Literal["release", "dismiss"], corrections: list[str] | None, by: Decision
) -> None:
    """Decide by the new memories; all of them where all corrections are meant."""
    if bool(corrections) == by.all_:
        raise UsageError("which corrections?", "give their IDs, or --all")
    with memory(ctx, "") as brain:
        found = brain.pending_corrections(*(corrections or ()))
    decide(ctx, verb, list(dict.fromkeys(item.winner for item in found)), replace(by, all_=False))
