"""`sb memory conflicts list|show|resolve|revert`: memories, claims and copies that contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import MemoryOptions, required, with_times
from sb.commands.options import ChangeReason, group
from sb.commands.session import decider, event_log
from sb.commands.stacks import open_stack

from sb.base.duration import human_age
from sb.base.text import shorten

if TYPE_CHECKING:
    from sb.memory import Brain
    from sb.memory.beliefs.conflicts import Conflict
    from sb.stack import SQLiteStack
    from sb.stack.all_conflicts import AllConflicts

app = group("Settle memories that contradict each other.")
WIDEST = 100  # characters of a memory on one line
ConflictId = Annotated[str, typer.Argument(metavar="ID", help="Id of a conflict (cfl_…, con_… of copies).")]


@app.command("list", epilog="Example: sb memory conflicts list --status marked")
def list_(
    ctx: typer.Context,
    at: MemoryOptions,
    status: Annotated[
        str, typer.Option(help="open, marked, superseded, resolved, reverted or dismissed.")
    ] = "open",
) -> None:
    """List conflicts of memories, of the ledger and of copies."""
    with at.memory(ctx) as brain:
        items, now = _all(brain, at.agent).listed(status), brain.space.clock.now()
    if at.json_:
        output.emit_json({"items": [_json(item) for item in items]})
        return
    for item in items:
        _show(item, now)
    note("sb memory conflicts resolve ID WINNER --reason TEXT" if items else f"no {status} conflicts")


@app.command(epilog="Example: sb memory conflicts show cfl_01a2")
def show(
    ctx: typer.Context,
    at: MemoryOptions,
    conflict: ConflictId,
) -> None:
    """Show both sides of a conflict, who says them and why."""
    with at.memory(ctx) as brain:
        _answer(_all(brain, at.agent).get(conflict), brain, at.json_)


@app.command(epilog='Example: sb memory conflicts resolve cfl_01a2 mem_7c2e91 --reason "asked Ann"')
def resolve(
    ctx: typer.Context,
    at: MemoryOptions,
    conflict: ConflictId,
    winner: Annotated[str, typer.Argument(help="Id of the side that holds, or both.")],
    reason: ChangeReason = "",
) -> None:
    """Let one side stand; the others are superseded."""
    required(reason)
    with at.memory(ctx) as brain:
        item = _all(brain, at.agent).resolve(
            conflict, winner, reason, lambda: at.agent or _decider(ctx, brain)
        )
        if item is not None:
            _answer(item, brain, at.json_)
        elif at.json_:
            output.emit_json({"id": conflict, "winner": winner})
        else:
            output.line(f"kept {winner}")


@app.command(epilog='Example: sb memory conflicts revert cfl_01a2 --reason "it was a rumour"')
def revert(
    ctx: typer.Context,
    at: MemoryOptions,
    conflict: ConflictId,
    reason: ChangeReason = "",
) -> None:
    """Take a settlement back: what fell is found again."""
    required(reason)
    with at.memory(ctx) as brain:
        _answer(brain.revert_conflict(conflict, reason), brain, at.json_)


def _all(brain: Brain, agent: str) -> AllConflicts:
    from sb.stack.all_conflicts import AllConflicts

    def opened(name: str) -> SQLiteStack:
        return open_stack(brain.database, brain.config, name, agent, scope=None)

    return AllConflicts(brain, opened, (brain.stack,) if agent else None)


def _decider(ctx: typer.Context, brain: Brain) -> str:
    from sb.runtime.parts import open_authority

    return decider(ctx, open_authority(brain.config, event_log(ctx)), "").name


def _answer(item: Conflict, brain: Brain, json_: bool) -> None:
    if json_:
        output.emit_json(_json(item))
    else:
        _show(item, brain.space.clock.now(), whole=True)


def _json(item: Conflict) -> dict[str, object]:
    found: dict[str, object] = with_times(item.as_json())
    return found | {"sides": [with_times(side.as_json()) for side in item.sides]}


def _show(item: Conflict, now: float, *, whole: bool = False) -> None:
    about = f": {item.about}" if item.about else ""
    age = f"  {human_age(now - item.at)}" if item.at else ""  # nobody notes when copies went apart
    output.line(f"{item.id}  {item.status}  {item.kind}{age}{about}", one_line=True)
    for side in item.sides:
        mark = "holds" if side.id == item.winner else side.state if side.state != "active" else "says"
        text = side.content if whole else shorten(side.content, WIDEST)
        output.line(f"    {mark}: {side.id} {text} ({side.agent or side.source})", one_line=True)
        if whole and side.trust is not None:
            made = f", made from {', '.join(side.sources)}" if side.sources else ""
            facts = (
                f"{side.source or 'ledger'}, trust {side.trust:.2f}, evidence {side.evidence or 0:g}{made}"
            )
            output.line(f"        {human_age(now - side.at)}, {facts}", one_line=True)
    if item.reason:
        output.line(f"    {item.settled_by}: {item.reason}", one_line=True)
