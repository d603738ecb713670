"""The review queue of memory: conflicts between copies, quarantined memories, suggestions, pending triggers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from sb.store.database import Database
from sb.store.records.columns import QUARANTINED, Row
from sb.store.records.queries import RecordQueries

PENDING = "pending"  # of a suggestion or a trigger
_UNCERTAIN = (  # quarantined, and neither released nor purged
    "r.state = ? AND NOT EXISTS (SELECT 1 FROM record_history AS h WHERE h.record = r.id AND h.operation = 'purge')"
)
MOST_CHANGES = 1_000  # more changed records than that are all read again


class ReviewKind(StrEnum):
    """Why something is listed, in the order in which it is listed."""

    CONFLICT = "conflict"
    QUARANTINE = "quarantine"
    SUGGESTED = "suggested"
    TRIGGER = "trigger"  # it waits for its precondition, not for an operator


@dataclass(frozen=True)
class ReviewItem:
    """One thing that waits.

    Args:
        reference: of a conflict its id, else that of the memory.
        record: the memory as it is here. origin: of a conflict, the database with the other version.
        at: since when, in seconds since the epoch.
    """

    kind: ReviewKind
    reference: str
    record: Row
    origin: str
    at: float


class ReviewQueue:
    """Reads what waits in all stacks of a database; for one thread at a time.

    No index knows the quarantined memories, of which there are few or none: all records are read once, then those that
    were changed.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._records = RecordQueries(database)
        self._quarantined: set[int] = set()
        self._looked_to = (0, 0)  # newest record and newest change

    def counts(self) -> dict[ReviewKind, int]:
        """How many of each kind wait."""
        conflicts = self._database.query("SELECT count(*) FROM sync_conflicts WHERE resolution = ''")[0][0]
        return {
            ReviewKind.CONFLICT: int(conflicts),
            ReviewKind.QUARANTINE: len(self._look()),
            ReviewKind.SUGGESTED: self._records.of_category("suggestion", PENDING),
            ReviewKind.TRIGGER: self._records.of_category("trigger", PENDING),
        }

    def waiting(self) -> int:
        """How many wait for an operator."""
        return sum(count for kind, count in self.counts().items() if kind is not ReviewKind.TRIGGER)

    def items(self, most: int = 200) -> list[ReviewItem]:
        """What waits, kind by kind, the newest of each first.

        Args:
            most: of each kind.
        """
        suggested = self._pending(ReviewKind.SUGGESTED, "suggestion", most)
        return [
            *self._conflicts(most),
            *self._held_back(most),
            *suggested,
            *self._pending(ReviewKind.TRIGGER, "trigger", most),
        ]

    def _conflicts(self, most: int) -> Iterator[ReviewItem]:
        rows = self._database.query(
            "SELECT id, record, peer, at FROM sync_conflicts WHERE resolution = '' ORDER BY at DESC, id LIMIT ?",
            (most,),
        )
        records = {row["id"]: row for row in self._records.rows([record for _, record, _, _ in rows])}
        for conflict, record, peer, at in rows:
            if record in records:
                yield ReviewItem(ReviewKind.CONFLICT, conflict, records[record], peer, at)

    def _held_back(self, most: int) -> Iterator[ReviewItem]:
        numbers = sorted(self._look(), reverse=True)[:most]
        for row in sorted(self._records.rows(numbers), key=lambda row: -row["id"]):
            yield ReviewItem(ReviewKind.QUARANTINE, row["uid"], row, row["agent"], row["created_at"])

    def _pending(self, kind: ReviewKind, records: str, most: int) -> Iterator[ReviewItem]:
        for row in self._records.in_category(records, PENDING, most):
            yield ReviewItem(kind, row["uid"], row, row["agent"], row["created_at"])

    def _look(self) -> set[int]:
        """The numbers of the quarantined records as of now."""
        head, (newest, change) = self._records.head(), self._looked_to
        if head == self._looked_to:
            return self._quarantined
        changed = self._records.changed(change, MOST_CHANGES) if newest else set[int]()
        if len(changed) == MOST_CHANGES or not newest:
            newest, changed, self._quarantined = 0, set(), set()
        fresh = self._records.numbers(_UNCERTAIN, (QUARANTINED,), above=newest, to=head[0])
        marks = ", ".join("?" * len(changed)) or "NULL"
        waits = f"{_UNCERTAIN} AND r.id IN ({marks})"
        again = set(self._records.numbers(waits, (QUARANTINED, *changed), above=0, to=head[0]))
        self._quarantined = (self._quarantined - changed) | again | set(fresh)
        self._looked_to = head
        return self._quarantined
