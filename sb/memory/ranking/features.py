"""What speaks for a candidate, each as one plain number?

Every feature is 0 where it does not apply, and none is far above 1, so that a weight says what a feature is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sb.memory.ranking.questions import Query
from sb.memory.ranking.statistics import Statistics, idf
from sb.memory.ranking.terms import asks, stem, timed, words


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that the index or the vectors named.

    Args:
        id: of the record.
        text: what is searchable of it.
        previous: the texts of the one or two records before it in its session, the nearest first.
        speaker: who said it, None if nobody did.
        session: in which it was made, None if in none.
        happened_at: seconds since 1970, None if unknown.
        information: of the text, see `statistics.information`.
        similarity: cosine of its vector with the question's, None without vectors.
        ranks: its place, from 1, in each of the searches that named it.
    """

    id: int
    text: str
    previous: Sequence[str] = ()
    speaker: str | None = None
    session: int | str | None = None
    happened_at: float | None = None
    information: float = 0.0
    similarity: float | None = None
    ranks: dict[str, int] = field(default_factory=dict)


class Counted:
    """The question's terms in a text: `hits` has the number of a term each time it occurs, `length` counts all words."""

    __slots__ = ("asks", "hits", "length")

    def __init__(self, text: str, numbers: dict[str, int]) -> None:
        found = words(text)
        self.hits = [number for number in map(numbers.get, map(stem, found)) if number is not None]
        self.length = len(found)
        self.asks = asks(text)


class Row:
    """A candidate with what was counted in it."""

    __slots__ = ("candidate", "lex", "previous", "session3", "spoken", "text")

    def __init__(self, candidate: Candidate, text: Counted, previous: list[Counted]) -> None:
        self.candidate = candidate
        self.text = text
        self.previous = previous
        self.spoken = candidate.speaker is not None
        self.lex = 0.0
        self.session3 = 0.0


class Asked:
    """A question, with what each of its terms is worth among all that there is; the worths of all terms add up to 1.

    A question has terms for rows that carry a speaker and for rows that don't: see `Query.terms`.
    """

    __slots__ = ("mean_length", "mean_window", "numbers", "query", "worth_spoken", "worth_written")

    def __init__(self, query: Query, statistics: Statistics) -> None:
        self.query = query
        self.mean_length = max(statistics.mean_length, 1.0)
        self.mean_window = max(statistics.mean_window, 1.0)
        self.numbers: dict[str, int] = {}
        rarity: dict[int, float] = {}
        for word in (*query.terms(spoken=False), *query.terms(spoken=True)):
            term = stem(word)
            number = self.numbers.setdefault(term, len(self.numbers))
            if number not in rarity:
                rarity[number] = idf(term, statistics)
        self.worth_spoken = self._shares(query.terms(spoken=True), rarity)
        self.worth_written = self._shares(query.terms(spoken=False), rarity)

    def worth(self, row: Row) -> list[float]:
        return self.worth_spoken if row.spoken else self.worth_written

    def _shares(self, wanted: Iterable[str], rarity: dict[int, float]) -> list[float]:
        kept = {self.numbers[stem(word)] for word in wanted}
        total = sum(rarity[number] for number in kept) or 1.0
        return [rarity[number] / total if number in kept else 0.0 for number in range(len(self.numbers))]


def _saturated(counts: dict[int, float], worth: list[float], k1: float, length: float) -> float:
    """The sum of bm25, as a share of what the question could reach at most.

    Args:
        length: what k1 is multiplied by: above 1 for long texts.
    """
    return sum(worth[number] * count * (k1 + 1) / (count + k1 * length) for number, count in counts.items())


_SHARES = (1.0, 0.4, 0.3)


def lex(row: Row, asked: Asked) -> float:
    """How many of the question's words stand in the text or, for less, in the two before it; the rare ones count more."""
    counts: dict[int, float] = {}
    window = 0
    for share, text in zip(_SHARES, (row.text, *row.previous), strict=False):
        window += text.length
        for number in text.hits:
            counts[number] = counts.get(number, 0.0) + share
    if not counts:
        return 0.0
    return _saturated(counts, asked.worth(row), 1.2, 0.25 + 0.75 * window / asked.mean_window)


def _alone(text: Counted, worth: list[float], asked: Asked) -> float:
    counts: dict[int, float] = {}
    for number in text.hits:
        counts[number] = counts.get(number, 0.0) + 1
    return _saturated(counts, worth, 0.9, 0.6 + 0.4 * text.length / asked.mean_length) if counts else 0.0


def answers(row: Row, asked: Asked) -> float:
    """How well the text before matches, if that one asks: whoever speaks next, answers."""
    if not (row.spoken and row.previous and row.previous[0].asks):
        return 0.0
    return _alone(row.previous[0], asked.worth_spoken, asked)


def after_statement(row: Row, asked: Asked) -> float:
    """How well the text before matches, if that one tells: then it is the one to find, not what was said to it."""
    if not (row.spoken and row.previous) or row.previous[0].asks:
        return 0.0
    return _alone(row.previous[0], asked.worth_spoken, asked)


def session3(row: Row, asked: Asked) -> float:
    """The three best `lex` of the row's session: where much is about the matter, this probably is."""
    return row.session3


def speaker(row: Row, asked: Asked) -> float:
    """Whether the question names one known speaker, and this is theirs."""
    return float(len(asked.query.speakers) == 1 and row.candidate.speaker in asked.query.speakers)


def date(row: Row, asked: Asked) -> float:
    """How far the day agrees with one that the question names: 1 for the month, 1 for the day of it, 0.3 for the year."""
    query, happened = asked.query, row.candidate.happened_at
    if happened is None or not (query.days or query.years):
        return 0.0
    day = datetime.fromtimestamp(happened, UTC)
    months = [number for month, number in query.days if month == day.month]
    return len(months) + (day.day in months) + 0.3 * (day.year in query.years)


def when(row: Row, asked: Asked) -> float:
    """Whether the question asks for a time, and the text holds one."""
    return float(asked.query.when and timed(row.candidate.text))


def information(row: Row, asked: Asked) -> float:
    """How specific the text is, whatever was asked."""
    return row.candidate.information


def vec(row: Row, asked: Asked) -> float:
    """Cosine of the text's vector with the question's."""
    return row.candidate.similarity or 0.0


Feature = Callable[[Row, Asked], float]

FEATURES: dict[str, Feature] = {
    feature.__name__: feature
    for feature in (
        lex,
        vec,
        session3,
        information,
        answers,
        after_statement,
        speaker,
        date,
        when,
    )
}


def prepare(candidates: Sequence[Candidate], asked: Asked) -> list[Row]:
    """Count the question's terms in the candidates, each text once, and what sessions have in common."""
    counted: dict[str, Counted] = {}

    def count(text: str) -> Counted:
        if text not in counted:
            counted[text] = Counted(text, asked.numbers)
        return counted[text]

    rows = [Row(found, count(found.text), [count(text) for text in found.previous]) for found in candidates]
    sessions: dict[int | str, list[float]] = {}
    for row in rows:
        row.lex = lex(row, asked)
        if row.candidate.session is not None:
            sessions.setdefault(row.candidate.session, []).append(row.lex)
    best = {session: sum(sorted(found, reverse=True)[:3]) for session, found in sessions.items()}
    for row in rows:
        row.session3 = best.get(row.candidate.session, 0.0) if row.candidate.session is not None else 0.0
    return rows
