"""Count the query's terms in candidates and in the records before them, exactly and by similarity."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sb.base.values.numeric import np
from sb.memory.ranking.candidate import Candidates
from sb.memory.ranking.encoding import ASKING
from sb.memory.ranking.lexicon import Array, Lexicon, Read
from sb.memory.ranking.questions import Query
from sb.memory.ranking.statistics import Statistics, idf
from sb.memory.ranking.terms import MOST_TERMS, stem

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 30  # words; two blocks that follow each other are a passage
_SHORT = 100  # words of a text with the two before it: up to here all of it counts as one thing said


class Counted:
    """The candidates of a question, as arrays.

    Those about texts have a row for each distinct text: `exact` how often a stem occurs, `asking` and `telling`
    how alike the most similar word is, in the sentences that ask and in the others; their columns are the question's
    terms. `heads` are the first numbers of `encoding`. `length` counts words, `timed` and `addressing` those that tell a time or mean the listener, `focus` says how near the words that are no stop words are to the question's on
    average, and `same_question` how near those of the sentences that ask. `passages` says what of the question the best
    passage of a text has, in written rows and in spoken ones.

    `own`, `before` and `before2` say which text each candidate has, and which were before it. `worth` has a row for
    each candidate: what each term is worth of the whole question. `short` is 1 for candidates in a talk of short texts,
    and the nearer to 0 the longer its text and the two before it are.
    """

    def __init__(
        self,
        query: Query,
        candidates: Candidates,
        statistics: Statistics,
        lexicon: Lexicon,
        read: Read,
    ) -> None:
        self.query = query
        self.rows, self.similarity = candidates.rows, candidates.similarity
        self.mean_window = max(statistics.mean_window, 1.0)
        self.mean_length = max(statistics.mean_length, 1.0)
        self.mean_information = statistics.mean_information
        self.spoken = self.rows.columns["speaker"] > 0
        self.computed: dict[str, NDArray[np.float64]] = {}  # features that others are made of
        with lexicon.lock:
            lexicon.trim()
            self._read(lexicon, read)
            terms = self._weigh(query, statistics)
            self._count(np.array(lexicon.numbers(terms), np.intp), lexicon)

    def _read(self, lexicon: Lexicon, read: Read) -> None:
        """Lay all distinct texts out as one row of words, given by their numbers in the lexicon.

        Part 2 x number of a text is what asks, the next what tells; text 0 is the empty one. In place of the text's first
        number the empty word stands, and one more at the end of all, so that every part begins within the row.
        """
        window = self.rows.columns["texts"].ravel()
        self._words, starts, self.heads, places = lexicon.laid(self.rows.texts, window, read)
        self.own, self.before, self.before2 = places.reshape(-1, 3).T.copy()
        end = len(self._words) - 1
        sizes = _sizes(starts, end)
        self._starts = np.empty(2 * len(starts), np.intp)
        self._starts[::2] = starts
        self._starts[1::2] = starts + 1 + (self.heads & ASKING)
        (self._empty,) = (_sizes(self._starts, end) == 0).nonzero()
        self.length = sizes - 1
        ndarray = self.length[self.own] + self.length[self.before] + self.length[self.before2]
        self.short = np.minimum(1.0, _SHORT / np.maximum(ndarray, 1))
        # The blocks of every text, the last one of which takes the remainder.
        self._blocks_of = np.maximum(sizes // _BLOCK, 1)
        self._first_blocks = np.cumsum(self._blocks_of) - self._blocks_of
        of = np.repeat(np.arange(len(sizes)), self._blocks_of)
        self._blocks = starts[of] + _BLOCK * (np.arange(len(of)) - self._first_blocks[of])

    @cached_property
    def sessions(self) -> NDArray[np.intp]:
        """The session of each candidate, numbered from 1; 0 for none."""
        sessions = self.rows.columns["session"]
        order = sessions.argsort()
        ordered = sessions[order]
        begins = ordered != 0
        begins[1:] &= ordered[1:] != ordered[:-1]
        numbers = np.empty(len(order), np.intp)
        numbers[order] = begins.cumsum()
        return numbers

    @cached_property
    def first_of_session(self) -> NDArray[np.intp]:
        """Where each session begins when candidates are ordered by session."""
        counts = np.bincount(self.sessions, minlength=1)
        return np.asarray(np.cumsum(counts) - counts)

    def _weigh(self, query: Query, statistics: Statistics) -> list[str]:
        spoken, written = (
            {stem(term): term for term in query.terms(spoken=item)[:MOST_TERMS]} for item in (True, False)
        )
        terms = {**written, **spoken}
        rarity = np.array([idf(term, statistics) for term in terms])
        shares = [np.where([term in item for term in terms], rarity, 0.0) for item in (written, spoken)]
        shares = [share / (share.sum() or 1.0) for share in shares]
        self._worths = np.array(shares)
        self.worth = self._worths[self.spoken.astype(np.intp)]
        return list(terms.values())

    def _count(self, terms: NDArray[np.intp], lexicon: Lexicon) -> None:
        distinct = np.flatnonzero(np.bincount(self._words))
        columns = np.zeros(distinct[-1] + 1, np.intp)
        columns[distinct] = np.arange(len(distinct))
        at = columns[self._words]
        near = lexicon.similarity(terms, distinct)
        near_at = near.take(at, axis=1)
        best = self._of_parts(np.maximum, near_at).T
        self.passages = self._best_passages(near_at)
        self.asking, self.telling = best[::2], best[1::2]
        kinds = lexicon.kinds(distinct)
        marks = np.vstack([lexicon.same(terms, distinct), kinds.timed, kinds.addressing])
        counts = self._occurring(marks, at)
        self.exact, (self.timed, self.addressing) = counts[:-2].T, counts[-2:]
        nearest = near.max(axis=0, initial=0) * kinds.content
        near_words, of_words = self._of_parts(
            np.add, np.array([nearest, kinds.content], np.float32).take(at, axis=1)
        )
        self.same_question = near_words[::2] / np.maximum(of_words[::2], 1)
        self.focus = _both(near_words) / np.maximum(_both(of_words), 1)

    def _best_passages(self, near: Array) -> NDArray[np.float64]:
        blocks = np.maximum.reduceat(near, self._blocks, axis=1)
        passages = blocks.copy()
        np.maximum(blocks[:, :-1], blocks[:, 1:], out=passages[:, :-1])
        last = self._first_blocks + self._blocks_of - 1  # which no block of the same text follows
        passages[:, last] = blocks[:, last]
        return np.asarray(np.maximum.reduceat(self._worths @ passages, self._first_blocks, axis=1))

    def _of_parts(self, function: np.ufunc, values: Array) -> Array:
        """The sum or the greatest of the values of each part's words, 0 where there are none."""
        found: Array = function.reduceat(values, self._starts, axis=1)
        found[:, self._empty] = 0  # reduceat gives the next part's first value
        return found

    def _occurring(self, marks: NDArray[np.bool_], at: NDArray[np.intp]) -> Array:
        """Counts, by text, the words with each of a few rare marks."""
        marked = np.flatnonzero(marks.any(axis=0).take(at))
        rows, found = np.nonzero(marks.take(at[marked], axis=1))
        texts = (np.searchsorted(self._starts, marked[found], side="right") - 1) // 2
        shape = len(marks), len(self._starts) // 2
        counts = np.bincount(rows * shape[1] + texts, minlength=shape[0] * shape[1])
        return counts.reshape(shape).astype(np.float32)


def _sizes(starts: NDArray[np.intp], end: int) -> NDArray[np.intp]:
    """The sizes of what begins at `starts`, one after another; `np.diff` with an end takes four times as long."""
    sizes = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=sizes[:-1])
    sizes[-1] = end - starts[-1]
    return sizes


def _both(of_parts: Array) -> Array:
    return np.asarray(of_parts[::2] + of_parts[1::2])
