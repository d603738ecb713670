"""Postings of a small index, kept in this process: bm25 of all its records at once.

FTS5 computes bm25 record by record, at every search anew, which is most of what a search for words takes. It follows
from the postings of the words and the lengths of the records; these are read once and hold until anything is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

import orjson

from sb.numeric import np
from sb.store.database import Database

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_POSTINGS = 2**20
"""So many are kept, 16 MB; then all are forgotten, and read again as words are asked for."""

_K1, _B, _LEAST_IDF = 1.2, 0.75, 1e-6  # as FTS5 has them
_TABLE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.record_postings USING fts5vocab (main, record_index, instance)"
)
# SQLite puts them together: a row for each would take Python three times as long.
_LENGTHS = (
    "SELECT json_group_array(id), group_concat(hex(sz), '') FROM"
    " (SELECT id, sz FROM record_index_docsize WHERE id > ? ORDER BY id)"
)
_OF_WORD = (
    "SELECT json_group_array(doc + doc + (col = 'prev')) FROM temp.record_postings"
    " WHERE term = ? AND col <> 'place' AND doc <= ?"
)
_OF_PLACE = (
    "SELECT json_group_array(doc) FROM temp.record_postings WHERE term = ? AND col = 'place' AND doc <= ?"
)


class _Word(NamedTuple):
    """The postings of a word.

    Args:
        at: which records have it, by their places. scores: its part of their bm25.
        frequency: how many have it in their own text.
    """

    at: NDArray[np.intp]
    scores: NDArray[np.float64]
    frequency: int


class _Records(NamedTuple):
    """The records of the index at one moment, and what was read of it since.

    Args:
        ids: their numbers, in order. lengths: in words of all columns. norms: what bm25 makes of these.
        words: by stem. places: which records are active memories of a place, by its token.
    """

    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]
    norms: NDArray[np.float64]
    words: dict[str, _Word]
    places: dict[str, NDArray[np.intp]]


class Postings:
    """The postings of an index of which nothing changes but that records come; then they are read again.

    Threads share it: each goes on with the records that it counted.

    Args:
        body_weight, prev_weight: of these columns in bm25.
    """

    def __init__(self, database: Database, body_weight: float, prev_weight: float) -> None:
        self._database = database
        self._weights = np.array([body_weight, prev_weight])
        self._records = _of_lengths(np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._kept = 0  # postings of words, about: threads may add at once
        database.query(_TABLE)

    def __len__(self) -> int:
        return len(self._records.ids)

    def best(
        self, stems: Iterable[str], k: int, places: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The k records with the greatest bm25, ties by number; the same as FTS5 gives, to the last digit.

        Args:
            stems: any of which a record has to have; one that is there twice counts twice.
            places: in which a memory has to be, and active; None for anywhere, and in any state.
        """
        records = self._current()
        scores = np.zeros(len(records.ids))
        for stem in stems:
            word = self._word(records, stem)
            scores[word.at] += word.scores
        if places is not None:
            inside = np.zeros(len(scores), np.bool_)
            for place in places:
                inside[self._place(records, f"p{place}")] = True
            scores[~inside] = 0.0
        (found,) = scores.nonzero()
        reached = scores.take(found)
        if len(found) > k:
            enough = np.flatnonzero(reached >= np.partition(reached, -k)[-k])
            found, reached = found.take(enough), reached.take(enough)
        order = np.lexsort((found, -reached))[:k]
        return list(zip(records.ids[found[order]].tolist(), reached[order].tolist(), strict=True))

    def frequencies(self, stems: Iterable[str]) -> dict[str, int]:
        """In how many records' own text each of these stems is, of those that were asked for."""
        words = self._records.words
        return {stem: words[stem].frequency for stem in stems if stem in words}

    def _current(self) -> _Records:
        """The records that there are, with what is known of them."""
        records = self._records
        last = int(records.ids[-1]) if len(records.ids) else -1
        ((new, sizes),) = self._database.query(_LENGTHS, (last,))
        if sizes:
            ids = np.append(records.ids, np.array(orjson.loads(new), np.int64))
            records = _of_lengths(ids, np.append(records.lengths, _sums(bytes.fromhex(sizes))))
            self._records, self._kept = records, 0
        return records

    def _word(self, records: _Records, stem: str) -> _Word:
        known = records.words.get(stem)
        if known is None:
            if self._kept > MOST_POSTINGS:
                records.words.clear()
                self._kept = 0
            known = records.words[stem] = self._read(records, stem)
            self._kept += len(known.at)
        return known

    def _read(self, records: _Records, stem: str) -> _Word:
        count = len(records.ids)
        found = self._listed(_OF_WORD, records, stem)
        at, in_prev = _places_in(records.ids, found >> 1), found & 1
        often = np.bincount(at, self._weights.take(in_prev), count + 1)[:count]
        (having,) = often.nonzero()
        idf = max(log((count - len(having) + 0.5) / (len(having) + 0.5)), _LEAST_IDF)
        often = often.take(having)
        scores = idf * (often * (_K1 + 1.0) / (often + records.norms.take(having)))
        (own,) = np.bincount(at[in_prev == 0], minlength=1).nonzero()
        return _Word(having, scores, len(own))

    def _place(self, records: _Records, token: str) -> NDArray[np.intp]:
        known = records.places.get(token)
        if known is None:
            known = _places_in(records.ids, self._listed(_OF_PLACE, records, token))
            known = records.places[token] = known[known < len(records.ids)]
        return known

    def _listed(self, sql: str, records: _Records, term: str) -> NDArray[np.int64]:
        last = int(records.ids[-1]) if len(records.ids) else -1
        ((found,),) = self._database.query(sql, (term, last))
        return np.array(orjson.loads(found), np.int64)


def _of_lengths(ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> _Records:
    mean = lengths.sum() / max(1, len(lengths))
    norms = _K1 * (1.0 - _B + _B * lengths / max(mean, 1.0))
    return _Records(ids, lengths, norms, {}, {})


def _places_in(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where these numbers are; behind the last for one that is not there: another process has changed it just now."""
    at = np.searchsorted(ids, wanted)
    return np.where(ids.take(at, mode="clip") == wanted, at, len(ids)) if len(ids) else at


def _sums(sizes: bytes) -> NDArray[np.int64]:
    """The sums of each three numbers of FTS5's, those of a record: 7 bits in a byte, the highest ones first."""
    octets = np.frombuffer(sizes, np.uint8)
    ends = np.flatnonzero(octets < 128)
    left = ends[np.searchsorted(ends, np.arange(len(octets)))] - np.arange(len(octets))
    values = (octets & 127).astype(np.int64) << 7 * left
    starts = np.concatenate(([0], ends[:-1] + 1))[::3]
    return np.asarray(np.add.reduceat(values, starts))
