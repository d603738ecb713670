"""Health figures of a stack, from a bounded number of its newest memories."""

from __future__ import annotations

from typing import Any, NamedTuple

from sb.protocols.types.vocabulary import WEAK
from sb.stack.container import Container

_NEWEST = 500  # memories of a kind that are looked at in each place
_AT_ONCE = 100  # places and kinds in one statement: SQLite takes 500
_DOUBTED = 0.5  # confidence below which a belief is uncertain
_DAY = 86_400.0
_MONTH = 30.44 * _DAY
_CHECKPOINT = "checkpoint"  # the tag of an episode that nobody has to learn from


class Health(NamedTuple):
    """The health figures of a stack.

    Args:
        unreflected: episodes that taught nothing yet. doubted: uncertain beliefs. mean_confidence: of values and
        beliefs, None without any. raw_waiting: raw entries that nobody has looked through. raw_aged: characters of each
        that has waited for more than a day. epoch_months: since the epoch began that is still open; 0 without one.
    """

    unreflected: int
    doubted: int
    mean_confidence: float | None
    raw_waiting: int
    raw_aged: tuple[int, ...]
    epoch_months: float


def look(container: Container) -> Health:
    """Look at a stack now."""
    now = container.space.clock.now()
    beliefs = [item for (item,) in _newest(container, "confidence", "belief", "fact")]
    values = [item for (item,) in _newest(container, "confidence", "value")]
    sure = [item for item in (*beliefs, *values) if item is not None]
    waiting = [(length, at) for length, at, done in _newest(container, _RAW, "raw") if not done]
    epochs = [at for at, ended in _newest(container, _EPOCH, "epoch") if ended is None]
    return Health(
        unreflected=sum(not taught for (taught,) in _newest(container, _REFLECTED, "episode")),
        doubted=sum(belief is not None and belief < _DOUBTED for belief in beliefs),
        mean_confidence=sum(sure) / len(sure) if sure else None,
        raw_waiting=len(waiting),
        raw_aged=tuple(length for length, at in waiting if now - at > _DAY),
        epoch_months=(now - max(epochs)) / _MONTH if epochs else 0.0,
    )


_REFLECTED = (
    "coalesce(json_array_length(fields, '$.lessons'), 0) > 0"
    f" OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = '{_CHECKPOINT}')"
)
_RAW = "length(text), happened_at, json_extract(fields, '$.processed')"
_EPOCH = "happened_at, json_extract(fields, '$.ended_at')"


def _newest(container: Container, columns: str, *kinds: str) -> list[tuple[Any, ...]]:
    legs = [(place, kind) for place in container.places() for kind in kinds]
    part = (
        f"SELECT * FROM (SELECT {columns} FROM records WHERE place = ? AND kind = ? AND state = 'active'"
        " AND strength >= ? ORDER BY happened_at DESC LIMIT +?)"
    )
    found: list[tuple[Any, ...]] = []
    for start in range(0, len(legs), _AT_ONCE):
        some = legs[start : start + _AT_ONCE]
        values = tuple(value for leg in some for value in (*leg, WEAK, _NEWEST))
        found += container.space.database.query(" UNION ALL ".join([part] * len(some)), values)
    return found
