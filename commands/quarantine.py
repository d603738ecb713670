"""`sb quarantine`: review memories of untrusted sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import confirmed, required, with_times
from sb.commands.options import As, AsJson, DecisionReason, Limit, Yes, group
from sb.commands.session import configuration, decider, event_log

from sb.base.duration import human_age
from sb.base.text import counted, plain, shorten
from sb.base.values.frozen import frozen
from sb.errors import UsageError

if TYPE_CHECKING:
    from sb.kernel.authority.authority import Authority
    from sb.memory.quarantine.review import Decided, Held, Quarantine

app = group()
WIDEST = 100  # characters of a memory on one line
Ids = Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of quarantined memories.")]
All = Annotated[bool, typer.Option("--all", help="Decide all that wait.")]


@frozen
class Decision:
    """Options of a command that decides about memories that wait."""

    all_: All = False
    reason: DecisionReason = ""
    who: As = ""
    yes: Yes = False
    json_: AsJson = False


def opened(ctx: typer.Context) -> tuple[Quarantine, Authority, float]:
    """The quarantine, who may decide, and the time."""
    from sb.memory.operator_view import Overseer
    from sb.memory.quarantine.review import Quarantine
    from sb.runtime.parts import open_authority

    log = event_log(ctx)
    config = configuration(ctx, quietly=True)
    authority = open_authority(config, log)
    overseer = Overseer(database=log.database, config=config, clock=log.clock, ids=log.ids)
    return Quarantine(overseer.space, log, authority), authority, log.clock.now()


@app.command(name="list", epilog="Example: sb quarantine list --purged")
def list_held(
    ctx: typer.Context,
    purged: Annotated[bool, typer.Option("--purged", help="Those that were purged instead.")] = False,
    limit: Limit = 100,
    json_: AsJson = False,
) -> None:
    """List quarantined memories, newest first."""
    quarantine, _, now = opened(ctx)
    found = quarantine.items(limit=limit, purged=purged)
    if json_:
        output.emit_json({"items": [_as_json(entry) for entry in found]})
        return
    for item in found:
        _line(item, now)
    if not found:
        note("nothing is quarantined" if not purged else "nothing was purged")


@app.command(epilog="Example: sb quarantine show mem_7c2e91")
def show(
    ctx: typer.Context,
    record: Annotated[str, typer.Argument(metavar="ID", help="Id of a quarantined memory.")],
    json_: AsJson = False,
) -> None:
    """Show a quarantined memory: untrusted text, in full."""
    quarantine, _, now = opened(ctx)
    found = quarantine.show(quarantine.full_id(record, purged=True))
    if json_:
        output.emit_json(_as_json(found))
        return
    output.line(f"{found.id}  {found.kind}  {found.scope}  by {found.agent_id}", one_line=True)
    output.passage(found.content, "    ", lambda line: ())
    for name, value in (
        ("verdict", found.verdict),
        ("reason", f"{found.reason}, {human_age(now - found.since)}"),
        ("sources", ", ".join(found.sources)),
        ("derived", ", ".join(found.derived)),
    ):
        if value:
            output.line(f"{name}: {value}", one_line=True)


@app.command(epilog='Example: sb quarantine add mem_7c2e91 --reason "its tool was compromised"')
def add(
    ctx: typer.Context,
    records: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of memories.")],
    reason: DecisionReason = "",
    who: As = "",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Quarantine memories and what was derived from them."""
    required(reason)
    quarantine, authority, _ = opened(ctx)
    confirmed(f"quarantine {counted(len(records), 'memory')} and what was derived?", yes=yes)
    _done(quarantine.add(records, by=decider(ctx, authority, who), reason=reason), json_)


@app.command(epilog='Example: sb quarantine release mem_7c2e91 --reason "checked with the vendor"')
def release(ctx: typer.Context, by: Decision, records: Ids = None) -> None:
    """Release quarantined memories as safe."""
    decide(ctx, "release", records, by)


@app.command(epilog='Example: sb quarantine purge mem_7c2e91 --reason "an injected instruction"')
def purge(ctx: typer.Context, by: Decision, records: Ids = None) -> None:
    """Purge quarantined memories as malicious, for good."""
    decide(ctx, "purge", records, by)


def decide(
    ctx: typer.Context, verb: Literal["release", "purge", "dismiss"], records: list[str] | None, by: Decision
) -> None:
    """Shows what is decided, and decides it once that is confirmed."""
    required(by.reason)
    if bool(records) == by.all_:
        raise UsageError("which memories?", "give their IDs, or --all")
    quarantine, authority, now = opened(ctx)
    names = dict.fromkeys(map(quarantine.full_id, records or ()))
    items = quarantine.items() if by.all_ else [quarantine.show(name) for name in names]
    if not by.yes:
        for item in items:
            _line(item, now)
    confirmed(f"{verb} {counted(len(items), 'memory')}?", yes=by.yes)
    done = getattr(quarantine, verb)(items, by=decider(ctx, authority, by.who), reason=by.reason)
    _done(done, by.json_)


def _as_json(found: Held) -> dict[str, Any]:
    shown: dict[str, Any] = with_times(found.as_json())
    return shown


def _line(item: Held, now: float) -> None:
    output.line(
        f"{item.id}  {item.kind}  {item.reason}  {human_age(now - item.since)}  by {item.agent_id}",
        one_line=True,
    )
    output.line(f"    {shorten(plain(item.content, one_line=True), WIDEST)}", one_line=True)


def _done(done: Decided, json_: bool) -> None:
    if json_:
        output.emit_json(done.as_json())
        return
    for uid in done.ids:
        output.line(f"{uid} {done.verdict}", one_line=True)
    for uid in done.merged:
        note(f"{uid} was added to the record of its name")
    if done.relations:
        note(f"{counted(done.relations, 'relation')} retracted")
    if not done.ids:
        note("nothing to decide")
