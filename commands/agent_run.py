"""`sb agent run` and its kin: run an agent's plan, see how runs stand, go on with one, stop one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import require_reason
from sb.commands.diagnostics import note
from sb.commands.kill import throw
from sb.commands.options import AsJson, DecisionReason, group
from sb.commands.session import event_log, kill_switch, runtime

from sb.base.duration import parse_duration
from sb.base.secrets.redaction import one_line, redact
from sb.base.text import json_text
from sb.errors import ExitCode, UsageError
from sb.present.agent_runs import AGENT_RUN, record_to_dict
from sb.present.times import date_and_time
from sb.present.workflows import STEP

if TYPE_CHECKING:
    from sb.agent.plan_file import PlanFile
    from sb.agent.run_record import RunRecord, StepArtifact

app = group()
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the agent's run.")]
PlanPath = Annotated[Path | None, typer.Option("--plan", metavar="FILE", help="The plan, in YAML.")]
Wait = Annotated[str, typer.Option(metavar="DURATION", help="Wait so long for a decision, such as 10m.")]
_SHOWN = 200  # characters of what a step gave


@app.command(epilog='Example: sb agent run "refund order 1002" --plan refund.yaml --dry-run')
def run(
    ctx: typer.Context,
    goal: Annotated[str, typer.Argument(help="What is to be done.")],
    plan: PlanPath = None,
    model: Annotated[
        str, typer.Option(help="A model that plans, as `llm models` lists it; needs sb[llm].")
    ] = "",
    agent: Annotated[str, typer.Option(help="The agent; by default the plan's.")] = "",
    variables: Annotated[
        list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="A variable of the plan.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the steps; call nothing.")] = False,
    wait: Wait = "",
    as_json: AsJson = False,
) -> None:
    """Run an agent's plan; each step is a governed call.

    Without --plan or --model, each part of the goal names a tool: "read order=1002, then refund order=1002".
    """
    from sb.agent.runs import begin_run, model_planner

    if model and plan:
        raise UsageError("--plan and --model both say who plans", "leave one out")
    written = _plan(plan, variables or [])
    name = agent or (written.agent if written else "") or "agent"
    planner = model_planner(model) if model else written
    with runtime(ctx) as opened:
        record = begin_run(
            opened,
            name,
            goal,
            planner,
            dry_run=dry_run,
            wait_s=_seconds(wait),
            **_progress(as_json=as_json, dry_run=dry_run),
        )
    _ended(record, as_json=as_json)


@app.command(epilog="Example: sb agent resume run_9f21c07d55aa01b2 --wait 10m")
def resume(
    ctx: typer.Context,
    run_id: RunId,
    plan: PlanPath = None,
    wait: Wait = "",
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was stopped.

    Steps that are done are not made again.
    """
    from sb.agent.runs import resume_run

    planned = _plan(plan, [])
    with runtime(ctx) as opened:
        record = resume_run(opened, run_id, planned, wait_s=_seconds(wait), **_progress(as_json=as_json))
    _ended(record, as_json=as_json)


@app.command(name="list", epilog="Example: sb agent list --all")
def list_runs(
    ctx: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Finished runs too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List agents' unfinished runs, oldest first."""
    from sb.agent.runs import agent_runs

    found = agent_runs(event_log(ctx), everything=everything)
    nothing = "no agent's run was begun" if everything else "no agent's run is unfinished"
    output.listing(AGENT_RUN, found, nothing, as_json=as_json)


@app.command(epilog="Example: sb agent show run_9f21c07d55aa01b2")
def show(ctx: typer.Context, run_id: RunId, as_json: AsJson = False) -> None:
    """Show how a run stands, step by step."""
    from sb.agent.runs import KILLED, agent_run

    found = agent_run(event_log(ctx), run_id)
    if as_json:
        output.emit_json(AGENT_RUN.to_dict(found))
        return
    output.line(f"{found.agent}: {found.goal}", one_line=True)
    output.line(f"{found.state}, started {date_and_time(found.started_at)}, {found.run_id}", one_line=True)
    if found.steps:
        output.records(STEP, found.steps)
    if found.waits_for:
        note(f"waits for a person: sb approvals show {found.waits_for}")
    for step in found.steps:
        if step.reference:
            note(f"sb recovery settle {step.reference} done --result JSON, or not-done")
    if found.state == KILLED:
        note(f"sb kill run:{found.run_id} --lift")
    elif found.state != "finished":
        note(f"sb agent resume {found.run_id}")
    note(f"sb log show {found.run_id}; sb undo --run {found.run_id}")


@app.command(epilog='Example: sb agent stop run_9f21c07d55aa01b2 --reason "wrong orders"')
def stop(
    ctx: typer.Context,
    run_id: RunId,
    reason: DecisionReason = "",
    who: Annotated[str, typer.Option("--as", help="The operator who signs; only operators lift.")] = "",
    as_json: AsJson = False,
) -> None:
    """Stop a run, until that is lifted."""
    from sb.agent.runs import agent_run
    from sb.kernel.incident_response.kill import KillScope

    require_reason(reason)
    found = agent_run(event_log(ctx), run_id)
    switch = kill_switch(ctx, tolerant=True)
    throw(ctx, switch, KillScope.RUN, found.run_id, reason, wait_s=1.0, who=who, as_json=as_json)


def _plan(path: Path | None, variables: list[str]) -> PlanFile | None:
    from sb.agent.plan_file import read_plan

    given = dict(map(_variable, variables))
    if path is None:
        if given:
            raise UsageError("--var needs --plan")
        return None
    return read_plan(path).with_variables(given)


def _variable(text: str) -> tuple[str, Any]:
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--var {one_line(text, 40)!r} has no value", "--var NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _seconds(wait: str) -> float:
    return float(parse_duration(wait)) if wait else 0.0


def _progress(*, as_json: bool, dry_run: bool = False) -> dict[str, Any]:
    def on_step(artifact: StepArtifact) -> None:
        note(_line(artifact, dry_run=dry_run))

    def on_wait(record: RunRecord) -> None:
        note(f"sb approvals show {record.approval_id}")

    return {} if as_json else {"on_step": on_step, "on_wait": on_wait}


def _line(artifact: StepArtifact, *, dry_run: bool) -> str:
    """A step on one line: its name, and what it gave or why it gave nothing."""
    if not artifact.ok:
        return f"✗ {artifact.step}: {artifact.error}"
    if dry_run:
        return f"· {artifact.step}{artifact.note and ': '}{artifact.note}"
    gave = "" if artifact.output is None else f": {one_line(json_text(redact(artifact.output)), _SHOWN)}"
    return f"✓ {artifact.step}{gave}"


def _ended(record: RunRecord, *, as_json: bool) -> None:
    if as_json:
        output.emit_json(record_to_dict(record))
    else:
        if record.output is not None:
            text = record.output if isinstance(record.output, str) else json_text(record.output)
            output.line(redact(text), one_line=False)
        if not record.dry_run:
            goes_on = "" if record.state == "done" else f"; sb agent resume {record.run_id}"
            note(f"{record.state}: run {record.run_id}{goes_on}")
    if record.state in ("done", "planned") and not record.error:
        raise typer.Exit(ExitCode.OK)
    raise typer.Exit(ExitCode.DENIED if record.state == "waits" else ExitCode.FAILED)
