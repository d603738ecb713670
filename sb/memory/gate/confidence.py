"""Confidence as a Beta distribution: c = alpha / n, where n (`evidence_n`) = alpha + beta.

Source: the memory whitepaper, "confidence: bayesian". Brier score: Brier, "Verification of forecasts expressed in terms of
probability", Monthly Weather Review 78 (1950).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sb.store.records.columns import Row

USER = "user-written"


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


def first(source_type: str, confidence: float) -> Mapping[str, float]:
    """Returns the confidence and `evidence_n` of a new memory for which nobody gave either: Beta(3, 1) from a user.

    Args:
        confidence: of its category.
    """
    return dict(Beta(3.0, 1.0).columns()) if source_type == USER else {"confidence": confidence}


def brier(outcomes: Iterable[tuple[float, bool]]) -> float | None:
    """Returns the mean squared difference of confidence and outcome, 0 for a perfect forecast; None without outcomes."""
    squares = [(confidence - good) ** 2 for confidence, good in outcomes]
    return sum(squares) / len(squares) if squares else None
