"""`sb workflow`: list workflows, and settle a step of unknown outcome."""

from __future__ import annotations

from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, DecisionReason, group
from sb.commands.recovery import SettledResult, settle_reference
from sb.commands.session import event_log

from sb.errors import NotFoundError
from sb.present.times import date_and_time
from sb.present.workflows import STEP, WORKFLOW

app = group()
WorkflowId = Annotated[str, typer.Argument(metavar="WORKFLOW", help="Id of the workflow.")]


@app.command(name="list", epilog="Example: sb workflow list --all")
def list_workflows(
    ctx: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Finished workflows too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List unfinished workflows, oldest first."""
    from sb.kernel.durable_execution.records import workflow_records

    found = workflow_records(event_log(ctx), everything=everything)
    nothing = "no workflow is unfinished" if not everything else "no workflow was begun"
    output.listing(WORKFLOW, found, nothing, as_json=as_json)
    for record in () if as_json else found:
        if record.unknown is not None:
            note(f"sb recovery settle {record.unknown.reference} done, or not-done")


@app.command(epilog="Example: sb workflow show refund-1002")
def show(ctx: typer.Context, workflow: WorkflowId, as_json: AsJson = False) -> None:
    """Show a workflow's steps, without arguments and results."""
    from sb.kernel.durable_execution.records import workflow_record

    record = workflow_record(event_log(ctx), workflow)
    if as_json:
        output.emit_json(WORKFLOW.to_dict(record))
        return
    output.line(f"{record.name} {record.workflow_id}: {record.state}", one_line=True)
    output.line(f"started: {date_and_time(record.started_at)}, {record.run_id}", one_line=True)
    if record.steps:
        output.records(STEP, record.steps)
    if record.unknown is not None:
        note(f"sb recovery settle {record.unknown.reference} done, or not-done")


@app.command(
    epilog='Example: sb workflow settle refund-1002 "send the letter" done --reason "the relay has it"'
)
def settle(
    ctx: typer.Context,
    workflow: WorkflowId,
    step: Annotated[str, typer.Argument(metavar="STEP", help="Name of the step of unknown outcome.")],
    verdict: Annotated[str, typer.Argument(help="done or not-done.")],
    reason: DecisionReason = "",
    result: SettledResult = "null",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Settle a step of unknown outcome."""
    from sb.kernel.durable_execution.records import workflow_record

    record = workflow_record(event_log(ctx), workflow)
    if record.unknown is None or record.unknown.name != step:
        raise NotFoundError(
            f"the outcome of step {step!r} of workflow {workflow!r} is not unknown",
            f"sb workflow show {workflow}",
        )
    settle_reference(ctx, record.unknown.reference, verdict, reason, result, who, as_json)
