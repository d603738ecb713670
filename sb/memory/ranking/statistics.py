"""How rare is a word among the memories, and how long are they usually?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import log
from typing import Protocol

from sb.memory.ranking.terms import stem as stem_of

_RAREST = 5
# Records that rarer words have to name before common ones need not: of 50 000, the ten best stay the same but for 0.7 %,
# and bm25 weighs half as many; 1 000 would change 3.5 % of them.
_ENOUGH_NAMED = 2_000


class Statistics(Protocol):
    """What ranking has to know of all records that may be read.

    Args:
        records: how many there are.
        mean_window: of a text with the two before it in its session, in words.
    """

    @property
    def records(self) -> int: ...
    @property
    def mean_window(self) -> float: ...

    def document_frequency(self, stem: str) -> int:
        """In how many texts the stem occurs, the texts before them not counted."""
        ...


class PlacedStatistics(Statistics, Protocol):
    """What is also known of the places in which records are."""

    def records_in(self, places: Sequence[int]) -> int:
        """How many of the records are in some places."""
        ...


def common_among(terms: Iterable[str], places: Sequence[int], statistics: PlacedStatistics) -> list[str]:
    """Those of a question's words that need not name a record by themselves, since rarer ones name enough in these places.

    What has only words that are common is not among the best where many have a rare one.
    """
    if statistics.records <= _ENOUGH_NAMED:
        return []
    share = statistics.records_in(places) / statistics.records
    frequencies = {term: statistics.document_frequency(stem_of(term)) for term in terms}
    rarest_first = sorted(frequencies, key=lambda term: frequencies[term])
    named = 0.0
    for position, term in enumerate(rarest_first):
        if named >= _ENOUGH_NAMED:
            return rarest_first[position:]
        named += frequencies[term] * share
    return []


def idf(stem: str, statistics: Statistics) -> float:
    """Inverse document frequency as bm25 has it; a word that was never seen counts most."""
    found = min(statistics.document_frequency(stem), statistics.records)
    return log((statistics.records - found + 0.5) / (found + 0.5) + 1)


def information(stems: Collection[str], statistics: Statistics) -> float:
    """How specific a text is, from 0 to about 1: the mean rarity of its five rarest words.

    Args:
        stems: of the text, without stop words; how often each occurs makes no difference.
    """
    rarest = sorted((idf(stem, statistics) for stem in set(stems)), reverse=True)[:_RAREST]
    if not rarest or statistics.records < 1:
        return 0.0
    return sum(rarest) / len(rarest) / log(statistics.records + 1)
