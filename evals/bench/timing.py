"""Comparisons of one call with another on a machine that is never quiet.

Both are measured in turn, block by block, and the ratio is taken within each pair of blocks; its median is quoted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

Action = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """Medians in microseconds a call, and the median of the ratios."""

    name: str
    floor_name: str
    us: float
    floor_us: float
    ratio: float
    bar: float | None

    def line(self) -> str:
        verdict = (
            "" if self.bar is None else f"  bar {self.bar:g}x  {'ok' if self.ratio <= self.bar else 'OVER'}"
        )
        return (
            f"{self.name:<44} {self.us:>9.1f} us   {self.floor_name:<34} {self.floor_us:>8.1f} us"
            f"   {self.ratio:>5.2f}x{verdict}"
        )


def block(action: Action, calls: int) -> float:
    """Microseconds a call, over one block of calls."""
    started = time.perf_counter()
    for _ in range(calls):
        action()
    return (time.perf_counter() - started) / calls * 1e6


def compare(
    name: str,
    action: Action,
    floor_name: str,
    floor: Action,
    *,
    calls: int,
    bar: float | None,
    rounds: int = 15,
) -> Comparison:
    block(action, calls // 5 + 1)
    block(floor, calls // 5 + 1)
    pairs = [(block(action, calls), block(floor, calls)) for _ in range(rounds)]
    return Comparison(
        name,
        floor_name,
        median(pair[0] for pair in pairs),
        median(pair[1] for pair in pairs),
        median(pair[0] / pair[1] for pair in pairs),
        bar,
    )
