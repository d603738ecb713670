"""Agents: who is at work where, what they do now, and how their calls ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen
from sb.kernel.calls.approval import ApprovalState
from sb.kernel.review.activity import ASKS, Activity
from sb.kernel.review.host_sessions import NEWEST_OF_AGENT, connected_agents
from sb.kernel.review.needs import CallOrigin, call_origins
from sb.log.event_log import EventLog
from sb.log.kinds import BUDGET_EXCEEDED, RUN_FINISHED, TOOL_DISPATCH, TOOL_POLICY_BLOCKED

AT_WORK_S = 3_600  # of an open run: when it was seen within that
_NEWEST_LOOKED_AT = 10  # events of a run in which its newest call is looked for
_MARKS_AT_ONCE = 500
_LAST = f"""SELECT run_id, coalesce(({NEWEST_OF_AGENT}), max(id)) FROM events WHERE run_id IN ({{}})
    GROUP BY run_id"""
_CAUSES = f"""SELECT json_extract(payload, '$.rule'), count(*) FROM events WHERE run_id IN ({{}}) AND agent = ?
    AND kind IN ('{TOOL_POLICY_BLOCKED}', '{BUDGET_EXCEEDED}') AND at >= ? AND json_valid(payload)
    AND json_extract(payload, '$.rule') <> '{ASKS}' GROUP BY 1"""


@frozen
class AgentSeen:
    """One agent in one project.

    Args:
        runs: those of the span that was looked at. run_id: the newest of them.
        last_seen_at: in microseconds since the epoch.
        waiting: its approval requests that are pending.
        host: the program that it is, where that calls the hook.
    """

    agent: str
    project: str
    host: str
    run_id: str
    runs: frozenset[str]
    last_seen_at: int
    waiting: int = 0


@frozen
class Doing:
    """The present act of a run.

    Args:
        tool_id, args: of its newest call; "" and None where there is none.
        ended: the run has ended.
    """

    tool_id: str = ""
    args: Any = None
    ended: bool = False


class Agents:
    """The agents of a log; for one thread at a time.

    Args:
        activity: what they did, which the caller updates.
    """

    def __init__(self, log: EventLog, activity: Activity) -> None:
        self.log = log
        self.activity = activity
        self._origins: dict[str, CallOrigin] = {}  # the first event of a run never changes

    def seen(self) -> list[AgentSeen]:
        """Each agent in each project, the last seen first."""
        connected = connected_agents(self.log)
        agents = {agent.run_id: agent.agent for agent in connected} | self.activity.runs()
        waiting = {(agent.agent, agent.project): agent.waiting for agent in connected}
        self._place(agents)
        newest = self._newest(agents)
        places: dict[tuple[str, str], list[str]] = defaultdict(list)
        for run_id in sorted(newest, key=newest.__getitem__, reverse=True):
            places[agents[run_id], self._origins[run_id].project].append(run_id)
        times = self._times([newest[runs[0]] for runs in places.values()])
        return [
            AgentSeen(
                agent,
                project,
                self._origins[runs[0]].host,
                runs[0],
                frozenset(runs),
                times[newest[runs[0]]],
                waiting.get((agent, project), 0),
            )
            for (agent, project), runs in places.items()
        ]

    def _place(self, runs: Collection[str]) -> None:
        for some in _in_parts(sorted(set(runs) - self._origins.keys())):
            self._origins |= call_origins(self.log, some)

    def _newest(self, runs: Iterable[str]) -> dict[str, int]:
        rows = (row for some in _in_parts(runs) for row in self._rows(_LAST, some))
        return dict(rows)

    def _times(self, ids: Sequence[int]) -> dict[int, int]:
        sql = "SELECT id, at FROM events WHERE id IN ({})"
        return dict(row for some in _in_parts(ids) for row in self._rows(sql, some))

    def _rows(self, sql: str, values: Sequence[Any], *more: Any) -> Iterator[tuple[Any, ...]]:
        marks = ", ".join("?" * len(values))
        yield from self.log.database.query(sql.format(marks), (*values, *more))

    def doing(self, run_id: str) -> Doing:
        """The present or last act of a run."""
        newest = list(self.log.events(run_id=run_id, newest_first=True, limit=_NEWEST_LOOKED_AT))
        marks = (event.kind for event in newest if event.kind in (RUN_FINISHED, TOOL_DISPATCH))
        ended = next(marks, "") == RUN_FINISHED  # decisions about its calls may follow
        calls = [event for event in newest if "args" in (event.payload or {}) and event.subject.tool_id]
        if not calls:
            return Doing(ended=ended)
        return Doing(calls[0].subject.tool_id, (calls[0].payload or {})["args"], ended)

    def refusals(self, agent: str, runs: Collection[str], since: int) -> Counter[str]:
        """Counts of its refused calls, by rule.

        Args:
            since: microseconds since the epoch.
        """
        causes: Counter[str] = Counter()
        for some in _in_parts(sorted(runs)):
            for rule, count in self._rows(_CAUSES, some, agent, since):
                causes[str(rule)] += count
        return causes


def _in_parts(values: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Parts of at most so many values as a query takes."""
    every = tuple(values)
    for start in range(0, len(every), _MARKS_AT_ONCE):
        yield every[start : start + _MARKS_AT_ONCE]


def is_at_work(seen: AgentSeen, doing: Doing, now: int) -> bool:
    """True if an agent is at work; `now` in microseconds since the epoch."""
    return not doing.ended and now - seen.last_seen_at < AT_WORK_S * MICROSECONDS


@frozen
class AgentRequests:
    """Outcomes of an agent's approval requests within a time.

    Args:
        approved: those that were used or ran out unused, too.
    """

    asked: int
    approved: int
    denied: int
    expired: int


def agent_requests(log: EventLog, agent: str, since: int) -> AgentRequests:
    """The requests of an agent since a time, in microseconds since the epoch."""
    now = int(log.clock.now() * MICROSECONDS)
    rows = log.database.query(
        "SELECT CASE WHEN state = 'waiting' AND expires_at <= ? THEN 'expired' ELSE state END, count(*)"
        " FROM approvals WHERE agent = ? AND requested_at >= ? GROUP BY 1",
        (now, agent, since),
    )
    counts = Counter({ApprovalState(word): count for word, count in rows})
    return AgentRequests(
        counts.total(),
        counts[ApprovalState.APPROVED] + counts[ApprovalState.USED],
        counts[ApprovalState.DENIED] + counts[ApprovalState.REVOKED],
        counts[ApprovalState.EXPIRED],
    )
