"""Incidents: open, list and close."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sb.base.secrets.redaction import one_line
from sb.base.sources import iso_micros
from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.base.values.references import full_one
from sb.errors import NotFoundError, SBError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, required
from sb.kernel.incident_response.kill import parse_scope
from sb.kernel.incident_response.severity import Impact, Reach, Severity, severity_of
from sb.kernel.incident_response.statements import INCIDENTS, Statement, Statements
from sb.log.event_log import EventLog
from sb.log.kinds import INCIDENT_CLOSED, INCIDENT_OPENED


@frozen
class Incident:
    """Something that went wrong; times in ISO 8601.

    Args:
        impact, reach: what the severity follows from; None where it was said outright.
        kill: what was stopped because of it, such as `agent:clerk`; "" for nothing.
        closed_at, closed_by, outcome: "" while it is open.
    """

    id: str
    title: str
    severity: Severity
    impact: Impact | None
    reach: Reach | None
    kill: str
    by: str
    reason: str
    opened_at: str
    closed_at: str = ""
    closed_by: str = ""
    outcome: str = ""

    @property
    def open(self) -> bool:
        return not self.closed_at


class AlreadyClosed(SBError):
    """Somebody was faster."""

    kind = "already_closed"


class Incidents:
    """The incidents of one log.

    Args:
        authority: says who may close one; by default nobody is enrolled, and closing is unsigned.
    """

    def __init__(self, log: EventLog, authority: Authority | None = None) -> None:
        self._log = log
        self._statements = Statements(log, authority or Authority(None, log), INCIDENTS)

    def open(
        self,
        title: str,
        by: Decider,
        reason: str,
        *,
        severity: Severity | None = None,
        impact: Impact | None = None,
        reach: Reach | None = None,
        kill: str = "",
    ) -> Incident:
        """Put an incident on record; anybody may.

        Args:
            severity: by default what the matrix says for `impact` and `reach`, the worst where one is not known.
            kill: what was stopped because of it, such as `agent:clerk`.

        Raises:
            UsageError: title, reason or kill cannot be used.
        """
        found = severity or severity_of(impact or Impact.EXPOSED, reach or Reach.FLEET)
        if kill:
            parse_scope(kill)
        facts = {
            "id": f"inc_{self._log.ids.token(8)}",
            "title": required(title, "title"),
            "severity": str(found),
            "impact": str(impact or ""),
            "reach": str(reach or ""),
            "kill": kill,
            "reason": required(reason),
        }
        with self._log.write(power=True) as write:
            self._statements.add(write, INCIDENT_OPENED, facts, by)
        return self.get(str(facts["id"]))

    def close(self, incident_id: str, by: Decider, reason: str) -> Incident:
        """Say that an incident is over, and what came of it; what was stopped stays stopped.

        Raises:
            NotFoundError: there is no such incident.
            AlreadyClosed: somebody else has closed it.
            Unauthorised: this person may not decide.
        """
        facts = {"id": incident_id, "reason": required(reason)}
        with self._log.write(power=True) as write:
            incident = self.get(incident_id)
            if not incident.open:
                raise AlreadyClosed(f"{incident.id} was closed by {incident.closed_by}: {incident.outcome}")
            self._statements.add(write, INCIDENT_CLOSED, facts, by)
        return self.get(incident_id)

    def all(self) -> list[Incident]:
        """Every incident, oldest first.

        Raises:
            StoreError: the log cannot be read, or what it says was changed.
            Unauthorised: who may decide cannot be relied on.
        """
        return list(_replayed(self._statements.read()).values())

    def get(self, incident_id: str) -> Incident:
        """One incident; raises NotFoundError, and else like `all`."""
        found = {incident.id: incident for incident in self.all()}
        incident_id = full_one(incident_id, found)
        if incident_id not in found:
            shown = one_line(incident_id, 60)
            raise NotFoundError(f"no incident {shown!r}{nearest(incident_id, found)}", "sb incident list")
        return found[incident_id]


def _replayed(statements: Iterable[Statement]) -> dict[str, Incident]:
    found: dict[str, Incident] = {}
    for statement in statements:
        fields, at = statement.text, iso_micros(statement.event.at)
        known = found.get(fields.get("id", ""))
        if statement.event.kind == INCIDENT_OPENED:
            opened = _opened(statement, fields, at)
            if opened is not None and known is None:
                found[opened.id] = opened
        elif known is not None and known.open and not statement.doubt:
            found[known.id] = replace(
                known, closed_at=at, closed_by=statement.by, outcome=fields.get("reason", "")
            )
    return found


def _opened(statement: Statement, fields: dict[str, str], at: str) -> Incident | None:
    """The incident of a statement; None for one that cannot be read, since nothing hangs on it."""
    try:
        impact = Impact(fields["impact"]) if fields["impact"] else None
        reach = Reach(fields["reach"]) if fields["reach"] else None
        return Incident(
            fields["id"],
            fields["title"],
            Severity(fields["severity"]),
            impact,
            reach,
            fields["kill"],
            statement.by,
            fields["reason"],
            at,
        )
    except (KeyError, ValueError):
        return None
