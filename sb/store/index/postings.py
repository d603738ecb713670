"""Postings of a small index, kept in this process: bm25 of all its records at once.

FTS5 computes bm25 record by record, at every search anew, which is most of what a search for words takes. It follows
from the postings of the words and the lengths of the records; these are read once, and then only those of new records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

import orjson

from sb.base.values.numeric import np
from sb.store.database import Database

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_POSTINGS = 2**19
"""So many are kept, 12 MB; then all are forgotten, and read again as words are asked for."""

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
    " WHERE term = ? AND col <> 'place' AND doc > ? AND doc <= ?"
)
_OF_PLACE = (
    "SELECT json_group_array(doc) FROM temp.record_postings"
    " WHERE term = ? AND col = 'place' AND doc > ? AND doc <= ?"
)


class _Word(NamedTuple):
    """The postings of a word.

    Args:
        at: which records have it, by their places. often: how often, by the weights of the columns.
        scores: its part of their bm25. frequency: how many have it in their own text.
        counted: how many records there were.
    """

    at: NDArray[np.intp]
    often: NDArray[np.float64]
    scores: NDArray[np.float64]
    frequency: int
    counted: int


class _Records(NamedTuple):
    """The records of the index at one moment, and what was read of it since.

    Args:
        ids: their numbers, in order. lengths: in words of all columns. norms: what bm25 makes of these.
        words: by stem; of fewer records, maybe. places: which records are active memories of a place, by its token.
    """

    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]
    norms: NDArray[np.float64]
    words: dict[str, _Word]
    places: dict[str, NDArray[np.intp]]


class Postings:
    """The postings of an index that changes in nothing but that records come.

    Threads share it: each goes on with the records that it counted.

    Args:
        body_weight, prev_weight: of these columns in bm25.
    """

    def __init__(self, database: Database, body_weight: float, prev_weight: float) -> None:
        self._database = database
        self._weights = np.array([body_weight, prev_weight])
        none = np.zeros(0, np.int64)
        self._records = _of_lengths(none, none, {})
        self._unknown = _Word(none, np.zeros(0), np.zeros(0), 0, 0)
        self._kept = 0  # postings of words, about: threads may add at once

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
        known = ((stem, words.get(stem)) for stem in stems)  # another thread may forget them meanwhile
        return {stem: word.frequency for stem, word in known if word is not None}

    def _current(self) -> _Records:
        """The records that there are, with what is known of them."""
        records = self._records
        if not len(records.ids):
            self._database.query(_TABLE)
        ((new, sizes),) = self._database.query(_LENGTHS, (_last(records.ids),))
        if sizes:
            ids = np.append(records.ids, np.array(orjson.loads(new), np.int64))
            lengths = np.append(records.lengths, _sums(bytes.fromhex(sizes)))
            self._records = records = _of_lengths(ids, lengths, records.words)
        return records

    def _word(self, records: _Records, stem: str) -> _Word:
        known = records.words.get(stem, self._unknown)
        if known.counted < len(records.ids):
            if self._kept > MOST_POSTINGS:
                records.words.clear()
                self._kept, known = 0, self._unknown
            before = len(known.at)
            known = records.words[stem] = self._read(records, stem, known)
            self._kept += len(known.at) - before
        return known

    def _read(self, records: _Records, stem: str, known: _Word) -> _Word:
        """The postings of a word; known ones are not read again."""
        count = len(records.ids)
        found = self._listed(_OF_WORD, records, stem, known.counted)
        at, in_prev = _places_in(records.ids, found >> 1), found & 1
        added = np.bincount(at, self._weights.take(in_prev), count + 1)[:count]
        (new,) = added.nonzero()
        having = np.append(known.at, new)
        often: NDArray[np.float64] = np.append(known.often, added.take(new))
        idf = max(log((count - len(having) + 0.5) / (len(having) + 0.5)), _LEAST_IDF)
        scores: NDArray[np.float64] = idf * (often * (_K1 + 1.0) / (often + records.norms.take(having)))
        (own,) = np.bincount(at[in_prev == 0], minlength=1).nonzero()
        return _Word(having, often, scores, known.frequency + len(own), count)

    def _place(self, records: _Records, token: str) -> NDArray[np.intp]:
        known = records.places.get(token)
        if known is None:
            known = _places_in(records.ids, self._listed(_OF_PLACE, records, token, 0))
            known = records.places[token] = known[known < len(records.ids)]
        return known

    def _listed(self, sql: str, records: _Records, term: str, counted: int) -> NDArray[np.int64]:
        """The postings that a statement lists of a term, after the first records."""
        ((found,),) = self._database.query(sql, (term, _last(records.ids[:counted]), _last(records.ids)))
        return np.array(orjson.loads(found), np.int64)


def _last(ids: NDArray[np.int64]) -> int:
    return int(ids[-1]) if len(ids) else -1


def _of_lengths(ids: NDArray[np.int64], lengths: NDArray[np.int64], words: Mapping[str, _Word]) -> _Records:
    """Records with these lengths, and words of some of them; others may go on with fewer records."""
    mean = lengths.sum() / max(1, len(lengths))
    norms = _K1 * (1.0 - _B + _B * lengths / max(mean, 1.0))
    return _Records(ids, lengths, norms, dict(words), {})


def _places_in(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where these numbers are; behind the last for one that is not there: another process has changed it just now."""
    at = np.searchsorted(ids, wanted)
    return np.where(ids.take(at, mode="clip") == wanted, at, len(ids)) if len(ids) else at


def _sums(sizes: bytes) -> NDArray[np.int64]:
    """The sums of each three numbers of FTS5's, those of a record: 7 bits in an octet, the highest ones first."""
    octets = np.frombuffer(sizes, np.uint8)
    (ends,) = (octets < 128).nonzero()
    values = octets.take(ends).astype(np.int64)
    (higher,) = (octets >= 128).nonzero()  # of few numbers
    of = np.searchsorted(ends, higher)
    np.add.at(values, of, (octets[higher] & 127).astype(np.int64) << 7 * (ends[of] - higher))
    return np.asarray(values.reshape(-1, 3).sum(axis=1))
