"""Kills in force, and incidents."""

from __future__ import annotations

from sb.kernel.incident_response.incidents import Incident
from sb.kernel.incident_response.kill import Kill
from sb.present.kind import Field, Kind, time_cell


def _lifted_by(kill: Kill, now: int) -> str:
    count = f"({len(kill.lifted_by)} of {kill.people})"
    return f"{', '.join(kill.lifted_by)} {count}" if kill.lifted_by else "-"


def _state(incident: Incident, now: int) -> str:
    return "open" if incident.open else "closed"


KILL = Kind[Kill](
    Field("scope", lambda it, now: str(it.scope)),
    Field("target", lambda it, now: it.target or "-"),
    Field("since", lambda it, now: time_cell(f"{it.at[:19]}Z", it.at)),
    Field("by", lambda it, now: it.by),
    Field("signed", lambda it, now: "yes" if it.signed else "no"),
    Field("reason", lambda it, now: it.reason),
    Field("lifted by", _lifted_by),
    faces={"table": "scope,target,since,by,signed,reason,lifted by"},
    json={
        "scope target by reason": "string",
        "number people": "integer",
        "signed lost": "boolean",
        "at": "time",
        "lifted_by rejected": ["string"],
    },
)
INCIDENT = Kind[Incident](
    Field("incident", lambda it, now: it.id),
    Field("severity", lambda it, now: str(it.severity)),
    Field("state", _state),
    Field("since", lambda it, now: time_cell(f"{it.opened_at[:19]}Z", it.opened_at)),
    Field("by", lambda it, now: it.by),
    Field("stopped", lambda it, now: it.kill or "-"),
    Field("title", lambda it, now: it.title),
    faces={"table": "incident,severity,state,since,by,stopped,title"},
    json={
        "id title severity kill by reason closed_at closed_by outcome state": "string",
        "impact reach": "string|null",
        "opened_at": "time",
    },
)
