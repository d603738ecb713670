"""Reciprocal rank fusion of several result lists.

Reciprocal rank fusion: needs no weights, no statistics and no texts, and finds less than `rank`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sb.memory.ranking.candidate import Candidate
from sb.memory.ranking.rank import Ranked

FUSION_K = 60


def fuse(candidates: Sequence[Candidate], *, k: int = FUSION_K, explain: bool = False) -> list[Ranked]:
    """The candidates by the sum of 1 / (k + place) over the searches that named them, ties by id.

    Args:
        k: how much the first places are alike; at least 1.
        explain: also say what each search gave.
    """
    fused = []
    for found in candidates:
        given = {search: 1 / (k + place) for search, place in found.ranks.items()}
        shown = {search: (value, 1.0) for search, value in given.items()} if explain else None
        fused.append(Ranked(found.id, sum(given.values()), shown))
    return sorted(fused, key=lambda found: (-found.score, found.id))
