"""`sb outcome`: accept or reject what runs came to, and list what was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, Limit, LogReason, group
from sb.commands.session import configuration, decider

from sb.base.duration import parse_duration
from sb.base.sources import iso
from sb.base.values.frozen import frozen
from sb.present.outcomes import JUDGEMENT, JudgedRun, judged_json, outcome_lines, verdict

if TYPE_CHECKING:
    from sb.kernel.authority.authority import Authority
    from sb.kernel.outcomes.judgements import Judgements
    from sb.kernel.outcomes.record import Outcomes
    from sb.log.event_log import EventLog

app = group()
RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run (run_…), or its host's session.")]


@frozen
class Judging:
    """Options of a command that judges a run."""

    workflow: Annotated[str, typer.Option(help="The kind of work, such as support.refund.")] = ""
    intent: Annotated[str, typer.Option(help="What the work was for, if the run states it wrongly.")] = ""
    reason: LogReason = ""
    who: As = ""
    as_json: AsJson = False

    def judge(self, ctx: typer.Context, run: str, *, accepted: bool) -> None:
        """Put the judgement on record, and print it."""
        from sb.kernel.outcomes import judged_run

        log, authority, judgements = open_judgements(ctx)
        run_id = judged_run(log, run)  # before a passphrase is asked for
        texts = {"reason": self.reason, "workflow": self.workflow, "intent": self.intent}
        made = judgements.judge(run_id, decider(ctx, authority, self.who), accepted=accepted, **texts)
        if self.as_json:
            output.emit_json(JUDGEMENT.to_dict(made))
        else:
            why = f": {made.reason}" if made.reason else ""
            output.line(f"{made.run_id} of {made.agent}: {verdict(made)} by {made.by}{why}")


@app.command(epilog="Example: sb outcome accept run_4f2a --workflow support.refund")
def accept(ctx: typer.Context, run: RunId, given: Judging) -> None:
    """Accept what a run came to."""
    given.judge(ctx, run, accepted=True)


@app.command(epilog='Example: sb outcome reject run_4f2a --reason "wrong amount"')
def reject(ctx: typer.Context, run: RunId, given: Judging) -> None:
    """Reject what a run came to; a later judgement replaces it."""
    given.judge(ctx, run, accepted=False)


@app.command(name="list", epilog="Example: sb outcome list --agent clerk --since 7d")
def list_outcomes(
    ctx: typer.Context,
    agent: Annotated[str, typer.Option(help="Only runs of this agent.")] = "",
    workflow: Annotated[str, typer.Option(help="Only this workflow.")] = "",
    intent: Annotated[str, typer.Option(help="Only this intent.")] = "",
    by: Annotated[str, typer.Option(help="Only what this person judged.")] = "",
    since: Annotated[str, typer.Option(help="Only judged in the last 2h, 30d…")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Also what was replaced or is in doubt.")] = False,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List judgements, the newest first."""
    log, _, judgements = open_judgements(ctx)
    found = judgements.all() if everything else list(judgements.in_force().values())
    earliest = iso(log.clock.now() - parse_duration(since)) if since else ""
    wanted = {"agent": agent, "workflow": workflow, "intent": intent, "by": by}
    fits = [
        it
        for it in sorted(found, key=lambda it: -it.seq)
        if it.at >= earliest and all(getattr(it, name) == text for name, text in wanted.items() if text)
    ]
    output.listing(JUDGEMENT, fits[: limit or None], "no judgements", as_json=as_json)
    if limit and len(fits) > limit:
        note(f"showing {limit} of {len(fits):,}; --limit 0 shows all")


@app.command(epilog="Example: sb outcome show run_4f2a")
def show(ctx: typer.Context, run: RunId, as_json: AsJson = False) -> None:
    """Show what a run came to: its verdict, cost, and judgements."""
    from sb.kernel.outcomes import judged_run

    log, _, judgements = open_judgements(ctx)
    run_id = judged_run(log, run)
    found = JudgedRun(run_id, read_outcomes(ctx, log).get(run_id), tuple(judgements.of_run(run_id)))
    if as_json:
        output.emit_json(judged_json(found))
        return
    for line in outcome_lines(found):
        output.line(line)
    output.listing(JUDGEMENT, found.judgements, as_json=False)


def read_outcomes(ctx: typer.Context, log: EventLog) -> Outcomes:
    """The outcomes of a log, read on to its end."""
    from sb.kernel.outcomes import Outcomes

    config = configuration(ctx, quietly=True)
    outcomes = Outcomes(log, config.home.usage, config.prices)
    outcomes.read()
    return outcomes


def open_judgements(ctx: typer.Context) -> tuple[EventLog, Authority, Judgements]:
    """The log of the existing database, who may judge, and what was judged."""
    from sb.kernel.outcomes import Judgements
    from sb.runtime.parts import open_authority, open_log

    config = configuration(ctx)
    log = open_log(config)
    authority = open_authority(config, log)
    return log, authority, Judgements(log, authority)
