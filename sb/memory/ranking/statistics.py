"""Collection statistics for ranking: document frequency and average length."""

from __future__ import annotations

from collections.abc import Collection
from math import log
from typing import Protocol

_RAREST = 5


class Statistics(Protocol):
    """The statistics of all readable records that ranking needs.

    Args:
        records: how many there are.
        mean_length: of a text, in words.
        mean_window: of a text with the two before it in its session, in words.
        mean_information: of the texts, see `information`.
    """

    @property
    def records(self) -> int: ...
    @property
    def mean_length(self) -> float: ...
    @property
    def mean_window(self) -> float: ...
    @property
    def mean_information(self) -> float: ...

    def document_frequency(self, stem: str) -> int:
        """In how many texts the stem occurs, the texts before them not counted."""
        ...


def idf(stem: str, statistics: Statistics) -> float:
    """Inverse document frequency as bm25 has it; a word that was never seen counts most."""
    found = min(statistics.document_frequency(stem), statistics.records)
    return log((statistics.records - found + 0.5) / (found + 0.5) + 1)


def information(stems: Collection[str], statistics: Statistics) -> float:
    """Returns how specific a text is, from 0 to about 1: the mean rarity of its five rarest words.

    Args:
        stems: of the text, without stop words; how often each occurs makes no difference.
    """
    rarest = sorted((idf(stem, statistics) for stem in set(stems)), reverse=True)[:_RAREST]
    if not rarest or statistics.records < 1:
        return 0.0
    return sum(rarest) / len(rarest) / log(statistics.records + 1)
