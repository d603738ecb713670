"""`sb release`: pin, show, compare and list releases of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import confirmed
from sb.commands.options import AsJson, Yes, group
from sb.commands.session import configuration, decider

from sb.errors import ExitCode, NotFoundError
from sb.present.rules import RELEASE, SHORT_RELEASE

if TYPE_CHECKING:
    from sb.kernel.authority.authority import Authority
    from sb.kernel.release_tuple.release import PartChange
    from sb.kernel.release_tuple.releases import Releases

app = group("Pin an agent's release: its prompts, model, tools, rules.")
Agent = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name.")]


def _opened(ctx: typer.Context) -> tuple[Releases, Authority]:
    from sb.runtime.parts import open_authority, open_log, open_releases

    config = configuration(ctx)
    if config.release.check == "off":
        note("release.check is off, so no run records its release")
    log = open_log(config)
    authority = open_authority(config, log)
    return open_releases(config, log, authority), authority


@app.command(name="list", epilog="Example: sb release list clerk")
def list_releases(
    ctx: typer.Context,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Only this agent's.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the releases that runs had, newest first."""
    releases, _ = _opened(ctx)
    entries = releases.entries(agent)
    nothing = f"no releases of {agent}: sb release list names the agents that have one" if agent else ""
    output.listing(RELEASE, entries, nothing or "no releases yet", as_json=as_json)


@app.command(epilog="Example: sb release show clerk")
def show(
    ctx: typer.Context,
    agent: Agent,
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="By default the newest.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show the seven parts of a release."""
    releases, _ = _opened(ctx)
    entry = releases.entry(agent, release)
    if as_json:
        output.emit_json(RELEASE.to_dict(entry))
        return
    output.line(f"{agent}: {entry.id}{', pinned' if entry.pinned else ''}")
    for name, part in entry.release.document().items():
        output.line(f"  {name}: {part['name']}, version {part['version']}")


@app.command(name="diff", epilog="Example: sb release diff clerk")
def compare(
    ctx: typer.Context,
    agent: Agent,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="By default the pinned one.")] = "",
    after: Annotated[str, typer.Argument(metavar="AFTER", help="By default the newest.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show what differs between two releases; exit 1 if anything."""
    from sb.kernel.release_tuple.release import diff

    releases, _ = _opened(ctx)
    old = releases.entry(agent, before) if before else releases.pinned(agent)
    if old is None:
        raise NotFoundError(f"no release of {agent} is pinned", f"sb release pin {agent}, or name BEFORE")
    new = releases.entry(agent, after)
    contracts = [releases.contracts_of(release_entry.release) for release_entry in (old, new)]
    changes = diff(old.release, new.release, *contracts)
    if as_json:
        output.emit_json({"before": old.id, "after": new.id, "changes": [_change(item) for item in changes]})
    else:
        for change in changes:
            output.line(
                f"{change.part}: {change.before.name} {change.before.version} -> {change.after.name} {change.after.version}"
            )
            for tool in change.contracts:
                output.line(f"  {tool}")
        if not changes:
            output.line("the same release")
    if changes:
        raise typer.Exit(ExitCode.FAILED)


def _change(change: PartChange) -> dict[str, Any]:
    return {
        "part": change.part,
        "before": vars(change.before),
        "after": vars(change.after),
        "contracts": list(change.contracts),
    }


@app.command(epilog='Example: sb release pin clerk --reason "evaluated on Monday"')
def pin(
    ctx: typer.Context,
    agent: Agent,
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="By default the newest.")] = "",
    lift: Annotated[bool, typer.Option("--lift", help="Pin none any more.")] = False,
    approved_by: Annotated[
        str, typer.Option(help="The operator who signs; a label while none is enrolled.")
    ] = "",
    reason: Annotated[str, typer.Option(help="Why; recorded with the pin.")] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Pin a release, which an agent's runs then have to have."""
    releases, authority = _opened(ctx)
    wanted = "" if lift else releases.entry(agent, release).id
    what = "lift the pin of" if lift else f"pin {wanted[:SHORT_RELEASE]} for"
    confirmed(f"{what} {agent}?", yes=yes)
    by = decider(ctx, authority, approved_by, "--approved-by")
    releases.pin(agent, wanted, by, reason)
    if as_json:
        output.emit_json({"agent": agent, "id": wanted, "by": by.name})
    else:
        output.line(
            f"no release of {agent} is pinned any more"
            if lift
            else f"{agent} is pinned to {wanted[:SHORT_RELEASE]}"
        )
