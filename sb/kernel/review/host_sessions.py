"""Connected agents: the hosts that have called the hook, their projects, when each was last seen.

Only the newest sessions whose start names a host count; an index holds those alone. So the cost does not grow with the
log: at most SESSIONS first events with the last event of each, and the pending approval requests.
"""

from __future__ import annotations

from collections import Counter

from sb.base.values.frozen import frozen
from sb.kernel.approvals.queue import ApprovalQueue
from sb.kernel.review.runs import project_name
from sb.log.event import SEQ_MASK
from sb.log.event_log import EventLog
from sb.log.kinds import APPROVAL_APPROVED, APPROVAL_DENIED, APPROVAL_EXPIRED, APPROVAL_REVOKED, RUN_STARTED

SESSIONS = 500
MCP_HOST = "mcp"  # of the MCP server's runs: whoever connects is named by the agent alone

# The newest event of a run that its agent caused: what a person decides about a call, or undoes, is no sign of the agent.
NEWEST_OF_AGENT = f"""SELECT id FROM events AS later WHERE later.run_id = events.run_id AND later.kind NOT IN (
    '{APPROVAL_APPROVED}', '{APPROVAL_DENIED}', '{APPROVAL_REVOKED}', '{APPROVAL_EXPIRED}')
    AND later.kind NOT GLOB 'recovery.*' ORDER BY id DESC LIMIT 1"""
_NEWEST = f"""SELECT run_id, agent, json_extract(payload, '$.host'), coalesce(json_extract(payload, '$.project'), ''),
    coalesce(({NEWEST_OF_AGENT}), id)
    FROM events
    WHERE kind = '{RUN_STARTED}' AND json_valid(payload) AND json_extract(payload, '$.host') <> ''
    AND id > ? AND id <= ? ORDER BY id DESC LIMIT {SESSIONS}"""


@frozen
class ConnectedAgent:
    """A host in one project, with the session that was seen last.

    Args:
        host: the name that it gave.
        project: a folder, or "" if it named none.
        run_id, agent: of that session.
        last_seen_at: time of the session's newest event but for decisions, in microseconds since the epoch.
        waiting: how many approval requests of its sessions are pending.
    """

    host: str
    project: str
    run_id: str
    agent: str
    last_seen_at: int
    waiting: int

    @property
    def name(self) -> str:
        """The host, or the agent if it came over MCP."""
        return self.agent if self.host == MCP_HOST else self.host

    @property
    def project_name(self) -> str:
        """The name of the project's folder."""
        return project_name(self.project)


def connected_agents(log: EventLog) -> list[ConnectedAgent]:
    """The hosts of the newest sessions, one for each of their projects, the last seen first; over MCP, each agent."""
    query, low = log.database.query, log.first_id
    waiting, waits = ApprovalQueue(log).waiting_by_run(), Counter[tuple[str, str, str]]()
    newest: dict[tuple[str, str, str], tuple[int, str, str]] = {}
    for run_id, agent, host, project, last in query(_NEWEST, (low, low + SEQ_MASK)):
        place = (str(host), str(project), agent if host == MCP_HOST else "")
        waits[place] += waiting.get(run_id, 0)
        newest[place] = max(newest.get(place, (0, "", "")), (last, run_id, agent))
    found = []
    for place, (last, run_id, agent) in sorted(newest.items(), key=lambda item: item[1], reverse=True):
        (last_seen_at,) = query("SELECT at FROM events WHERE id = ?", (last,))[0]
        found.append(ConnectedAgent(*place[:2], run_id, agent, last_seen_at, waits[place]))
    return found
