"""Retention: how long memories are kept, by scope and category, and which are past that."""

from __future__ import annotations

from collections.abc import Iterator

from sb.base.values.frozen import frozen
from sb.config.memory import Memory as Settings
from sb.config.scope_patterns import ANY
from sb.memory.space import Space
from sb.memory.views import View
from sb.store.records.columns import ERASED, SUPERSEDED, Row

_AT_ONCE = 1_000  # records


@frozen
class Overdue(View):
    """A memory that is past its retention.

    Args:
        rule: the pattern of `memory.scopes`, and the category or kind if it names that. due_at: when it should have gone, in seconds since the epoch.
        protected: it stays until its protection is lifted.
    """

    id: str
    kind: str
    category: str | None
    scope: str
    rule: str
    due_at: float
    protected: bool


def overdue(space: Space, settings: Settings, now: float) -> list[Overdue]:
    """The memories that are past their retention, oldest first, protected ones too; nothing is changed.

    Args:
        now: seconds since the epoch; the age of a memory counts from when it was written.
    """
    periods = [seconds for rule in settings.scopes.values("retention") for seconds in rule.values()]
    if not periods:
        return []
    return [memory for row in _rows(space, now - min(periods)) if (memory := _due(space, settings, row, now))]


def _rows(space: Space, before: float) -> Iterator[Row]:
    after = 0
    while True:
        rows = list(space.records.select("r.id > ? AND r.created_at <= ?", (after, before), limit=_AT_ONCE))
        yield from (row for row in rows if row["state"] != ERASED)
        if len(rows) < _AT_ONCE:
            return
        after = rows[-1]["id"]


def _due(space: Space, settings: Settings, row: Row, now: float) -> Overdue | None:
    scope = space.places.numbered(row["place"]).scope
    answer = settings.scopes.explain("retention", scope, (row["kind"], row["category"]))
    if answer.value is None:
        return None
    seconds, name = answer.value
    due_at = row["created_at"] + seconds
    if due_at > now:
        return None
    rule = ", ".join(pattern if name == ANY else f"{pattern}/{name}" for pattern in answer.patterns)
    protected = bool(row["protected"]) or (row["state"] == SUPERSEDED and _of_protected(space, row))
    return Overdue(row["uid"], row["kind"], row["category"], scope, rule, due_at, protected)


def _of_protected(space: Space, row: Row) -> bool:
    """True for a restatement of a protected memory."""
    memories = space.evidence.memories_of([row["id"]]).values()
    return any(memory["protected"] for memory in space.records.rows([*memories]))
