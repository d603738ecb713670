"""Neuromodulation: the state of work by the newest events, and how fast memories recede in it.

Source: brainctl 2.8, whose states and thresholds these are. A state changes nothing but a bounded share of a search's
scores (`moves`): brainctl's other parameters
(breadth, thresholds, intervals) and its levels of transmitters have nothing here that they could set.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import NamedTuple

import orjson

from sb.memory.space import Space

NORMAL = "normal"
DECAY = {  # of a day, by state: brainctl's temporal_lambda
    NORMAL: 0.030,
    "incident": 0.100,
    "sprint": 0.060,
    "strategic_planning": 0.005,
    "focused_work": 0.080,
}
_HOUR, _DAY = 3600.0, 86_400.0
_NEWEST = 2_000  # records of the database among which events and epochs are looked for
_PLANS = ("planning", "roadmap", "strategy")
_INCIDENTS = ("incident", "outage", "emergency")


class State(NamedTuple):
    """The state of work in some places.

    Args:
        reason: why it is that one. temporal_lambda: how fast memories recede in it, a day.
    """

    state: str
    reason: str
    temporal_lambda: float

    def recency(self, age_s: float) -> float:
        """How much more, or less, a memory of that age counts than in a normal state; from -1 to 1."""
        days = max(0.0, age_s) / _DAY
        return exp(-self.temporal_lambda * days) - exp(-DECAY[NORMAL] * days)


def state_of(space: Space, places: Sequence[int]) -> State:
    """Returns the state that the newest records in these places tell, as far as their reader may read them."""
    condition, values = space.reader.left_out(places)
    now = space.clock.now()
    rows = space.database.query(
        "SELECT r.kind = 'epoch', r.created_at > ?, r.category, r.place, lower(substr(r.text, 1, 400)) FROM records AS r"
        f" WHERE r.id > (SELECT max(id) FROM records) - {_NEWEST} AND r.place IN (SELECT value FROM json_each(?))"
        " AND (r.kind = 'event' AND r.created_at > ? OR r.kind = 'epoch' AND r.fields ->> '$.ended_at' IS NULL)"
        f" AND r.state = 'active' AND NOT ({condition or 0})",
        (now - 2 * _HOUR, orjson.dumps(list(places)).decode(), now - 6 * _HOUR, *values),
    )
    epochs = " ".join(row[4] for row in rows if row[0])
    near = [row for row in rows if not row[0]]  # of six hours
    recent = [row for row in near if row[1]]  # of two
    failures, tasks = (
        sum(row[2] in some for row in recent) for some in (("error", "warning"), ("task_update",))
    )
    planned = sum(row[2] == "decision" or any(word in row[4] for word in _PLANS) for row in near)
    at = [row[3] for row in recent]
    busiest = max(map(at.count, set(at)), default=0)
    states: tuple[tuple[str, bool, str], ...] = (
        ("incident", any(word in epochs for word in _INCIDENTS), "an epoch of an incident is open"),
        ("incident", failures >= 5, f"{failures} errors and warnings in 2 h"),
        ("strategic_planning", 0 < len(near) <= 2 * planned, f"{planned} of {len(near)} events plan"),
        ("sprint", "sprint" in epochs, "an epoch of a sprint is open"),
        ("sprint", tasks > 16, f"{tasks} task updates in 2 h"),
        ("focused_work", len(near) >= 3 and bool(at) and busiest >= 0.8 * len(at), "one scope has most events"),
        (NORMAL, True, "nothing stands out"),
    )  # fmt: skip
    state, reason = next((state, reason) for state, holds, reason in states if holds)
    return State(state, reason, DECAY[state])
