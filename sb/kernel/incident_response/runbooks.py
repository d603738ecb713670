"""Runbooks: what to do about an incident, step by step."""

from __future__ import annotations

from collections.abc import Iterator

from sb.base.values.frozen import frozen
from sb.kernel.incident_response.incidents import Incident
from sb.kernel.incident_response.kill import KillScope, parse_scope, quoted
from sb.kernel.incident_response.severity import Impact, Severity


@frozen
class Step:
    """One step; `command` is "" for what no command does."""

    text: str
    command: str = ""


def runbook(incident: Incident) -> list[Step]:
    """The steps for this incident, in order."""
    return [*_contain(incident), *_understand(incident), *_repair(incident), *_finish(incident)]


def _contain(incident: Incident) -> Iterator[Step]:
    if incident.kill:
        yield Step("It is stopped; see that it still is.", "sb kill list")
    elif incident.severity is Severity.SEV1:
        yield Step("Stop everything.", _kill("global", incident))
    else:
        yield Step("Stop the agent, tool or run that did it.", _kill("agent:NAME", incident))


def _understand(incident: Incident) -> Iterator[Step]:
    scope, target = parse_scope(incident.kill) if incident.kill else (KillScope.GLOBAL, "")
    named = scope in (KillScope.AGENT, KillScope.TOOL, KillScope.RUN)
    only = f" --{scope} {quoted(target)}" if named else ""
    yield Step("Read what happened.", f"sb log tail --limit 100{only}")
    yield Step("See what is in doubt or waits for a decision.", "sb recovery list")
    yield Step("Check that the record itself was not changed.", "sb log verify")
    if incident.severity in (Severity.SEV1, Severity.SEV2):
        yield Step("See whether a tool is not what was approved.", "sb runtime-guard mismatches")


def _repair(incident: Incident) -> Iterator[Step]:
    if incident.impact is not Impact.STOPPED:
        scope, target = parse_scope(incident.kill) if incident.kill else (KillScope.GLOBAL, "")
        run = quoted(target) if scope is KillScope.RUN else "RUN"
        yield Step("See what was done and can be taken back.", "sb undo --list")
        yield Step("Take back what the run did.", f"sb undo --run {run} --reason {_why(incident)}")
    if incident.impact in (Impact.IRREVERSIBLE, None):
        yield Step("Tell those whom it concerns, and put right by hand what cannot be taken back.")
    if incident.impact in (Impact.EXPOSED, None):
        yield Step("Replace every secret that may have left, and tell those whose data did.")
    yield Step("See what was approved in advance, and revoke what should not be.", "sb approvals grants")


def _finish(incident: Incident) -> Iterator[Step]:
    lifted = quoted(incident.kill) if incident.kill else "SCOPE:TARGET"
    yield Step(
        "Once the cause is gone, let it go on.", f"sb kill --lift {lifted} --reason 'what was changed'"
    )
    yield Step("Close the incident.", f"sb incident close {incident.id} --reason 'what came of it'")


def _kill(what: str, incident: Incident) -> str:
    return f"sb kill {what} --reason {_why(incident)}"


def _why(incident: Incident) -> str:
    return quoted(f"{incident.id}: {incident.title}")
