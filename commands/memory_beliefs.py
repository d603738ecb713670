"""`sb memory correct|collapses|revert`: replace what is not true any more, and take that back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import (
    Agent,
    Id,
    MemoryOptions,
    Project,
    Scope,
    Session,
    confirmed,
    memory,
    note_masked,
    typed,
    with_times,
)
from sb.commands.options import AsJson, Yes, single

from sb.base.duration import human_age
from sb.base.text import counted, shorten

if TYPE_CHECKING:
    from sb.memory.beliefs.collapses import Collapse

app = single()
WIDEST = 100  # characters of a memory on one line
Reason = Annotated[str, typer.Option(help="Why; recorded with the correction.")]


@app.command(
    epilog='Example: sb memory correct mem_7c2e91 "the limit is 200 requests" --reason "raised in May"'
)
def correct(
    ctx: typer.Context,
    old: Id,
    new: Annotated[str, typer.Argument(help="What is true instead, or the id of a memory; - for stdin.")],
    reason: Reason = "",
    project: Project = "",
    scope: Scope = "",
    agent: Agent = "",
    session: Session = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Replace a memory that is not true any more.

    Asks if other memories rest on it alone, since they fall with it.
    """
    text = typed(new, "memory")
    with memory(ctx, agent, project=project, scope=scope, session=session) as brain:
        if falling := brain.resting_on(old):
            for item in falling:
                note(f"falls with it: {item.id} {shorten(item.title, WIDEST)}")
            confirmed(f"supersede {counted(len(falling), 'memory')} more?", yes=yes)
        winner = brain.correct(old, text, reason)
        done = brain.collapses(1)[0]
        if json_:
            output.emit_json(with_times(done.as_json()))
            return
        output.line(winner)
        note_masked(brain.masked)
        if winner in brain.quarantined:
            note(f"waits for a person, who releases it in sb quarantine: {done.held}")
        else:
            note(f"{done.loser} is superseded; sb memory revert {done.id} takes that back")


@app.command(epilog="Example: sb memory collapses --limit 5")
def collapses(
    ctx: typer.Context,
    at: MemoryOptions,
    limit: Annotated[int, typer.Option(min=0, help="Maximum results; 0 for no limit.")] = 20,
) -> None:
    """Show what was corrected, what fell with it, and why."""
    with at.memory(ctx) as brain:
        found, now = brain.collapses(limit or -1), brain.space.clock.now()
        if at.json_:
            output.emit_json({"items": [with_times(item.as_json()) for item in found]})
            return
        for item in found:
            show_collapse(item, now)
        if not found:
            note("nothing was corrected yet")


def show_collapse(found: Collapse, now: float) -> None:
    why = f": {found.reason}" if found.reason else ""
    output.line(
        f"{found.id}  {found.status}  {human_age(now - found.at)}  by {found.agent}{why}", one_line=True
    )
    if found.held:
        output.line(f"    waits: {found.held}", one_line=True)
    output.line(
        f"    now: {found.winner} {shorten(found.winner_content, WIDEST)} ({found.citation})", one_line=True
    )
    output.line(f"    was: {found.loser} {shorten(found.loser_content, WIDEST)}", one_line=True)
    for item in found.records:
        if item.id != found.loser:
            state = "restored" if item.restored else item.role
            output.line(f"    {state}: {item.id} {shorten(item.content, WIDEST)}", one_line=True)
    if found.hidden:
        output.line(f"    and {found.hidden} more that are not visible to you")
    best = found.ranking[0] if found.ranking else {}
    if best.get("side") == "loser":
        output.line("    the one that was replaced ranked as the more credible")


@app.command(epilog='Example: sb memory revert col_01a21d --reason "it was a rumour"')
def revert(
    ctx: typer.Context,
    at: MemoryOptions,
    collapse: Annotated[str, typer.Argument(metavar="ID", help="Id of a correction (col_…).")],
    reason: Reason = "",
) -> None:
    """Revert a correction."""
    with at.memory(ctx) as brain:
        done = brain.revert(collapse, reason)
    if at.json_:
        output.emit_json(done.as_json())
        return
    for record in done.restored:
        output.line(f"{record} restored")
    for record, why in done.left:
        output.line(f"{record} left: {why}")
    if done.removed:
        output.line(f"{done.removed} superseded")
        note(f"sb memory revert {done.collapse} takes that back")
