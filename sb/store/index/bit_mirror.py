"""A place's bit vectors, kept in this process: writes and searches ask for the nearest again and again.

Read once from the index; then only what was written since is added. What this process wrote itself is added without
reading it again, if no other process wrote in between. For a search all are read again once a record or a vector has
changed; a write goes on with the former bits, since bits only propose.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from sb.base.values.numeric import np
from sb.store.database import Database
from sb.store.index.bit_vectors import BitIndex

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Vectors

_LAST = "SELECT coalesce(max(record), 0) FROM vectors"
_NEW = (
    "SELECT v.record, CASE WHEN r.place = ? AND v.model = ? THEN v.vector END"
    " FROM vectors AS v CROSS JOIN records AS r ON r.id = v.record WHERE v.record > ? ORDER BY v.record"
)
_PART = 32  # records of which only the nearest decides how far away the others may be
_MOST_WRITTEN = 64  # writes of this process that are kept for the next comparison, of no more records each
_MOST_PLACES = 16  # that are kept at once; of 10 000 records each 400 KB


class _Held(NamedTuple):
    """The numbers and bits of the records of one place, as they were at one moment.

    A thread may be comparing while another one adds: what is there never changes, new ones are written behind it.

    Args:
        last: the record up to which all are here. changes: of records when they were read, see `RecordCache.at`.
        size: how many records there are. records: their numbers, with room for more.
        bits: of their vectors, 64 in one number, by column, which numpy compares much faster.
    """

    last: int
    changes: int | None
    size: int
    records: np.ndarray
    bits: np.ndarray

    def with_new(self, last: int, records: Sequence[int] | np.ndarray, bits: np.ndarray) -> _Held:
        """The same with more records, a row of bits for each; only the latest one may be added to."""
        numbers, columns, need = self.records, self.bits, self.size + len(records)
        if need > len(numbers):
            room = max(need, 2 * len(numbers)) - len(numbers)
            numbers, columns = np.pad(numbers, (0, room)), np.pad(columns, ((0, 0), (0, room)))
        numbers[self.size : need] = records
        columns[:, self.size : need] = bits.T
        return _Held(last, self.changes, need, numbers, columns)

    def nearest(self, asked: np.ndarray, k: int) -> list[int]:
        """The k records whose bits differ least, the nearest first, ties by number."""
        size = self.size
        unlike = self.bits[0, :size] ^ asked[0]
        # Of 256 bits numbers of 8 do, which numpy adds faster; that all differ, which they hold as none, harms no one.
        differing: np.ndarray = np.bitwise_count(unlike)
        if len(asked) > 4:
            differing = differing.astype(np.uint16)
        for column, value in zip(self.bits[1:], asked[1:], strict=True):
            np.bitwise_xor(column[:size], value, out=unlike)
            differing += np.bitwise_count(unlike)
        places = _least(differing, k)
        order = np.lexsort((self.records[places], differing[places]))[:k]
        found: list[int] = self.records[places[order]].tolist()
        return found


def _least(differing: np.ndarray, k: int) -> np.ndarray:
    """Where the k smallest of some numbers are, among few others: no more than the k-th smallest of what is least in each
    of some parts, which is known in a third of the time of np.partition."""
    share = min(_PART, len(differing) // (2 * k))
    if share < 2:
        return np.arange(len(differing))
    parts = len(differing) // share
    least = np.minimum.reduce(differing[: share * parts].reshape(share, parts), axis=0)
    least.partition(k - 1)
    near: np.ndarray = (differing <= least[k - 1]).nonzero()[0]
    return near


class _Written(NamedTuple):
    """Writes of this process in one transaction.

    Args:
        numbers: of the records, in their order. bits: number, place and bits of those whose texts say something.
    """

    numbers: Sequence[int]
    model: str
    bits: Sequence[tuple[int, int, bytes]]


class BitMirror:
    """The bits of the places that this process asked about."""

    def __init__(self, database: Database, index: BitIndex) -> None:
        self._database = database
        self._index = index
        self._held: dict[tuple[str, int], _Held] = {}
        self._noted: _Written | None = None  # by a transaction that may be open yet, or rolled back
        self._written: list[_Written] = []  # and committed, the last ones
        self._lock = Lock()  # of all these; nobody waits for the database while having it

    def holds(self, model: str, place: int) -> bool:
        """True if the bits of a place are here already."""
        return (model, place) in self._held

    def last(self) -> int:
        """The number of the newest record with a vector, 0 before the first."""
        return int(self._database.query(_LAST)[0][0])

    def note(self, numbers: Sequence[int], model: str, bits: Sequence[tuple[int, int, bytes]]) -> None:
        """Remembers bits that a transaction has written, until `add_noted` says that it is over; see `_Written`."""
        with self._lock:
            self._noted = _Written(numbers, model, bits)

    def add_noted(self, records: Sequence[int]) -> None:
        """Counts these records as committed, if they are those that were noted last."""
        with self._lock:
            noted = self._noted
            if noted is None or not set(noted.numbers).issubset(records):
                return
            if len(self._written) >= _MOST_WRITTEN or len(records) > _MOST_WRITTEN:
                self._written.clear()  # who has not seen them yet reads them
            if len(records) <= _MOST_WRITTEN:
                self._written.append(noted)
            self._noted = None

    def nearest(
        self, model: str, query: Vectors, place: int, k: int, changes: int | None = None
    ) -> tuple[list[int], int]:
        """About the k records of a place that are nearest to a vector; they may be in another state or place by now.

        Args:
            query: of as many numbers as 64 divides. changes: see `RecordCache.at`; None for former bits, too.

        Returns:
            The numbers of these, and the number up to which all records with a vector were looked at.
        """
        if self._database.writer:  # what a transaction has written may yet be rolled back
            last = self.last()
            return self._index.nearest(model, query, place, k), last
        entry = self._held.get((model, place))
        if entry is None or changes not in (None, entry.changes):
            entry = self._read(model, place, len(query) // 64, changes)
        else:
            entry = self._with_own(entry, model, place) or self._with_new(entry, model, place)
        found = entry.nearest(np.packbits(query > 0).view(np.uint64), k) if entry.size else []
        return found, entry.last

    def _read(self, model: str, place: int, words: int, changes: int | None) -> _Held:
        last = self.last()
        records, bits = self._index.listed(model, place)
        known = records <= last
        nothing = _Held(last, changes, 0, np.zeros(1024, np.int64), np.zeros((words, 1024), np.uint64))
        entry = nothing.with_new(last, records[known], bits.view(np.uint64)[known])
        with self._lock:
            self._held.pop((model, place), None)
            if len(self._held) >= _MOST_PLACES:
                del self._held[next(iter(self._held))]
            self._held[model, place] = entry
        return entry

    def _with_own(self, entry: _Held, model: str, place: int) -> _Held | None:
        """The same with what this process wrote since; None where that is not all that was written."""
        newest = self.last()
        if newest == entry.last:
            return entry
        with self._lock:
            last, rows = entry.last, list[tuple[int, bytes]]()
            new = [*takewhile(lambda written: written.numbers[-1] > entry.last, reversed(self._written))]
            for numbers, made_by, bits in reversed(new):
                if numbers[0] != last + 1 or numbers[-1] != last + len(numbers):
                    return None  # others, or a record without a vector, stand between
                last = numbers[-1]
                rows += [(record, own) for record, its, own in bits if its == place and made_by == model]
            if last != newest or self._held.get((model, place)) is not entry:
                return None
            own = np.frombuffer(b"".join([own for _, own in rows]), np.uint64)
            added = own.reshape(len(rows), len(entry.bits))
            self._held[model, place] = entry = entry.with_new(last, [record for record, _ in rows], added)
            return entry

    def _with_new(self, entry: _Held, model: str, place: int) -> _Held:
        written = self._database.query(_NEW, (place, model, entry.last))
        if not written:
            return entry
        # A text without meaning, all zeros, is near to nothing.
        rows = [(record, vector) for record, vector in written if vector is not None and vector.strip(b"\0")]
        vectors = np.frombuffer(b"".join([vector for _, vector in rows]), "<f2")
        bits = np.packbits(vectors > 0).view(np.uint64).reshape(len(rows), len(entry.bits))
        with self._lock:
            latest = self._held.get((model, place))
            if latest is entry:
                self._held[model, place] = latest = entry.with_new(
                    written[-1][0], [record for record, _ in rows], bits
                )
        # Another thread was first. What it added lacks at most what was written since: bits only propose.
        return latest or entry
