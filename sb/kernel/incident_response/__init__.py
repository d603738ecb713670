"""Incidents: kill switch, severity, runbooks, and what stands on record of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.incident_response.incidents import AlreadyClosed as AlreadyClosed
    from sb.kernel.incident_response.incidents import Incident as Incident
    from sb.kernel.incident_response.incidents import Incidents as Incidents
    from sb.kernel.incident_response.kill import Kill as Kill
    from sb.kernel.incident_response.kill import KillScope as KillScope
    from sb.kernel.incident_response.kill import parse_scope as parse_scope
    from sb.kernel.incident_response.kill_switch import KillSwitch as KillSwitch
    from sb.kernel.incident_response.kill_switch import Thrown as Thrown
    from sb.kernel.incident_response.runbooks import Step as Step
    from sb.kernel.incident_response.runbooks import runbook as runbook
    from sb.kernel.incident_response.severity import SEVERITY_MATRIX as SEVERITY_MATRIX
    from sb.kernel.incident_response.severity import Impact as Impact
    from sb.kernel.incident_response.severity import Reach as Reach
    from sb.kernel.incident_response.severity import Severity as Severity
    from sb.kernel.incident_response.severity import severity_of as severity_of
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.incident_response.incidents": "AlreadyClosed Incident Incidents",
            "sb.kernel.incident_response.kill": "Kill KillScope parse_scope",
            "sb.kernel.incident_response.kill_switch": "KillSwitch Thrown",
            "sb.kernel.incident_response.runbooks": "Step runbook",
            "sb.kernel.incident_response.severity": "SEVERITY_MATRIX Impact Reach Severity severity_of",
        },
    )
