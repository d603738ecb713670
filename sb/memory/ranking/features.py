"""What speaks for a candidate, each as one plain number?

Every feature is 0 where it does not apply, and none is far above 1, so that a weight says what a feature is worth. All
candidates are counted and measured at once, as arrays: a question has some 180 of them, with as many texts before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sb.memory.ranking.questions import Query
from sb.memory.ranking.statistics import Statistics, idf
from sb.memory.ranking.terms import ASKS, NOTHING, TIMED, stem, term_number

Values: TypeAlias = NDArray[np.float64]

_SHARES = (1.0, 0.4, 0.3)  # of a text and of the two before it


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that the index or the vectors named.

    Args:
        id: of the record.
        terms: its text as `terms.encoded` gives it.
        previous: the same of the one or two records before it in its session, the nearest first.
        speaker: who said it, None if nobody did.
        session: in which it was made, None if in none.
        happened_at: seconds since 1970, None if unknown.
        information: of the text, see `statistics.information`.
        similarity: cosine of its vector with the question's, None without vectors.
        ranks: its place, from 1, in each of the searches that named it.
    """

    id: int
    terms: bytes
    previous: Sequence[bytes] = ()
    speaker: str | None = None
    session: int | str | None = None
    happened_at: float | None = None
    information: float = 0.0
    similarity: float | None = None
    ranks: dict[str, int] = field(default_factory=dict)


class Asked:
    """A question, with what each of its terms is worth among all that there is; the worths of all terms add up to 1.

    A question has terms for rows that carry a speaker and for rows that don't: see `Query.terms`.
    """

    def __init__(self, query: Query, statistics: Statistics) -> None:
        self.query = query
        self.mean_length = max(statistics.mean_length, 1.0)
        self.mean_window = max(statistics.mean_window, 1.0)
        rarity = {
            term: idf(term, statistics)
            for term in map(stem, (*query.terms(spoken=False), *query.terms(spoken=True)))
        }
        self.numbers = np.array(sorted({term_number(term) for term in rarity}), np.uint32)
        self.worth_spoken = self._shares(query.terms(spoken=True), rarity)
        self.worth_written = self._shares(query.terms(spoken=False), rarity)

    def _shares(self, wanted: Iterable[str], rarity: dict[str, float]) -> Values:
        shares = np.zeros(len(self.numbers))
        for term in {stem(word) for word in wanted}:
            shares[np.searchsorted(self.numbers, term_number(term))] = rarity[term]
        total = shares.sum()
        return shares / total if total else shares


