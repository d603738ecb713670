"""`sb tokenomics`: what trusted outcomes cost."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import output
from sb.commands.arguments import choice
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, group
from sb.commands.outcome import open_judgements, read_outcomes

from sb.base.duration import parse_duration
from sb.base.sources import iso_micros, micros
from sb.base.text import counted
from sb.present.outcomes import OUTCOME_GROUP

app = group()


@app.callback()
def tokenomics() -> None:
    """A group with one command so far."""


@app.command(epilog="Example: sb tokenomics report --by agent --since 30d")
def report(
    ctx: typer.Context,
    by: Annotated[str, typer.Option(help="workflow, agent, version or intent.")] = "workflow",
    since: Annotated[str, typer.Option(help="Only runs that began in the last 2h, 30d…")] = "",
    as_json: AsJson = False,
) -> None:
    """Report outcomes, their cost, and cost per trusted outcome."""
    from sb.kernel.outcomes import report_outcomes
    from sb.kernel.outcomes.costs import listed_version
    from sb.kernel.outcomes.reporting import Grouping

    grouping = choice("--by", by, Grouping)
    log, _, judgements = open_judgements(ctx)
    earliest = micros(log.clock.now() - parse_duration(since)) if since else 0
    outcomes = read_outcomes(ctx, log)
    found = report_outcomes(log, outcomes, judgements.in_force(), grouping, since=earliest)
    if as_json:
        output.emit_json(
            {
                "by": str(grouping),
                "since": iso_micros(earliest) if since else None,
                "items": [OUTCOME_GROUP.to_dict(it) for it in found.groups],
                "whole": OUTCOME_GROUP.to_dict(found.whole),
                "sources": found.sources,
                "unpriced": found.unpriced,
            }
        )
        return
    if not found.groups:
        note("no runs on record" + (f" since {since}" if since else ""))
        return
    output.records(OUTCOME_GROUP, [*found.groups, found.whole] if len(found.groups) > 1 else found.groups)
    for source, count in found.sources.items():
        note(f"cost of {counted(count, 'run')}: {source}")
    for why, count in found.unpriced.items():
        note(f"cost of {counted(count, 'run')} unknown: {why}")
    if found.whole.undefined:
        note(f"per trusted outcome: - as {found.whole.undefined}")
    if found.unpriced and not listed_version():
        note("list prices: pip install 'secondbrain-sb[prices]'")
