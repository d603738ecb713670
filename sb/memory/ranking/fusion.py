"""Reciprocal rank fusion of several result lists.

Reciprocal rank fusion: needs no weights, no statistics and no texts, and finds less than `rank`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sb.memory.ranking.rank import Ranked

FUSION_K = 60


def fuse(legs: Mapping[str, Sequence[int]], *, k: int = FUSION_K, explain: bool = False) -> list[Ranked]:
    """The records that searches named by the sum of 1 / (k + place) over these, ties by id.

    Args:
        legs: what each search named, the best first.
        k: how much the first places are alike; at least 1.
        explain: also say what each search gave.
    """
    given: dict[int, dict[str, float]] = {}
    for search, numbers in legs.items():
        for place, number in enumerate(numbers, 1):
            given.setdefault(number, {})[search] = 1 / (k + place)
    fused = [
        Ranked(
            number,
            sum(values.values()),
            {search: (value, 1.0) for search, value in values.items()} if explain else None,
        )
        for number, values in given.items()
    ]
    return sorted(fused, key=lambda found: (-found.score, found.id))