class Counted:
    """How often each of the question's terms stands in each candidate and in the texts before it.

    Args:
        own, before, earlier: for each candidate its own row in `counts`, `lengths` and `flags`, and those of the two
            texts before it; row 0 is that of no text.
    """

    def __init__(self, candidates: Sequence[Candidate], asked: Asked) -> None:
        self.candidates = candidates
        rows: dict[bytes, int] = {NOTHING: 0}
        texts = [(one.terms, *one.previous, NOTHING, NOTHING)[:3] for one in candidates]
        numbered = [[rows.setdefault(text, len(rows)) for text in three] for three in texts]
        self.own, self.before, self.earlier = np.array(numbered, np.intp).reshape(-1, 3).T
        self.spoken = np.array([one.speaker is not None for one in candidates], bool)
        sizes = np.array([len(text) // 4 for text in rows])
        stored = np.frombuffer(b"".join(rows), "<u4")
        starts = np.cumsum(sizes) - sizes
        self.flags = stored[starts]
        self.lengths = sizes - 1
        self.counts = _counts(stored, starts, sizes, asked.numbers)
        self.worth = np.where(self.spoken[:, None], asked.worth_spoken, asked.worth_written)
        self.lex = self._lex(asked)

    def _lex(self, asked: Asked) -> Values:
        windows = (self.own, self.before, self.earlier)
        found = np.zeros((len(self.own), self.counts.shape[1]))
        for share, rows in zip(_SHARES, windows, strict=True):
            found += share * self.counts[rows]
        length = self.lengths[self.own] + self.lengths[self.before] + self.lengths[self.earlier]
        return saturated(found, self.worth, 1.2, 0.25 + 0.75 * length / asked.mean_window)

    def text_before(self, asked: Asked) -> Values:
        """How well the text before matches by itself."""
        length = 0.6 + 0.4 * self.lengths[self.before] / asked.mean_length
        return saturated(self.counts[self.before], self.worth, 0.9, length)

    @property
    def answering(self) -> NDArray[np.bool_]:
        """Whether somebody speaks after a text that asks."""
        return np.asarray(self.spoken & (self.before > 0) & (self.flags[self.before] & ASKS > 0), bool)

    @property
    def following(self) -> NDArray[np.bool_]:
        """Whether somebody speaks after a text that tells."""
        return np.asarray(self.spoken & (self.before > 0) & (self.flags[self.before] & ASKS == 0), bool)


def _counts(
    stored: NDArray[np.uint32], starts: NDArray[np.intp], sizes: NDArray[np.intp], terms: NDArray[np.uint32]
) -> Values:
    """How often each term stands in each text: a row for each text, a column for each term."""
    if not len(terms):
        return np.zeros((len(sizes), 0))
    places = np.searchsorted(terms, stored)
    places[places == len(terms)] = 0
    hits = terms[places] == stored
    hits[starts] = False  # flags, no term
    texts = np.repeat(np.arange(len(sizes)), sizes)[hits]
    flat = np.bincount(texts * len(terms) + places[hits], minlength=len(sizes) * len(terms))
    return flat.reshape(len(sizes), len(terms)).astype(float)


def saturated(counts: Values, worth: Values, k1: float, length: Values) -> Values:
    """The sum of bm25, as a share of what the question could reach at most.

    Args:
        length: what k1 is multiplied by: above 1 for long texts.
    """
    result: Values = (worth * counts * (k1 + 1) / (counts + k1 * length[:, None])).sum(axis=1)
    return result


def lex(counted: Counted, asked: Asked) -> Values:
    """How many of the question's words stand in the text or, for less, in the two before it; the rare ones count more."""
    return counted.lex


def answers(counted: Counted, asked: Asked) -> Values:
    """How well the text before matches, if that one asks: whoever speaks next, answers."""
    return np.where(counted.answering, counted.text_before(asked), 0.0)


def after_statement(counted: Counted, asked: Asked) -> Values:
    """How well the text before matches, if that one tells: then it is the one to find, not what was said to it."""
    return np.where(counted.following, counted.text_before(asked), 0.0)


def session3(counted: Counted, asked: Asked) -> Values:
    """The three best `lex` of the record's session: where much is about the matter, this probably is."""
    sessions: dict[int | str, list[float]] = {}
    for one, value in zip(counted.candidates, counted.lex.tolist(), strict=True):
        if one.session is not None:
            sessions.setdefault(one.session, []).append(value)
    best = {session: sum(sorted(found)[-3:]) for session, found in sessions.items()}
    return np.array([0.0 if one.session is None else best[one.session] for one in counted.candidates])


def speaker(counted: Counted, asked: Asked) -> Values:
    """Whether the question names one known speaker, and this is theirs."""
    named = asked.query.speakers if len(asked.query.speakers) == 1 else ()
    return np.array([float(one.speaker in named) for one in counted.candidates])


def date(counted: Counted, asked: Asked) -> Values:
    """How far the day agrees with one that the question names: 1 for the month, 1 for the day of it, 0.3 for the year."""
    query = asked.query
    if not (query.days or query.years):
        return np.zeros(len(counted.candidates))
    return np.array([_dated(one.happened_at, query) for one in counted.candidates])


def _dated(happened: float | None, query: Query) -> float:
    if happened is None:
        return 0.0
    day = datetime.fromtimestamp(happened, UTC)
    months = [number for month, number in query.days if month == day.month]
    return len(months) + (day.day in months) + 0.3 * (day.year in query.years)


def when(counted: Counted, asked: Asked) -> Values:
    """Whether the question asks for a time, and the text holds one."""
    return np.where(counted.flags[counted.own] & TIMED > 0, float(asked.query.when), 0.0)


def information(counted: Counted, asked: Asked) -> Values:
    """How specific the text is, whatever was asked."""
    return np.array([one.information for one in counted.candidates])


def vec(counted: Counted, asked: Asked) -> Values:
    """Cosine of the text's vector with the question's."""
    return np.array([one.similarity or 0.0 for one in counted.candidates])


Feature = Callable[[Counted, Asked], Values]

FEATURES: dict[str, Feature] = {
    feature.__name__: feature
    for feature in (lex, vec, session3, information, answers, after_statement, speaker, date, when)
}
