"""Fits weights that put the evidence of known questions first.

They maximise the logarithm of the share of softmax mass that the evidence gets among each question's candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MOST_STEPS = 200


@dataclass(frozen=True)
class Asked:
    """The candidates of one question: a row of feature values for each, and which of them are evidence."""

    values: Array
    evidence: NDArray[np.bool_]


class _Loss:
    """Negative log of the evidence's share of softmax mass, mean over questions, with its gradient."""

    def __init__(self, questions: Sequence[Asked], l2: float) -> None:
        useful = [asked for asked in questions if asked.evidence.any()]
        self.values = np.concatenate([asked.values for asked in useful])
        self.scale = np.where(self.values.std(axis=0) > 0, self.values.std(axis=0), 1.0)
        self.values = self.values / self.scale
        self.evidence = np.concatenate([asked.evidence for asked in useful])
        lengths = [len(asked.evidence) for asked in useful]
        self._starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        self._question = np.repeat(np.arange(len(useful)), lengths)
        self._l2 = l2

    def __call__(self, weights: Array) -> tuple[float, Array]:
        scores = self.values @ weights
        scores -= np.maximum.reduceat(scores, self._starts)[self._question]
        mass = np.exp(scores)
        found = np.where(self.evidence, mass, 0.0)
        all_mass, found_mass = np.add.reduceat(mass, self._starts), np.add.reduceat(found, self._starts)
        loss = -np.mean(np.log(found_mass + 1e-300) - np.log(all_mass))
        pull = mass / all_mass[self._question] - found / (found_mass + 1e-300)[self._question]
        gradient = self.values.T @ pull / len(self._starts)
        return float(loss + self._l2 * weights @ weights / 2), gradient + self._l2 * weights


def fit(questions: Sequence[Asked], *, l2: float = 0.02) -> Array:
    """The weight of each feature, by BFGS from zero.

    Args:
        l2: how much weights are drawn to zero, on standardised features.
    """
    loss = _Loss(questions, l2)
    size = loss.values.shape[1]
    weights, inverse = np.zeros(size), np.eye(size)
    value, gradient = loss(weights)
    for _ in range(_MOST_STEPS):
        direction = -inverse @ gradient
        step = 1.0
        while True:
            moved = weights + step * direction
            new_value, new_gradient = loss(moved)
            if new_value <= value + 1e-4 * step * (gradient @ direction) or step < 1e-6:
                break
            step /= 2
        s, y = moved - weights, new_gradient - gradient
        if s @ y > 1e-12:
            turned = np.eye(size) - np.outer(s, y) / (s @ y)
            inverse = turned @ inverse @ turned.T + np.outer(s, s) / (s @ y)
        done = value - new_value < 1e-7
        weights, value, gradient = moved, new_value, new_gradient
        if done:
            break
    return weights / loss.scale
