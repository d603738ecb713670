"""`sb trust`: set and show trust scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import not_blank
from sb.commands.options import As, AsJson, LogReason, group
from sb.commands.session import configuration, decider, event_log
from sb.commands.stacks import (
    DEFAULT,
    OPERATOR,
    OfCore,
    Reader,
    ReadFrom,
    opened_core,
    read_from,
    stack_database,
)

from sb.base.duration import human_age
from sb.errors import NotFoundError
from sb.memory.trust.authority import given_by
from sb.present.kind import plain_json
from sb.present.rules import TRUST

if TYPE_CHECKING:
    from sb.memory.trust.scores import Standing

app = group()
Other = Annotated[str, typer.Argument(metavar="NAME", help="Who or what is trusted.")]
Domain = Annotated[str, typer.Option(help="Only this domain, such as code or general.")]


@app.command(name="set", epilog='Example: sb trust set reviewer general 0.9 --reason "its reviews hold"')
def set_(
    ctx: typer.Context,
    name: Other,
    domain: Annotated[str, typer.Argument(help="Domain; general is what memory goes by.")],
    score: Annotated[float, typer.Argument(help="Score from 0 to 1.")],
    evidence: Annotated[
        str, typer.Option(metavar="ID", help="Id of an episode as evidence; adds to earlier ones.")
    ] = "",
    reason: LogReason = "",
    who: As = "",
    agent: Annotated[
        str,
        typer.Option(
            "--agent", metavar="NAME", help="As the opinion of this agent, not yours.", callback=not_blank
        ),
    ] = "",
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Set a trust score for one domain."""
    with opened_core(ctx, agent or OPERATOR, stack, create=True) as core:
        active = core.active_stack
        assert active is not None  # it was opened with one
        if agent:
            uid = core.trust_set(name, domain, score, evidence=evidence or None)
        else:
            uid = _decided(ctx, active.stack_id, name, domain, score, evidence, reason, who)
        (assessment,) = core.trust_get(name)
    if json_:
        output.emit_json(plain_json(assessment))
    else:
        output.line(uid, one_line=True)
        note(f"{name} is trusted {score:g} in {domain}")


def _decided(
    ctx: typer.Context,
    stack: str,
    name: str,
    domain: str,
    score: float,
    evidence: str,
    reason: str,
    who: str,
) -> str:
    """An operator's score, signed and logged; returns the assessment's id."""
    from sb.memory.space import Space
    from sb.memory.trust.deciding import TrustDesk
    from sb.runtime.parts import open_authority

    log = event_log(ctx)
    config = configuration(ctx, quietly=True)
    authority = open_authority(config, log)
    desk = TrustDesk(Space(log.database, config.memory, clock=log.clock, ids=log.ids), log, authority)
    by, given = decider(ctx, authority, who), [evidence] if evidence else []
    return desk.assess(stack, name, domain, score, by=by, reason=reason, evidence=given)


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
    output.listing(TRUST, found, "no trust scores set: sb trust set NAME DOMAIN SCORE", as_json=json_)


@app.command(epilog="Example: sb trust show reviewer")
def show(
    ctx: typer.Context,
    name: Other,
    domain: Domain = "",
    agent: Reader = "",
    scope: ReadFrom = "",
    stack: OfCore = "",
    json_: AsJson = False,
) -> None:
    """Show a trust score and what counts; exit 1 if none."""
    with opened_core(ctx, agent or OPERATOR, stack, scope=read_from(agent, scope)) as core:
        found = core.trust_get(name)
        active = core.active_stack
        computed = active.compute_trust(name, domain or None) if active is not None else {}
        standing = _standing(ctx, active.stack_id if active is not None else DEFAULT, name, domain)
    if not found:
        raise NotFoundError(f"no trust score for {name!r}", "sb trust list")
    if json_:
        counts = None if standing is None else _as_json(standing)
        output.emit_json(plain_json(found[0]) | {"computed": computed, "counts": counts})
        return
    (assessment,) = found
    output.line(
        f"{assessment.entity}: {computed['score']:g} in {computed['domain']}, by {computed['source']}",
        one_line=True,
    )
    for area, dimension in assessment.dimensions.items():
        by = given_by(assessment.authority, area).get("by")
        output.line(f"    {area}: {dimension.get('score', '?')}{f' by {by}' if by else ''}", one_line=True)
    for episode in assessment.evidence_episode_ids or ():
        output.line(f"evidence: {episode}", one_line=True)
    output.line(f"counts: {_why(standing)}", one_line=True)


def _standing(ctx: typer.Context, stack: str, name: str, domain: str) -> Standing | None:
    from sb.memory.space import Space
    from sb.memory.trust.scores import GENERAL

    with stack_database(ctx) as (database, config):
        known = Space(database, config.memory).trust.standings(stack, domain or GENERAL)
        return known.get(name)


def _as_json(standing: Standing) -> dict[str, Any]:
    opinions = [opinion._asdict() for opinion in standing.opinions]
    return {"score": standing.score, "depth": standing.depth, "opinions": opinions}


def _why(standing: Standing | None) -> str:
    """The trust that counts, and whose opinions it rests on."""
    from sb.memory.trust.scores import OPERATORS

    if standing is None:
        return "not at all: neither an operator nor somebody who is trusted gave it"
    who = {OPERATORS: "an operator", "": "somebody unknown"}
    opinions = [
        f"{who.get(opinion.by, opinion.by)} gave {opinion.about} {opinion.score:g}, {human_age(opinion.days * 86_400)}"
        for opinion in standing.opinions
    ]
    return f"{standing.score:.2f} now; {', and '.join(opinions)}"
