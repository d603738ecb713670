"""Rank candidates for a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import NamedTuple

from sb.base.values.numeric import np
from sb.memory.ranking.candidate import Candidates
from sb.memory.ranking.features import FEATURES, Values, date, match, vec
from sb.memory.ranking.lexicon import Lexicon, Read
from sb.memory.ranking.questions import Query
from sb.memory.ranking.statistics import Statistics
from sb.memory.ranking.term_counts import Counted
from sb.memory.ranking.weights import Weights

# Of `match`, `vec` and `date` together, for what shares no word with the question: of the evidence among the first five
# none had less, of what is nearest to a question about something else two thirds (docs/reference/retrieval.md).
LEAST_NEAR = 0.3


class Ranked(NamedTuple):
    """A candidate in its place.

    Args:
        id: of the record.
        score: comparable within one question only.
        features: value and weight of each feature, if an explanation was asked for; score is the sum of their products.
        restatement: the record by whose text it was found, 0 for its own.
    """

    id: int
    score: float
    features: Mapping[str, tuple[float, float]] | None = None
    restatement: int = 0


_ranked = partial(tuple.__new__, Ranked)  # as `Ranked._make`, which takes half as long again


def rank(
    query: Query,
    candidates: Candidates,
    statistics: Statistics,
    weights: Weights,
    lexicon: Lexicon,
    read: Read,
    *,
    explain: bool = False,
) -> list[Ranked]:
    """The candidates by the weighted sum of their features, the best first, ties by id.

    What searches named, but not the one for words, is left out unless it is near: something always is the nearest.

    Args:
        lexicon: what is known of words; keep one for all questions, it learns.
        read: gives the texts of records whose words it has not met.
        explain: also say what each feature gave.

    Raises:
        KeyError: a weight is that of no feature.
    """
    ids = candidates.rows.ids
    if not len(ids):
        return []
    names = weights.every if explain else weights.features
    counted = Counted(query, candidates, statistics, lexicon, read)
    near = match(counted) + vec(counted) + date(counted) >= LEAST_NEAR
    values = feature_values(counted, names)
    applied = shares(counted) @ (weights.table_of(names) if explain else weights.table)
    scores = (
        (values * applied).T.copy().sum(axis=0)
    )  # one after another: features of weight 0 change no digit
    by_score = np.lexsort((ids, -scores))
    order = by_score[(near | candidates.by_words)[by_score]]
    listed = zip(ids[order].tolist(), scores[order].tolist(), repeat(None), repeat(0), strict=False)
    found = list(map(_ranked, listed))
    if not explain:
        return found
    explained = (
        zip(*both, strict=True) for both in zip(values[order].tolist(), applied[order].tolist(), strict=True)
    )
    return [
        ranked._replace(features=dict(zip(names, parts, strict=True)))
        for ranked, parts in zip(found, explained, strict=True)
    ]


def feature_values(counted: Counted, names: Sequence[str]) -> Values:
    """The features as columns, the candidates as rows."""
    return np.array([FEATURES[name](counted) for name in names], np.float64).reshape(len(names), -1).T


def shares(counted: Counted) -> Values:
    """The share of each weight's column for each candidate; 1 in all."""
    short, spoken = counted.short, counted.spoken
    return np.column_stack([spoken * short, spoken * (1 - short), ~spoken])
