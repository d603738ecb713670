"""Door to `sb.kernel.incidents`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.incidents.incidents import AlreadyClosed, Incident, Incidents
from sb.kernel.incidents.kill import Kill, KillScope, parse_scope
from sb.kernel.incidents.kill_switch import KillSwitch, Thrown
from sb.kernel.incidents.runbooks import Step, runbook
from sb.kernel.incidents.severity import SEVERITY_MATRIX, Impact, Reach, Severity, severity_of

__all__ = [
    "SEVERITY_MATRIX",
    "AlreadyClosed",
    "Impact",
    "Incident",
    "Incidents",
    "Kill",
    "KillScope",
    "KillSwitch",
    "Reach",
    "Severity",
    "Step",
    "Thrown",
    "parse_scope",
    "runbook",
    "severity_of",
]
