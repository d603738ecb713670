"""In which order do the candidates answer the question?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sb.memory.ranking.features import FEATURES, Asked, Candidate, prepare
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
    asked = Asked(query, statistics)
    used = [(FEATURES[name], name, weight) for name, weight in weights.items() if weight or explain]
    ranked = []
    for row in prepare(candidates, asked):
        values = [feature(row, asked) for feature, _, _ in used]
        score = sum(value * weight for value, (_, _, weight) in zip(values, used, strict=True))
        shown = None
        if explain:
            shown = {name: (value, weight) for value, (_, name, weight) in zip(values, used, strict=True)}
        ranked.append(Ranked(row.candidate.id, score, shown))
    return sorted(ranked, key=lambda found: (-found.score, found.id))
