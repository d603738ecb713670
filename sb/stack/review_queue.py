"""The review queue of memory: conflicts, quarantined memories, suggestions, ignored and pending triggers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum

from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.base.values.frozen import frozen
from sb.memory.triggers.armed import ignored
from sb.store.database import Database
from sb.store.records.claims import CONTRADICTION_PREFIX
from sb.store.records.columns import QUARANTINED, Row
from sb.store.records.places import Places
from sb.store.records.queries import RecordQueries

PENDING = "pending"  # of a suggestion or a trigger
_UNCERTAIN = (  # quarantined, and neither released, purged nor dismissed
    "r.state = ? AND NOT EXISTS"
    " (SELECT 1 FROM record_history AS h WHERE h.record = r.id AND h.operation IN ('purge', 'dismiss'))"
)
_CORRECTS = "SELECT held FROM belief_collapse_events WHERE winner = ? AND status = 'pending' LIMIT 1"
MOST_CHANGES = 1_000  # more changed records than that are all read again
_PARAMETERS = 500  # of one query


class ReviewKind(StrEnum):
    """Kinds of review items, in the order of the list."""

    CONFLICT = "conflict"
    QUARANTINE = "quarantine"
    SUGGESTED = "suggested"
    IGNORED = "ignored"  # a trigger or lesson, proposed for retirement
    TRIGGER = "trigger"  # it waits for its precondition, not for an operator


@frozen
class ReviewItem:
    """One thing that waits.

    Args:
        key: tells it from all others.
        reference: of a conflict its id, else that of the memory.
        record: the memory as it is here. stack: the one that it is in.
        origin: of a conflict between copies the database with the other version; of one between memories who opened it.
        at: since when, in seconds since the epoch.
        held: of a pending correction, why a person has to decide; else "".
    """

    kind: ReviewKind
    key: str
    reference: str
    record: Row
    stack: str
    origin: str
    at: float
    held: str = ""

    @property
    def is_of_copies(self) -> bool:
        """True for a conflict between copies of a stack, which the other database has a part in."""
        return self.kind is ReviewKind.CONFLICT and not self.reference.startswith(CONTRADICTION_PREFIX)


_RECORDS = {ReviewKind.SUGGESTED: "suggestion", ReviewKind.TRIGGER: "trigger"}


def _key(kind: ReviewKind, name: str | int) -> str:
    return f"{kind} {name}"


class ReviewQueue:
    """Reads what waits in all stacks of a database; for one thread at a time.

    No index knows the quarantined memories, of which there are few or none: all records are read once, then those that
    were changed.
    """

    def __init__(self, database: Database, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._clock = clock
        self._records = RecordQueries(database)
        self._places = Places(database)
        self._quarantined: set[int] = set()
        self._looked_to = (0, 0)  # newest record and newest change

    def counts(self) -> dict[ReviewKind, int]:
        """Counts of waiting items, by kind."""
        return {
            ReviewKind.CONFLICT: len(self._conflicts()),
            ReviewKind.QUARANTINE: len(self._look()),
            ReviewKind.SUGGESTED: self._records.of_category("suggestion", PENDING),
            ReviewKind.IGNORED: len(self._numbers(ReviewKind.IGNORED)),
            ReviewKind.TRIGGER: self._records.of_category("trigger", PENDING),
        }

    def waiting(self) -> list[str]:
        """The keys of what waits for an operator, in the order of the list."""
        return [
            *(_key(ReviewKind.CONFLICT, conflict) for conflict in self._conflicts()),
            *(
                _key(kind, number)
                for kind in (ReviewKind.QUARANTINE, ReviewKind.SUGGESTED, ReviewKind.IGNORED)
                for number in self._numbers(kind)
            ),
        ]

    def items(self, most: int = 200, known: Collection[str] = ()) -> list[ReviewItem]:
        """The waiting items, kind by kind, the newest of each first.

        Args:
            most: of each kind.
            known: keys of what is left out.
        """
        found = [*self._conflict_items(most, known)]
        for kind in (ReviewKind.QUARANTINE, ReviewKind.SUGGESTED, ReviewKind.IGNORED, ReviewKind.TRIGGER):
            fresh = [number for number in self._numbers(kind) if _key(kind, number) not in known]
            found += [self._item(kind, row) for row in self._rows(fresh[:most])]
        return found

    def _numbers(self, kind: ReviewKind) -> list[int]:
        """The records of a kind, the newest first."""
        if kind is ReviewKind.QUARANTINE:
            return sorted(self._look(), reverse=True)
        if kind is ReviewKind.IGNORED:
            return ignored(self._database, self._clock.now())
        return self._records.numbers_of_category(_RECORDS[kind], PENDING)

    def _conflicts(self) -> dict[str, tuple[int, str, float]]:
        """The record, the other database or who opened it, and the time of each open conflict, the newest first."""
        sql = (
            "SELECT id, record, peer, at FROM sync_conflicts WHERE resolution = ''"
            " UNION ALL SELECT c.uid, k.record, c.opened_by, c.at FROM contradictions AS c"
            " JOIN claims AS k ON k.id = c.later WHERE c.status = 'open' AND k.record IS NOT NULL ORDER BY at DESC, id"
        )
        return {conflict: (record, peer, at) for conflict, record, peer, at in self._database.query(sql)}

    def _conflict_items(self, most: int, known: Collection[str]) -> Iterator[ReviewItem]:
        fresh = [
            (item, *about)
            for item, about in self._conflicts().items()
            if _key(ReviewKind.CONFLICT, item) not in known
        ][:most]
        records = {row["id"]: row for row in self._rows([record for _, record, _, _ in fresh])}
        for conflict, record, peer, at in fresh:
            if record in records:
                row = records[record]
                key = _key(ReviewKind.CONFLICT, conflict)
                yield ReviewItem(ReviewKind.CONFLICT, key, conflict, row, self._stack(row), peer, at)

    def _item(self, kind: ReviewKind, row: Row) -> ReviewItem:
        key, stack = _key(kind, row["id"]), self._stack(row)
        pending = self._database.query(_CORRECTS, (row["id"],)) if kind is ReviewKind.QUARANTINE else ()
        why = pending[0][0] if pending else ""
        return ReviewItem(kind, key, row["uid"], row, stack, row["agent"], row["created_at"], why)

    def _stack(self, row: Row) -> str:
        return self._places.numbered(row["place"]).stack

    def _rows(self, numbers: Sequence[int]) -> list[Row]:
        """These records, the newest first."""
        rows = [
            row
            for start in range(0, len(numbers), _PARAMETERS)
            for row in self._records.rows(numbers[start : start + _PARAMETERS])
        ]
        return sorted(rows, key=lambda row: -int(row["id"]))

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
