"""What is the full-text index asked for a question, so that it costs little where many records have its words?

FTS5 looks at every record that an expression matches, and counts those of each word in it. So a word that many records have
need not name one if rarer ones name enough, and a place that most records are in is looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sb.memory.ranking.statistics import Statistics
from sb.memory.ranking.terms import match_expression
from sb.memory.ranking.terms import stem as stem_of

# Records that rarer words have to name before common ones need not: of 50 000, the ten best stay the same but for 0.5 %,
# and bm25 weighs half as many; 1 000 would change 3 % of them.
_ENOUGH_NAMED = 2_000
_MANY = 10_000  # records of a place whose token costs more to count than what is found to look at
_MOST = 0.5  # of all records, which leaves more than enough of the best ones


class PlacedStatistics(Statistics, Protocol):
    """What is also known of the places in which records are."""

    def records_in(self, places: Sequence[int]) -> int:
        """How many of the records are in some places, and active."""
        ...


class WordQuery(NamedTuple):
    """What the full-text index is asked.

    Args:
        expression: matches all that has one of the words; "" if nothing can.
        first: what matches less, and together gives the same scores, which is enough where it names enough.
        placed: whether only what is active in the places matches; otherwise that has to be a condition.
    """

    expression: str
    first: tuple[str, ...] = ()
    placed: bool = True


def word_query(terms: Sequence[str], places: Sequence[int], statistics: PlacedStatistics) -> WordQuery:
    """The expressions for texts in any of the places that have any of the words, the most important of which come first."""
    if statistics.records <= _ENOUGH_NAMED:
        return WordQuery(match_expression(terms, places))
    inside = statistics.records_in(places)
    placed = inside < _MANY or inside < _MOST * statistics.records
    named = places if placed else None
    common = common_among(terms, inside, statistics)
    rare = [term for term in terms if term not in common]
    first = (match_expression(rare, named), match_expression(rare, named, beside=common)) if common else ()
    return WordQuery(match_expression(terms, named), first, placed)


def common_among(terms: Sequence[str], inside: int, statistics: Statistics) -> list[str]:
    """Those of a question's words that need not name a record by themselves, since rarer ones name enough.

    What has only words that are common is not among the best where many have a rare one.

    Args:
        inside: how many of the records may be named.
    """
    share = inside / statistics.records
    frequencies = {term: statistics.document_frequency(stem_of(term)) for term in terms}
    rarest_first = sorted(frequencies, key=lambda term: frequencies[term])
    named = 0.0
    for position, term in enumerate(rarest_first):
        if named >= _ENOUGH_NAMED:
            return rarest_first[position:]
        named += frequencies[term] * share
    return []
