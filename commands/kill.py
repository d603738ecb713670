"""`sb kill`: stop all agents, or one agent, tool, class or run; lift that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.arguments import require_reason
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, DecisionReason, single
from sb.commands.session import anybody, decider, kill_switch

from sb.errors import ExitCode
from sb.present.incidents import KILL

if TYPE_CHECKING:
    from sb.kernel.incident_response.kill import Kill, KillScope
    from sb.kernel.incident_response.kill_switch import KillSwitch

app = single()
_NAMED = ("agent", "tool", "run")  # what the log has a column for


@app.command(epilog='Example: sb kill agent:clerk --reason "refunds the wrong orders"')
def kill(
    ctx: typer.Context,
    scope: Annotated[
        str,
        typer.Argument(metavar="SCOPE", help="global, agent:NAME, tool:ID, class:NAME, run:ID; or list."),
    ],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The agent, tool id, safety class or run, if not above.")
    ] = "",
    lift: Annotated[bool, typer.Option("--lift", help="Lift the kill.")] = False,
    reason: DecisionReason = "",
    wait: Annotated[float, typer.Option(min=0.0, max=60.0, help="Seconds to wait for running calls.")] = 1.0,
    who: Annotated[str, typer.Option("--as", help="The operator who signs; only operators lift.")] = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Skip the confirmation before stopping everything.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Stop all agents, or one agent, tool, class or run.

    `sb kill list` shows what is stopped; --lift lets it go on.
    """
    from sb.kernel.incident_response.kill import name_of, parse_scope

    known, whom = (None, "") if scope == "list" else parse_scope(scope, target)
    switch = kill_switch(ctx, tolerant=not lift)  # a wrong setting keeps nobody from stopping agents
    if known is None:
        _list(switch, as_json)
        return
    require_reason(reason)
    if lift:
        shown = switch.in_force().get(name_of(known, whom))
        if shown is not None:
            note(f"lifting: {shown.sentence}")  # before a passphrase is asked for
        by = decider(ctx, switch.authority, who)
        waiting = switch.lift(known, whom, by, reason, number=shown.number if shown else 0)
        _lifted(waiting, f"{known} {whom}".rstrip(), as_json)
        return
    asks = not whom and not yes and sys.stdin.isatty() and sys.stdout.isatty()
    if asks and not typer.confirm("stop every agent?"):
        raise typer.Abort
    throw(ctx, switch, known, whom, reason, wait_s=wait, who=who, as_json=as_json)


def throw(
    ctx: typer.Context,
    switch: KillSwitch,
    scope: KillScope,
    target: str,
    reason: str,
    *,
    wait_s: float,
    who: str,
    as_json: bool,
) -> Kill:
    """Stop it and say what is still running."""
    thrown = switch.throw(scope, target, anybody(ctx, switch.authority, who), reason, wait_s=wait_s)
    if as_json:
        names = ("call_id", "run_id", "agent", "tool_id")
        running = [{name: getattr(intent, name) for name in names} for intent in thrown.running]
        output.emit_json(KILL.to_dict(thrown.kill) | {"running": running})
    else:
        output.line(thrown.kill.sentence, one_line=True)
        for intent in thrown.running:
            output.line(f"still running: {intent.call_id} {intent.tool_id} by {intent.agent}", one_line=True)
    if scope in _NAMED and not _on_record(switch, scope, target):
        note(f"warning: no call of {scope} {target} is in the log: check the spelling")
    note(f"to lift it: {thrown.kill.lift_command}")
    return thrown.kill


def _on_record(switch: KillSwitch, scope: str, target: str) -> bool:
    agent, tool, run = (target if scope == name else "" for name in _NAMED)
    return any(switch.log.events(limit=1, agent=agent, tool_id=tool, run_id=run))


def _lifted(waiting: Kill | None, what: str, as_json: bool) -> None:
    if as_json:
        output.emit_json({"lifted": waiting is None, "kill": waiting and KILL.to_dict(waiting)})
    elif waiting is None:
        output.line(f"{what} may go on", one_line=True)
    else:
        output.line(f"{what} stays stopped until a second operator lifts it", one_line=True)
    if waiting is not None:
        raise typer.Exit(ExitCode.DENIED)


def _list(switch: KillSwitch, as_json: bool) -> None:
    found = switch.active()
    output.listing(KILL, found, "no kills in force", as_json=as_json)
    for kill in () if as_json else found:
        for why in kill.rejected:
            note(f"warning: a lift of {kill.name} does not count, {why}")
        if kill.lost:
            note(f"warning: the row that killed {kill.name} is gone from the log: sb log verify")
