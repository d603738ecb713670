"""Measure the health of the memory: five scores from 0 to 100, and one level with hysteresis.

Source: the stack protocol's reference implementation, for the measures and their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sb.stack.components.component import Component
from sb.stack.health import Health
from sb.stack.storage import StackStorage

_WEIGHTS = {
    "consolidation_debt": 0.15,
    "raw_aging": 0.10,
    "identity_coherence": 0.10,
    "memory_uncertainty": 0.10,
    "epoch_staleness": 0.10,
}
LEVELS = ("calm", "aware", "elevated", "high", "critical")
_ENTER, _LEAVE = (
    (35, 55, 75, 90),
    (25, 45, 65, 80),
)  # the score from, and below, which each level above calm holds


class AnxietyComponent(Component):
    """Tells who loads the memory how it stands."""

    name = "anxiety"

    def __init__(self) -> None:
        super().__init__()
        self.current_level = LEVELS[0]
        self.dimension_scores: dict[str, float] = {}
        self.overall_score = 0.0

    def on_load(self, context: dict[str, Any]) -> None:
        if self._storage is not None:
            context["anxiety"] = self._measure(self._storage)

    def on_maintenance(self) -> dict[str, Any]:
        return self._measure(self._storage) if self._storage is not None else super().on_maintenance()

    def _measure(self, storage: StackStorage) -> dict[str, Any]:
        self.dimension_scores = scores(storage.health())
        weighted = sum(_WEIGHTS[name] * score for name, score in self.dimension_scores.items())
        self.overall_score = round(weighted / sum(_WEIGHTS.values()), 1)
        self.current_level = level(self.overall_score, self.current_level)
        return {
            "level": self.current_level,
            "dimensions": dict(self.dimension_scores),
            "overall_score": self.overall_score,
            "overall_level": self.current_level,
        }


def scores(health: Health) -> dict[str, float]:
    """Each measure, from 0 to 100."""
    n, k, months = health.unreflected, health.doubted, health.epoch_months
    aged = sum(0.3 if number < 20 else 0.7 if number <= 200 else 1.0 for number in health.raw_aged)
    sure = 1.0 if health.mean_confidence is None else health.mean_confidence
    found = {
        "consolidation_debt": _steps(n, ((3, 0, 7), (7, 21, 10), (15, 61, 4)), (93, 0.5)),
        # The implementation adds 15 for each of the first three, and so falls from 75 to 60 at the fourth.
        "raw_aging": _steps(aged, ((3, 30, 10), (7, 60, 8)), (92, 1))
        if aged
        else min(30, 3 * health.raw_waiting),
        "identity_coherence": 100 * (1 - sure),
        "memory_uncertainty": _steps(k, ((2, 0, 15), (5, 30, 15)), (75, 5)),
        "epoch_staleness": _steps(months, ((6, 0, 5), (12, 30, 6.7), (18, 70, 4)), (94, 1)),
    }
    return {name: round(min(100.0, max(0.0, score)), 1) for name, score in found.items()}


def _steps(value: float, steps: Sequence[tuple[float, float, float]], last: tuple[float, float]) -> float:
    """A line of another slope from each bound on.

    Args:
        steps: up to which value, what it starts with and what each one adds. last: the same above all bounds.
    """
    start = 0.0
    for bound, base, each in steps:
        if value <= bound:
            return base + each * (value - start)
        start = bound
    return last[0] + last[1] * (value - start)


def level(score: float, former: str) -> str:
    """The level of a score, which is left later than it was entered."""
    at = LEVELS.index(former)
    while at < len(_ENTER) and score >= _ENTER[at]:
        at += 1
    while at and score < _LEAVE[at - 1]:
        at -= 1
    return LEVELS[at]
