"""In which order do the candidates answer the question?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sb.memory.ranking.features import FEATURES, Asked, Candidate, Counted
from sb.memory.ranking.questions import Query
from sb.memory.ranking.statistics import Statistics
from sb.memory.ranking.weights import Weights


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place.

    Args:
        id: of the record.
        score: comparable within one question only.
        features: value and weight of each feature, if an explanation was asked for; score is the sum of their products.
    """

    id: int
    score: float
    features: Mapping[str, tuple[float, float]] | None = None


def rank(
    query: Query,
    candidates: Sequence[Candidate],
    statistics: Statistics,
    weights: Weights,
    *,
    explain: bool = False,
) -> list[Ranked]:
    """The candidates by the weighted sum of their features, the best first, ties by id.

    Args:
        weights: of features by name; what is not there counts 0.
        explain: also say what each feature gave.

    Raises:
        KeyError: a weight is that of no feature.
    """
    if not candidates:
        return []
    asked = Asked(query, statistics)
    counted = Counted(candidates, asked)
    used = {name: weight for name, weight in weights.items() if weight or explain}
    values = {name: FEATURES[name](counted, asked) for name in used}
    scores = sum(weight * values[name] for name, weight in used.items()) + np.zeros(len(candidates))
    ranked = [
        Ranked(
            found.id,
            score,
            {name: (float(values[name][row]), weight) for name, weight in used.items()} if explain else None,
        )
        for row, (found, score) in enumerate(zip(candidates, scores.tolist(), strict=True))
    ]
    return sorted(ranked, key=lambda found: (-found.score, found.id))
