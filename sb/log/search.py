"""Search events by what a person typed, newest first.

There is no index for this, on purpose: each one would cost every call of every agent a page write. The log is looked
through from its end in growing steps instead, so that the newest hits come at once and the count later.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from sb.base.values.frozen import frozen
from sb.log.event import EVENT_COLUMNS, Event
from sb.log.event_log import EventLog

FIRST_STEP = 2_000  # rows of the log
LONGEST_STEP = 20_000
Clause = tuple[str, tuple[Any, ...]]


@frozen
class LogFilter:
    """Condition on events: what always holds of those of one sort, and what a person asked for.

    Args:
        more: such as `sb.operator.filters.Filter.log` gives.
    """

    ALWAYS: ClassVar[str] = "1"

    more: Clause = ("1", ())

    def __bool__(self) -> bool:
        return self.more[0] != "1"

    def condition(self) -> Clause:
        """The SQL condition and its parameters."""
        sql, parameters = self.more
        return f"{self.ALWAYS} AND {sql}", parameters


def contains(text: str, *columns: str) -> Clause:
    """That a text is in one of these columns, or SQL expressions."""
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    escape = " ESCAPE '\\'" if literal != text else ""  # a third slower with it
    sql = " OR ".join(f"{column} LIKE ?{escape}" for column in columns)
    return f"({sql})", (f"%{literal}%",) * len(columns)


@frozen
class Step:
    """The result of one step.

    Args:
        seqs: of the events that fit, newest first; all of them are older than those of the step before.
        done_to: every row from here to the newest was looked at.
    """

    seqs: array[int]
    done_to: int


def search(log: EventLog, wanted: LogFilter, *, newest: int, after: int = 0) -> Iterator[Step]:
    """Look through the rows `after` < seq <= `newest`, from the newest on; each step is one short query."""
    yield from _steps(log, wanted.condition(), newest, after)


def seqs_of(log: EventLog, clause: Clause) -> Iterator[int]:
    """The numbers of all events that fit a condition, the newest first."""
    for step in _steps(log, clause, log.head().seq, 0):
        yield from step.seqs


def _steps(log: EventLog, clause: Clause, newest: int, after: int) -> Iterator[Step]:
    condition, parameters = clause
    sql = f"SELECT id FROM events WHERE id > ? AND id <= ? AND {condition} ORDER BY id DESC"
    for low, high in windows(newest, after):
        rows = log.database.query(sql, (log.first_id + low, log.first_id + high, *parameters))
        yield Step(array("q", (row[0] - log.first_id for row in rows)), low + 1)


def windows(newest: int, after: int) -> Iterator[tuple[int, int]]:
    """The rows `after` < number <= `newest` in growing steps from the newest on, each as (below, to)."""
    high, step = newest, FIRST_STEP
    while high > after:
        low = max(after, high - step)
        yield low, high
        high, step = low, min(step * 2, LONGEST_STEP)


def events_at(log: EventLog, seqs: Sequence[int]) -> dict[int, Event]:
    """The events with these numbers; one that is missing in the log is missing here. For a screenful, not for all."""
    marks = ", ".join("?" * len(seqs))
    rows = log.database.query(
        f"SELECT {EVENT_COLUMNS} FROM events WHERE id IN ({marks})", tuple(log.first_id + seq for seq in seqs)
    )
    return {event.seq: event for event in map(log.event, rows)}
