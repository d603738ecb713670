"""`sb replay`: capture runs, and run them again without effects."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import confirmed
from sb.commands.options import AsJson, Yes, group
from sb.commands.session import configuration

from sb.base.sources import iso
from sb.base.text import counted
from sb.errors import ExitCode
from sb.present.kind import time_cell

if TYPE_CHECKING:
    from sb.kernel.replay.packet import Packet

app = group()
_LONGEST = 200  # characters of a value
Run = Annotated[str, typer.Argument(metavar="RUN", help="Id of a captured run, or its beginning.")]


@app.command(epilog="Example: sb replay capture clerk")
def capture(
    ctx: typer.Context,
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="Whose runs; without it, list whose are.")
    ] = "",
    off: Annotated[bool, typer.Option("--off", help="Capture them no longer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Capture an agent's runs from now on, encrypted."""
    from sb.runtime.parts import open_packets

    shelf = open_packets(configuration(ctx))
    agents = shelf.capture(agent, on=not off) if agent else shelf.agents()
    if as_json:
        output.emit_json({"items": list(agents)})
    else:
        output.line(f"captured: {', '.join(agents)}" if agents else "no agent is captured", one_line=True)


@app.command(name="list", epilog="Example: sb replay list")
def list_packets(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List captured runs, newest first."""
    from sb.runtime.parts import open_packets

    found, wrong = open_packets(configuration(ctx)).packets()
    for problem in wrong:
        note(f"warning: {problem}")
    if as_json:
        output.emit_json({"items": [_begun(packet) for packet in found], "problems": wrong})
    elif found:
        rows = [
            (item["run_id"], item["agent"], time_cell(item["at"], item["at"]), item["intent"])
            for item in map(_begun, found)
        ]
        output.table(["run", "agent", "began", "intent"], rows)
    else:
        note("no run was captured; sb replay capture AGENT begins")


@app.command(epilog="Example: sb replay run run_5a106b")
def run(
    ctx: typer.Context,
    run_id: Run,
    agent: Annotated[
        str, typer.Option(metavar="MODULE:FUNCTION", help="The agent, to let it make the calls itself.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Run a captured run again; exit 1 if it differs.

    Contracts, policy and settings are those of now; every call is answered from the packet, and no tool is called.
    """
    from sb.operator.reproduction import agent_named, reproduce
    from sb.runtime.parts import open_packets

    config = configuration(ctx)
    packet = open_packets(config).read(run_id)
    if packet.missing:
        note(f"warning: {packet.run_id} is incomplete: {packet.missing}")
    if agent:
        sys.path.insert(0, "")  # as python itself finds modules of the current folder
    found = reproduce(packet, config, agent_named(agent) if agent else None)
    parted = [divergence._asdict() for divergence in found.divergences]
    if as_json:
        output.emit_json(
            {
                "run_id": packet.run_id,
                "missing": packet.missing,
                "steps": len(packet.steps),
                "same": not parted,
                "divergences": parted,
            }
        )
    else:
        _print_divergences(parted, f"{packet.run_id}: {counted(len(packet.steps), 'call')}, all as captured")
    if parted and config.autonomy.mode != "off":
        _freeze(ctx, packet)
    raise typer.Exit(ExitCode.FAILED if parted else ExitCode.OK)


def _freeze(ctx: typer.Context, packet: Packet) -> None:
    """Let nothing be proposed for an agent whose captured run goes otherwise now."""
    from sb.commands.autonomy import opened
    from sb.commands.session import anybody

    from sb.kernel.autonomy.state import FAILED_REPLAY

    levels = opened(ctx).levels
    by = anybody(ctx, levels.authority, "")
    levels.freeze(packet.begun["agent"], "", by, f"{FAILED_REPLAY}: {packet.run_id}")
    note(f"nothing is proposed for {packet.begun['agent']} any more; sb autonomy unfreeze lifts that")


@app.command(epilog="Example: sb replay diff run_5a106b run_77e0c1")
def diff(
    ctx: typer.Context,
    then: Annotated[str, typer.Argument(metavar="THEN", help="Id of a captured run.")],
    now: Annotated[str, typer.Argument(metavar="NOW", help="Id of another.")],
    as_json: AsJson = False,
) -> None:
    """Compare two captured runs; exit 1 if they differ."""
    from sb.kernel.replay.comparing import changed_facts, divergences
    from sb.runtime.parts import open_packets

    shelf = open_packets(configuration(ctx))
    first, second = shelf.read(then), shelf.read(now)
    facts = [
        {"name": name, "then": before, "now": after} for name, before, after in changed_facts(first, second)
    ]
    parted = [divergence._asdict() for divergence in divergences(first.steps, second.steps)]
    if as_json:
        output.emit_json({"same": not (facts or parted), "facts": facts, "divergences": parted})
    else:
        for fact in facts:
            output.line(f"{fact['name']}: {_value(fact['then'])} -> {_value(fact['now'])}", one_line=True)
        _print_divergences(parted, "the same calls, with the same outcomes")
    raise typer.Exit(ExitCode.FAILED if facts or parted else ExitCode.OK)


@app.command(epilog="Example: sb replay delete run_5a106b")
def delete(ctx: typer.Context, run_id: Run, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete the packet of a run."""
    from sb.runtime.parts import open_packets

    confirmed(f"delete the packet of {run_id}?", yes=yes)
    deleted = open_packets(configuration(ctx)).delete(run_id)
    if as_json:
        output.emit_json({"run_id": deleted})
    else:
        output.line(f"deleted the packet of {deleted}", one_line=True)


def _begun(packet: Packet) -> dict[str, Any]:
    begun = packet.begun
    return {name: begun[name] for name in ("run_id", "agent", "intent", "host", "version")} | {
        "at": iso(begun["at"])
    }


def _value(value: Any) -> str:
    from sb.base.text import shorten

    return shorten(json.dumps(value, ensure_ascii=False), _LONGEST)


def _print_divergences(parted: list[dict[str, Any]], same: str) -> None:
    for item in parted:
        place = f"call {item['position']}, {item['tool_id']}: {item['what']}"
        output.line(f"{place}: {_value(item['then'])} -> {_value(item['now'])}", one_line=True)
    if not parted:
        output.line(same, one_line=True)
