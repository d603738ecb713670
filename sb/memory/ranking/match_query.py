"""Build the full-text MATCH expression of a query, bounded in cost.

FTS5 looks at every record that an expression matches, and counts all those that have each of its words. So where most records may be
read, places are looked at afterwards, and of many records a word that many have need not name one if rarer ones name enough. Where
few of them may be read, the words' counting is what takes time, and each is asked for once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

from sb.memory.ranking.statistics import Statistics, idf
from sb.memory.ranking.terms import match_expression
from sb.memory.ranking.terms import stem as stem_of

# Records that rare words have to name before common ones need not. Of 50 000 the ten best then stay the same but for 0.2 %.
_ENOUGH_NAMED = 180
_MANY = 10_000  # records: with fewer, asking for all at once takes as long
_MOST = 0.5  # of all records, which leaves more than enough of the best ones
_SPARE = 3  # of the records that are elsewhere, as a share of what is wanted: so many more of the best are looked at


class PlacedStatistics(Statistics, Protocol):
    """Statistics that also know the places of records."""

    def records_in(self, places: Sequence[int]) -> int:
        """Counts the active records in some places."""
        ...


class WordQuery(NamedTuple):
    """A query of the full-text index.

    Args:
        expression: matches all that has one of the words; "" if nothing can.
        first: what matches less, and together gives the same scores, which is enough where it names enough.
        placed: whether only what is active in the places matches; otherwise that has to be a condition.
        spare: how many times as many as are wanted have to be looked at, since not all may be in the places.
    """

    expression: str
    first: tuple[str, ...] = ()
    placed: bool = True
    spare: float = 1.0


def word_query(terms: Sequence[str], places: Sequence[int], statistics: PlacedStatistics) -> WordQuery:
    """The expressions for texts in any of the places with any of the words, the most important words first."""
    inside = statistics.records_in(places)
    if inside < _MOST * statistics.records:
        return WordQuery(match_expression(terms, places))
    spare = 1.0 + _SPARE * max(0.0, 1.0 - inside / max(1, statistics.records))
    common = common_among(terms, inside, statistics) if inside >= _MANY else ()
    rare = [term for term in terms if term not in common]
    first = (match_expression(rare, None), match_expression(rare, None, beside=common)) if common else ()
    return WordQuery(match_expression(terms, None), first, placed=False, spare=spare)


def common_among(terms: Sequence[str], inside: int, statistics: Statistics) -> list[str]:
    """Returns the terms that are too common to name a record by themselves.

    All of them together weigh no more than one of the rarer words that name enough: what has only common words is not among the best,
    as if each word counted fully where it stands (MaxScore: Turtle and Flood, 1995, "Query evaluation: strategies and optimizations").

    Args:
        inside: how many of the records may be named.
    """
    share = inside / statistics.records
    weights = {term: idf(stem_of(term), statistics) for term in terms}
    rarest_first = sorted(weights, key=lambda term: -weights[term])
    named = 0.0
    for position, term in enumerate(rarest_first, 1):
        named += statistics.document_frequency(stem_of(term)) * share
        if named >= _ENOUGH_NAMED:
            return _lighter(rarest_first[position:], weights, weights[term])
    return []


def _lighter(rarest_first: list[str], weights: Mapping[str, float], most: float) -> list[str]:
    """The last of some words, as many as weigh no more together."""
    weighed = accumulate(weights[term] for term in reversed(rarest_first))
    many = sum(weight <= most for weight in weighed)
    return rarest_first[len(rarest_first) - many :]
