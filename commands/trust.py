"""`sb trust`: set and show trust scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, group
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

app = group("Set and show trust scores.")
Other = Annotated[str, typer.Argument(metavar="NAME", help="Who or what is trusted.")]
Domain = Annotated[str, typer.Option(help="Only this domain, such as code or general.")]


@app.command(name="set", epilog="Example: sb trust set Ana code 0.9")
def set_(
    ctx: typer.Context,
    name: Other,
    domain: Annotated[str, typer.Argument(help="Domain, such as code or general.")],
    score: Annotated[float, typer.Argument(help="Score from 0 to 1.")],
    evidence: Annotated[
        str, typer.Option(metavar="ID", help="Id of an episode as evidence; adds to earlier ones.")
    ] = "",
    agent: Whose = OPERATOR,
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Set a trust score for one domain."""
    with opened_core(ctx, agent, stack, create=True) as core:
        uid = core.trust_set(name, domain, score, evidence=evidence or None)
        (kept,) = core.trust_get(name)
    if json_:
        output.emit_json(as_json(kept))
    else:
        output.line(uid, one_line=True)
        note(f"{name} is trusted {score:g} in {domain}")


@app.command(name="list", epilog="Example: sb trust list --domain code")
def list_assessments(
    ctx: typer.Context,
    domain: Domain = "",
    min_score: Annotated[float | None, typer.Option(help="Minimum score.")] = None,
    agent: Reader = "",
    scope: ReadFrom = "",
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """List trust scores."""
    with opened_core(ctx, agent or OPERATOR, stack, scope=read_from(agent, scope)) as core:
        found = core.trust_list(domain=domain or None, min_score=min_score)
    if json_:
        output.emit_json({"items": [as_json(one) for one in found]})
    elif found:
        output.table(["name", "trust", "evidence", "updated"], [_row(one) for one in found])
    else:
        note("no trust scores set: sb trust set NAME DOMAIN SCORE")


def _row(one: TrustAssessment) -> tuple[object, ...]:
    scores = ", ".join(f"{domain} {said.get('score', '?')}" for domain, said in one.dimensions.items())
    updated = output.when(moment(one.last_updated), one.last_updated)
    return (one.entity, scores, str(len(one.evidence_episode_ids or ())), updated)


@app.command(epilog="Example: sb trust show Ana")
def show(
    ctx: typer.Context,
    name: Other,
    domain: Domain = "",
    agent: Reader = "",
    scope: ReadFrom = "",
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Show a trust score and its evidence; exit 1 if none."""
    with opened_core(ctx, agent or OPERATOR, stack, scope=read_from(agent, scope)) as core:
        found = core.trust_get(name)
        active = core.active_stack
        computed = active.compute_trust(name, domain or None) if active is not None else {}
    if not found:
        raise NotFoundError(f"no trust score for {name!r}", "sb trust list")
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
