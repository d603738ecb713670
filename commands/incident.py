"""`sb incident`: record incidents and work through their runbooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.arguments import choice, require_reason
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, group
from sb.commands.session import anybody, decider, kill_switch

from sb.base.text import counted
from sb.errors import UsageError
from sb.present.incidents import INCIDENT

if TYPE_CHECKING:
    from sb.kernel.incident_response.incidents import Incident, Incidents
    from sb.kernel.incident_response.kill_switch import KillSwitch

app = group()
Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the incident (inc_…).")]
Reason = Annotated[str, typer.Option(help="Why; required, and recorded with the incident.")]
Signer = Annotated[str, typer.Option("--as", help="The operator who signs.")]


@app.command(
    name="open",
    epilog='Example: sb incident open "wrong refunds" --kill agent:clerk --reason "doubled amounts"',
)
def open_incident(
    ctx: typer.Context,
    title: Annotated[str, typer.Argument(help="What went wrong, in a few words.")],
    severity: Annotated[
        str, typer.Option(help="sev1 (worst) to sev4; by default from impact and reach.")
    ] = "",
    impact: Annotated[str, typer.Option(help="stopped, reversible, irreversible or exposed.")] = "",
    reach: Annotated[str, typer.Option(help="How far it reaches: run, agent or fleet.")] = "",
    kill: Annotated[
        str, typer.Option(metavar="SCOPE", help="Stop this first, such as agent:clerk or global.")
    ] = "",
    reason: Reason = "",
    who: Signer = "",
    as_json: AsJson = False,
) -> None:
    """Record an incident, stop its cause, print the runbook."""
    from sb.kernel.incident_response.kill import parse_scope
    from sb.kernel.incident_response.severity import Impact, Reach, Severity

    asked = {"severity": (severity, Severity), "impact": (impact, Impact), "reach": (reach, Reach)}
    known: dict[str, Any] = {
        name: choice(f"--{name}", text, kind) for name, (text, kind) in asked.items() if text
    }
    if severity and (impact or reach):
        raise UsageError("the severity is given twice", "either --severity, or --impact and --reach")
    if not reason.strip():
        raise UsageError("an incident needs a reason", "--reason TEXT")
    switch, incidents = _opened(ctx)
    by = anybody(ctx, switch.authority, who)
    running = switch.throw(*parse_scope(kill), by, reason).running if kill else ()
    incident = incidents.open(title, by, reason, kill=kill, **known)
    if as_json:
        output.emit_json(_shown(incident) | {"running": [intent.call_id for intent in running]})
        return
    for intent in running:
        output.line(f"still running: {intent.call_id} {intent.tool_id} by {intent.agent}", one_line=True)
    _print(incident)


@app.command(name="list", epilog="Example: sb incident list --all")
def list_incidents(
    ctx: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Also closed incidents.")] = False,
    as_json: AsJson = False,
) -> None:
    """List open incidents, the worst first."""
    _, incidents = _opened(ctx)
    found = [incident for incident in incidents.all() if everything or incident.open]
    found.sort(key=lambda incident: incident.severity)
    output.listing(INCIDENT, found, "no incident is open", as_json=as_json)


@app.command(epilog="Example: sb incident show inc_4f2a")
def show(ctx: typer.Context, incident_id: Id, as_json: AsJson = False) -> None:
    """Show an incident and its runbook."""
    _, incidents = _opened(ctx)
    incident = incidents.get(incident_id)
    if as_json:
        output.emit_json(_shown(incident))
    else:
        _print(incident)


@app.command(epilog='Example: sb incident close inc_4f2a --reason "refunds corrected"')
def close(
    ctx: typer.Context, incident_id: Id, reason: Reason = "", who: Signer = "", as_json: AsJson = False
) -> None:
    """Close an incident; what it stopped stays stopped."""
    require_reason(reason)
    switch, incidents = _opened(ctx)
    incident_id = incidents.get(incident_id).id  # before a passphrase is asked for
    incident = incidents.close(incident_id, decider(ctx, switch.authority, who), reason)
    if as_json:
        output.emit_json(INCIDENT.to_dict(incident))
    else:
        output.line(f"{incident.id} is closed by {incident.closed_by}: {incident.outcome}")
    for kill in switch.active():
        if kill.name == incident.kill:
            note(f"{kill.name} is still stopped: {kill.lift_command}")


def _opened(ctx: typer.Context) -> tuple[KillSwitch, Incidents]:
    from sb.kernel.incident_response.incidents import Incidents

    switch = kill_switch(ctx)
    return switch, Incidents(switch.log, switch.authority)


def _shown(incident: Incident) -> dict[str, Any]:
    from sb.kernel.incident_response.runbooks import runbook

    return INCIDENT.to_dict(incident) | {"runbook": [vars(step) for step in runbook(incident)]}


def _print(incident: Incident) -> None:
    from sb.kernel.incident_response.runbooks import runbook

    output.line(f"{incident.id}: {incident.title}", one_line=True)
    how = f" ({incident.impact}, {incident.reach})" if incident.impact and incident.reach else ""
    within = incident.severity.answer_within_min
    output.line(
        f"severity: {incident.severity}{how}; respond within {counted(within, 'minute')}", one_line=True
    )
    output.line(f"opened: {incident.opened_at[:19]}Z by {incident.by}: {incident.reason}", one_line=True)
    output.line(f"stopped: {incident.kill or 'nothing'}", one_line=True)
    if not incident.open:
        output.line(
            f"closed: {incident.closed_at[:19]}Z by {incident.closed_by}: {incident.outcome}", one_line=True
        )
        return
    for number, step in enumerate(runbook(incident), 1):
        output.line(f"{number:>2}. {step.text}", one_line=True)
        if step.command:
            output.line(f"      {step.command}", one_line=True)
