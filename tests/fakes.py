"""A clock and ids that a test steers."""

from __future__ import annotations

import itertools


class FakeClock:
    """A clock that only moves when told, or when somebody sleeps."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


class CountingIds:
    """Ids that count, and a random number that never changes."""

    def __init__(self) -> None:
        self._next = itertools.count(1)

    def token(self, size: int) -> str:
        return f"{next(self._next):0{size * 2}x}"

    def random(self) -> float:
        return 0.5
