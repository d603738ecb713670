"""`sb trust`: say how far others are trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import AsJson
from sb.commands.stacks import (
    OPERATOR,
    OfCore,
    Reader,
    ReadFrom,
    Whose,
    as_json,
    moment,
    opened_core,
    read_from,
)

from sb.errors import NotFoundError

if TYPE_CHECKING:
    from sb.types import TrustAssessment

app = typer.Typer(
    help="Say how far others are trusted.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
Other = Annotated[str, typer.Argument(metavar="NAME", help="Who or what is trusted.")]
Domain = Annotated[str, typer.Option(help="Only in this domain, such as code or general.")]


@app.command(name="set")
def set_(
    ctx: typer.Context,
    name: Other,
    domain: Annotated[str, typer.Argument(help="In what, such as code or general.")],
    score: Annotated[float, typer.Argument(help="How far, from 0 to 1.")],
    evidence: Annotated[
        str, typer.Option(metavar="ID", help="The episode that speaks for it; it is added to those before.")
    ] = "",
    agent: Whose = OPERATOR,
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Say how far somebody is trusted in one domain; what was said of others stays."""
    with opened_core(ctx, agent, stack, create=True) as core:
        uid = core.trust_set(name, domain, score, evidence=evidence or None)
        (kept,) = core.trust_get(name)
    if json_:
        output.emit_json(as_json(kept))
    else:
        output.line(uid, one_line=True)
        note(f"{name} is trusted {score:g} in {domain}")


@app.command(name="list")
def list_assessments(
    ctx: typer.Context,
    domain: Domain = "",
    min_score: Annotated[float | None, typer.Option(help="Only those with at least this score.")] = None,
    agent: Reader = "",
    scope: ReadFrom = "",
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """List who is trusted how far."""
    with opened_core(ctx, agent or OPERATOR, stack, scope=read_from(agent, scope)) as core:
        found = core.trust_list(domain=domain or None, min_score=min_score)
    if json_:
        output.emit_json({"items": [as_json(one) for one in found]})
    elif found:
        output.table(["name", "trust", "evidence", "last said"], [_row(one) for one in found])
    else:
        note("nothing is said of anybody: sb trust set NAME DOMAIN SCORE")


def _row(one: TrustAssessment) -> tuple[str, ...]:
    scores = ", ".join(f"{domain} {said.get('score', '?')}" for domain, said in one.dimensions.items())
    return (one.entity, scores, str(len(one.evidence_episode_ids or ())), moment(one.last_updated))


@app.command()
def show(
    ctx: typer.Context,
    name: Other,
    domain: Domain = "",
    agent: Reader = "",
    scope: ReadFrom = "",
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Say how far one is trusted, and what that rests on; exit 1 if nothing is said of them."""
    with opened_core(ctx, agent or OPERATOR, stack, scope=read_from(agent, scope)) as core:
        found = core.trust_get(name)
        active = core.active_stack
        computed = active.compute_trust(name, domain or None) if active is not None else {}
    if not found:
        raise NotFoundError(f"nothing is said of {name!r}", "sb trust list")
    if json_:
        output.emit_json(as_json(found[0]) | {"computed": computed})
        return
    (one,) = found
    output.line(
        f"{one.entity}: {computed['score']:g} in {computed['domain']}, by {computed['source']}", one_line=True
    )
    for area, said in one.dimensions.items():
        output.line(f"    {area}: {said.get('score', '?')}", one_line=True)
    for episode in one.evidence_episode_ids or ():
        output.line(f"evidence: {episode}", one_line=True)
