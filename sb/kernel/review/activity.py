"""Counts of calls, refusals, denials and reversals by agent, run and time.

The log has no index by time, as each call would pay for one. So the rows of a span are read once, from the first one
that is young enough, found by halving; after that only what was written since.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from sb.base.sources import MICROSECONDS
from sb.base.values.frozen import frozen
from sb.kernel.results import ToolErrorCode
from sb.kernel.run_context import RECOVERY_AGENT
from sb.log.event import SEQ_MASK
from sb.log.event_log import EventLog
from sb.log.kinds import APPROVAL_DENIED, BUDGET_EXCEEDED, TOOL_DISPATCH, TOOL_POLICY_BLOCKED
from sb.log.search import LONGEST_STEP

HOUR_S, DAY_S = 3_600, 86_400
QUARTER_S = 900  # no time zone is off by less than that, so days and hours are made of quarters of an hour
ASKS = "requires_approval"  # the rule of a call that waits for a person
REFUSES = f"('{ToolErrorCode.PERMISSION_DENIED}', '{ToolErrorCode.BUDGET_EXCEEDED}')"
# A call is counted where it was announced, refused, or ended without an announcement.
_SUMS = f"""
    sum(phase IN ('intent', 'refused') OR (phase = 'outcome' AND args)),
    sum(phase = 'refused' AND rule IS NOT '{ASKS}' AND code IN {REFUSES}),
    sum(kind = '{APPROVAL_DENIED}'),
    sum(phase = 'refused' AND rule IS '{ASKS}'),
    sum(phase = 'outcome' AND state = 'done' AND reverses),
    sum(phase = 'outcome' AND state = 'failed'),
    sum(phase = 'in_doubt' OR (phase = 'outcome' AND state = 'in_doubt'))
    FROM (SELECT id, run_id, agent, at, kind,
        json_extract(payload, '$.phase') AS phase, json_extract(payload, '$.state') AS state,
        json_extract(payload, '$.rule') AS rule, json_extract(payload, '$.code') AS code,
        json_type(payload, '$.args') IS NOT NULL AS args, json_type(payload, '$.reverses') IS NOT NULL AS reverses
        FROM events WHERE kind IN ('{TOOL_DISPATCH}', '{TOOL_POLICY_BLOCKED}', '{BUDGET_EXCEEDED}', '{APPROVAL_DENIED}') AND json_valid(payload)"""
_BY_TIME = f"SELECT run_id, agent, at / ?, {_SUMS} AND id > ? AND id <= ?) GROUP BY 1, 2, 3"
_OF_RUN = f"SELECT {_SUMS} AND run_id = ? AND id > ? AND id <= ?)"


@frozen
class Tally:
    """Counts of calls by how they ended; refused calls count, too.

    Args:
        refused: by a rule, a limit or a stop. denied: requests that a person denied. asked: for a person.
        undone: reversals that were performed. unknown: calls with an unknown outcome.
    """

    calls: int = 0
    refused: int = 0
    denied: int = 0
    asked: int = 0
    undone: int = 0
    failed: int = 0
    unknown: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.calls + other.calls,
            self.refused + other.refused,
            self.denied + other.denied,
            self.asked + other.asked,
            self.undone + other.undone,
            self.failed + other.failed,
            self.unknown + other.unknown,
        )


def _tally(counts: Iterable[int | None]) -> Tally:
    """A tally of sums; one of rows that say nothing of it, as damaged ones do, is 0."""
    return Tally(*(count or 0 for count in counts))


class _Doer(NamedTuple):
    run_id: str
    agent: str


class Activity:
    """Activity of agents within a span until now; for one thread at a time.

    Args:
        span_s: seconds; older events do not count.
        bucket_s: seconds by which times are told apart.
    """

    def __init__(self, log: EventLog, span_s: int, bucket_s: int = QUARTER_S) -> None:
        self.log = log
        self.span_s = span_s
        self.bucket_s = bucket_s
        self.read_to = 0  # the newest row that was counted
        self._begun = False
        self._counts: dict[_Doer, dict[int, Tally]] = defaultdict(dict)

    def update(self) -> None:
        """Count what was written since the last update."""
        now = int(self.log.clock.now() * MICROSECONDS)
        oldest = now - self.span_s * MICROSECONDS
        newest = self.log.head().seq
        if not self._begun:
            self.read_to, self._begun = max(first_since(self.log, oldest) - 1, 0), True
        while self.read_to < newest:
            to = min(self.read_to + LONGEST_STEP, newest)
            self._count(self.read_to, to)
            self.read_to = to
        self._forget(oldest // (self.bucket_s * MICROSECONDS))

    def _count(self, after: int, to: int) -> None:
        first = self.log.first_id
        rows = self.log.database.query(_BY_TIME, (self.bucket_s * MICROSECONDS, first + after, first + to))
        for run_id, agent, bucket, *counts in rows:
            buckets = self._counts[_Doer(run_id, agent)]
            buckets[bucket] = buckets.get(bucket, Tally()) + _tally(counts)

    def _forget(self, before: int) -> None:
        for doer, buckets in list(self._counts.items()):
            for bucket in [item for item in buckets if item < before]:
                del buckets[bucket]
            if not buckets:
                del self._counts[doer]

    def total(
        self, since: int = 0, *, agent: str | None = None, runs: Collection[str] | None = None
    ) -> Tally:
        """The sum since a time, to the bucket.

        Args:
            since: microseconds since the epoch; 0 for the whole span.
            agent, runs: only what these did; recovery's calls count only as what they undid, unless it is named.
        """
        bucket = since // (self.bucket_s * MICROSECONDS)
        found = (tally for at, tally in self._tallies(agent, runs) if at >= bucket)
        return sum(found, Tally())

    def periods(
        self,
        count: int,
        period_s: int,
        *,
        agent: str | None = None,
        runs: Collection[str] | None = None,
    ) -> tuple[Tally, ...]:
        """The sums of the last periods, oldest first; the last one ends with the current bucket.

        Args:
            period_s: a multiple of the buckets' length, such as HOUR_S.
            agent, runs: as for `total`.
        """
        last = int(self.log.clock.now()) // self.bucket_s
        each = period_s // self.bucket_s
        sums = [Tally()] * count
        for bucket, tally in self._tallies(agent, runs):
            back = (last - bucket) // each
            if 0 <= back < count:
                sums[count - 1 - back] += tally
        return tuple(sums)

    def agents(self) -> set[str]:
        """The names of those that called anything within the span, recovery left out."""
        return {doer.agent for doer in self._counts} - {RECOVERY_AGENT}

    def runs(self, since: int = 0) -> dict[str, str]:
        """The agent of each run that called anything since a time, as `total` takes it, recovery left out."""
        bucket = since // (self.bucket_s * MICROSECONDS)
        return {
            doer.run_id: doer.agent
            for doer, buckets in self._counts.items()
            if doer.agent != RECOVERY_AGENT and max(buckets) >= bucket
        }

    def _tallies(self, agent: str | None, runs: Collection[str] | None) -> Iterator[tuple[int, Tally]]:
        for doer in self._doers(agent, runs):
            own = doer.agent == RECOVERY_AGENT and agent is None
            for bucket, tally in self._counts[doer].items():
                yield bucket, Tally(undone=tally.undone) if own else tally

    def _doers(self, agent: str | None, runs: Collection[str] | None) -> Iterator[_Doer]:
        if agent is not None and runs is not None:
            yield from (doer for run_id in runs if (doer := _Doer(run_id, agent)) in self._counts)
            return
        for doer in self._counts:
            if (agent is None or doer.agent == agent) and (runs is None or doer.run_id in runs):
                yield doer


class RunTallies:
    """Tallies of runs' calls; a run is read once, then only what was added. For one thread at a time."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self._known: dict[str, tuple[int, Tally]] = {}

    def of(self, run_id: str) -> Tally:
        """The tally of one run until now."""
        after, tally = self._known.get(run_id, (self.log.first_id, Tally()))
        (newest,) = self.log.database.query("SELECT max(id) FROM events WHERE run_id = ?", (run_id,))[0]
        if newest is None or newest <= after:
            return tally
        (counts,) = self.log.database.query(_OF_RUN, (run_id, after, newest))
        tally += _tally(counts)
        self._known[run_id] = newest, tally
        return tally


def first_since(log: EventLog, at: int) -> int:
    """The number of the first event that is not older; one past the newest if there is none.

    Times may step back where a clock was set, so it is near rather than exact.

    Args:
        at: microseconds since the epoch.
    """
    low, high = 1, log.head().seq + 1
    while low < high:
        middle = (low + high) // 2
        rows = log.database.query(
            "SELECT at FROM events WHERE id >= ? AND id <= ? ORDER BY id LIMIT 1",
            (log.first_id + middle, log.first_id + SEQ_MASK),
        )
        if not rows or rows[0][0] >= at:
            high = middle
        else:
            low = middle + 1
    return low
