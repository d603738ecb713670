"""Neuromodulation: the state of work by the newest events, and how fast memories recede in it.

Source: brainctl 2.8, whose states and thresholds these are. A state moves the hits of searches within a bound (`moves`);
brainctl's other parameters (breadth, thresholds, intervals) and its levels of transmitters have nothing here to set.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import NamedTuple

import orjson

from sb.memory.space import Space

NORMAL = "normal"
DECAY = {  # of a day, by state: brainctl's temporal_lambda
    NORMAL: 0.030, "incident": 0.100, "sprint": 0.060, "strategic_planning": 0.005, "focused_work": 0.080,
}  # fmt: skip
_NEWEST = 2_000  # records of the database among which events and epochs are looked for
_STATES = (
    "WITH seen AS (SELECT r.kind = 'event' AS event, r.created_at > ?1 - 7200 AS recent, r.category, r.place, r.text"
    " FROM records AS r WHERE r.id > (SELECT max(id) FROM records) - {newest} AND r.state = 'active' AND (r.kind = 'event'"
    " AND r.created_at > ?1 - 21600 OR r.kind = 'epoch' AND r.fields ->> '$.ended_at' IS NULL)"
    " AND r.place IN (SELECT value FROM json_each(?2)) AND NOT ({hidden})) SELECT"
    " sum(NOT event AND (text LIKE '%incident%' OR text LIKE '%outage%' OR text LIKE '%emergency%')),"
    " sum(event AND recent AND category IN ('error', 'warning')), sum(event), sum(event AND (category = 'decision'"
    " OR text LIKE '%planning%' OR text LIKE '%roadmap%' OR text LIKE '%strategy%')),"
    " sum(NOT event AND text LIKE '%sprint%'), sum(event AND recent AND category = 'task_update'), sum(event AND recent),"
    " (SELECT max(n) FROM (SELECT count(*) AS n FROM seen WHERE event AND recent GROUP BY place)) FROM seen"
)  # parameters without a number follow ?2


class State(NamedTuple):
    """The state of work in some places, why it is that one, and how fast memories recede in it, a day."""

    state: str
    reason: str
    temporal_lambda: float

    def recency(self, age_s: float) -> float:
        """The weight of a memory of that age, less its weight in a normal state; from -1 to 1."""
        days = max(0.0, age_s) / 86_400.0
        return exp(-self.temporal_lambda * days) - exp(-DECAY[NORMAL] * days)


def state_of(space: Space, places: Sequence[int]) -> State:
    """Returns the state that the newest records in these places tell, as far as their reader may read them."""
    hidden, values = space.reader.left_out(places)
    sql = _STATES.format(newest=_NEWEST, hidden=hidden or 0)
    [row] = space.database.query(sql, (space.clock.now(), orjson.dumps(list(places)).decode(), *values))
    incidents, failures, events, planned, sprints, tasks, recent, busiest = (value or 0 for value in row)
    states = {
        "an epoch of an incident is open": ("incident", incidents),
        f"{failures} errors and warnings in 2 h": ("incident", failures >= 5),
        f"{planned} of {events} events plan": ("strategic_planning", 0 < events <= 2 * planned),
        "an epoch of a sprint is open": ("sprint", sprints),
        f"{tasks} task updates in 2 h": ("sprint", tasks > 16),
        "one scope has most events": ("focused_work", events >= 3 and recent and busiest >= 0.8 * recent),
        "nothing stands out": (NORMAL, True),
    }
    reason, state = next((reason, state) for reason, (state, holds) in states.items() if holds)
    return State(state, reason, DECAY[state])
