"""Cache of what searches read of records, valid until one of them changes."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Generic, TypeVar

from sb.store.database import Database

Values = TypeVar("Values", bound=Sized)

MOST_RECORDS = 10_000
"""So many records are remembered, which takes up to 13 MB for vectors and 6 for words; then it begins anew."""


class RecordCache(Generic[Values]):
    """Values by the numbers of records.

    Args:
        empty: makes what they are kept in.

    The database counts changes of records and of vectors in `index_state`, whoever makes them. Records that are new change
    no others, so a process that writes and searches in turn goes on with what it has. Threads share it: each goes on with
    the values of the number that it counted, even while another one begins anew.
    """

    def __init__(self, database: Database, empty: Callable[[], Values]) -> None:
        self._database = database
        self._empty = empty
        self._held: tuple[int, Values] | None = None  # one object, so that no thread sees half of it

    def at(self, changes: int | None) -> Values:
        """The values that still hold, to be filled with what is missing.

        Args:
            changes: as counted before anything else was read; None to begin with nothing, and keep nothing.
        """
        if changes is None or self._database.writer:  # what a transaction has changed may yet be rolled back
            return self._empty()
        entry = self._held
        if entry is None or changes != entry[0] or len(entry[1]) > MOST_RECORDS:
            self._held = entry = (changes, self._empty())
        return entry[1]
