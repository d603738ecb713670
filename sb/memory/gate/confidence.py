"""Confidence as a Beta distribution: c = alpha / n, where n (`evidence_n`) = alpha + beta.

Source: the memory whitepaper, "confidence: bayesian". Brier score: Brier, "Verification of forecasts expressed in terms of
probability", Monthly Weather Review 78 (1950).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sb.memory.trust.scores import USER
from sb.protocols.types.brain import Fields
from sb.store.records.columns import Row

ENOUGH = 10  # outcomes of a category before a confidence is proposed for it


class Beta(NamedTuple):
    """A belief about how reliable a memory is.

    Args:
        alpha, beta: what speaks for and against it, in observations.
    """

    alpha: float
    beta: float

    @classmethod
    def of(cls, row: Row) -> Beta:
        """The distribution of a record that has a confidence."""
        confidence, n = row["confidence"], row["evidence_n"]
        return cls(confidence * n, (1.0 - confidence) * n)

    @property
    def mean(self) -> float:
        n = self.alpha + self.beta
        return self.alpha / n if n else 0.5

    def supported(self, weight: float = 1.0) -> Beta:
        """After so much evidence for it."""
        return self._replace(alpha=self.alpha + weight)

    def refuted(self, weight: float = 1.0) -> Beta:
        """After so much evidence against it."""
        return self._replace(beta=self.beta + weight)

    def columns(self) -> Mapping[str, Any]:
        """The columns of a record that say it."""
        return {"confidence": self.mean, "evidence_n": self.alpha + self.beta}


def first(source_type: str, confidence: float) -> Fields:
    """Returns the confidence and `evidence_n` of a new memory for which nobody gave either: Beta(3, 1) from a user.

    Args:
        confidence: of its category.
    """
    if source_type != USER:
        return {"confidence": confidence}
    belief = Beta(3.0, 1.0)
    return {"confidence": belief.mean, "evidence_n": belief.alpha + belief.beta}


class Calibration(NamedTuple):
    """Calibration of one category: confidence against outcomes.

    Args:
        outcomes: how many there are. confirmed: the share that proved right, from 0 to 1.
        mean: the mean confidence before. brier: see `brier`.
        proposed: the confidence that new memories of the category should have; None with too few outcomes.
    """

    category: str
    outcomes: int
    confirmed: float
    mean: float
    brier: float
    proposed: float | None


def calibrations(outcomes: Iterable[tuple[str, float, bool]]) -> list[Calibration]:
    """Compares confidence with outcomes by category, in alphabetical order.

    Proposed is the mean of Beta(1 + confirmed, 1 + refuted), from `ENOUGH` outcomes on.

    Args:
        outcomes: category, the confidence before, and whether it proved right.
    """
    by_category: dict[str, list[tuple[float, bool]]] = {}
    for category, confidence, good in outcomes:
        by_category.setdefault(category, []).append((confidence, good))
    found = []
    for category, pairs in sorted(by_category.items()):
        number, confirmed = len(pairs), sum(right for _, right in pairs)
        mean = sum(confidence for confidence, _ in pairs) / number
        proposed = round((confirmed + 1) / (number + 2), 2) if number >= ENOUGH else None
        score = brier(pairs)
        assert score is not None  # there is a pair
        found.append(Calibration(category, number, confirmed / number, mean, score, proposed))
    return found


def brier(outcomes: Iterable[tuple[float, bool]]) -> float | None:
    """Returns the mean squared difference of confidence and outcome, 0 for a perfect forecast; None without outcomes."""
    squares = [(confidence - good) ** 2 for confidence, good in outcomes]
    return sum(squares) / len(squares) if squares else None
