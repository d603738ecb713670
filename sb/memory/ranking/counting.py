"""How often, and how nearly, does each of a question's terms occur in the candidates and in what was said before them?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sb.memory.ranking.candidate import Candidate
from sb.memory.ranking.encoding import ASKING, NOTHING
from sb.memory.ranking.lexicon import EMPTY, Array, Lexicon
from sb.memory.ranking.questions import Query
from sb.memory.ranking.statistics import Statistics, idf
from sb.memory.ranking.terms import MOST_TERMS, stem, words

Read = Callable[[Sequence[int]], Iterable[str]]
"""Gives the texts of records, by their numbers."""


class Counted:
    """The candidates of a question, as arrays.

    Those about texts have a row for each distinct text: `exact` how often a stem occurs, `asking` and `telling`
    how alike the most similar word is, in the sentences that ask and in the others; their columns are the question's
    terms. `heads` are the first numbers of `encoding`. `length` counts words, `timed` and `addressing` those that tell a time or mean the listener, `focus` says how near the words that are no stop words are to the question's on
    average, and `same_question` how near those of the sentences that ask.

    `own`, `before` and `before2` say which text each candidate has, and which were before it. `worth` has a row for
    each candidate: what each term is worth of the whole question.
    """

    def __init__(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        statistics: Statistics,
        lexicon: Lexicon,
        read: Read,
    ) -> None:
        self.query = query
        self.candidates = candidates
        self.mean_window = max(statistics.mean_window, 1.0)
        self.spoken = np.array([found.speaker is not None for found in candidates], np.bool_)
        with lexicon.lock:
            lexicon.trim()
            self._read(candidates, lexicon, read)
            terms = self._weigh(query, statistics)
            self._count(np.array(lexicon.numbers(terms), np.intp), lexicon)

    def _read(self, candidates: Sequence[Candidate], lexicon: Lexicon, read: Read) -> None:
        """Lay all distinct texts out as one row of words, given by their numbers in the lexicon.

        Part 2 x number of a text is what asks, the next what tells. Text 0 is the empty one. Every part begins with
        the empty word, so that none is empty: `reduceat` could not have that.
        """
        texts: dict[bytes, int] = {NOTHING: 0}
        records = [0]
        window = []
        for found in candidates:
            row = [0, 0, 0]
            for at, (record, terms) in enumerate((found.text, *found.previous[:2])):
                row[at] = texts.setdefault(terms, len(texts))
                if row[at] == len(records):
                    records.append(record)
            window.append(row)
        self.own, self.before, self.before2 = np.array(window, np.intp).reshape(-1, 3).T
        sizes = np.array([len(terms) // 4 for terms in texts])
        starts = np.cumsum(sizes) - sizes
        stored = np.frombuffer(b"".join(texts), "<u4")
        self.heads = stored[starts].astype(np.int64)
        numbers = _numbers(stored, starts, sizes, records, lexicon, read)
        telling = starts + 1 + (self.heads & ASKING)
        self._words = np.insert(numbers, telling, EMPTY)
        shift = np.arange(len(sizes))
        self._starts = np.column_stack([starts + shift, telling + shift]).ravel()
        self.length = self._both(np.diff(np.append(self._starts, len(self._words))) - 1)

    def _weigh(self, query: Query, statistics: Statistics) -> list[str]:
        spoken, written = (
            {stem(term): term for term in query.terms(spoken=said)[:MOST_TERMS]} for said in (True, False)
        )
        terms = {**written, **spoken}
        rarity = np.array([idf(term, statistics) for term in terms])
        shares = [np.where([term in kept for term in terms], rarity, 0.0) for kept in (written, spoken)]
        shares = [share / (share.sum() or 1.0) for share in shares]
        self.worth = np.array(shares)[self.spoken.astype(np.intp)]
        return list(terms.values())

    def _count(self, terms: NDArray[np.intp], lexicon: Lexicon) -> None:
        distinct = np.flatnonzero(np.bincount(self._words))
        columns = np.zeros(distinct[-1] + 1, np.intp)
        columns[distinct] = np.arange(len(distinct))
        at = columns[self._words]
        near = lexicon.alike(terms, distinct)
        best = np.maximum.reduceat(near[:, at], self._starts, axis=1).T
        self.asking, self.telling = best[::2], best[1::2]
        exact = np.add.reduceat(lexicon.same(terms, distinct)[:, at], self._starts, axis=1).T
        self.exact = self._both(exact)
        self.timed = self._both(self._sum(lexicon.timed(distinct)[at]))
        self.addressing = self._both(self._sum(lexicon.addressing(distinct)[at]))
        content = lexicon.content(distinct)
        nearest = near.max(axis=0, initial=0) * content
        near_words, of_words = self._sum(nearest[at]), self._sum(content[at])
        self.same_question = near_words[::2] / np.maximum(of_words[::2], 1)
        self.focus = self._both(near_words) / np.maximum(self._both(of_words), 1)

    def _sum(self, values: NDArray[np.bool_] | Array) -> Array:
        return np.add.reduceat(values.astype(np.float32), self._starts)

    @staticmethod
    def _both(of_parts: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(of_parts[::2] + of_parts[1::2])


def _numbers(
    stored: NDArray[np.uint32],
    starts: NDArray[np.intp],
    sizes: NDArray[np.intp],
    records: Sequence[int],
    lexicon: Lexicon,
    read: Read,
) -> NDArray[np.intp]:
    """The numbers that the lexicon has for stored words; texts with words that it never met are read, once."""
    numbers = lexicon.known(stored.tolist())
    numbers[starts] = EMPTY
    unknown = np.flatnonzero(np.add.reduceat(numbers < 0, starts)).tolist()
    if unknown:
        for text in read([records[at] for at in unknown]):
            lexicon.numbers(words(text))
        numbers = np.maximum(lexicon.known(stored.tolist()), EMPTY)
        numbers[starts] = EMPTY
    return numbers
