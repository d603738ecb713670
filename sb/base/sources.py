"""Injected sources of time, ids and randomness.

Everything that needs them takes a `Clock` or `Ids`, so that a test moves time without sleeping and a run can
be replayed to the same bytes.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds from a fixed point, never going backwards."""
        ...

    def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def token(self, size: int) -> str:
        """`size` random bytes as lower-case hex."""
        ...

    def random(self) -> float:
        """A number in [0, 1), for jitter."""
        ...


class SystemClock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.perf_counter)
    sleep = staticmethod(time.sleep)


class SystemIds:
    random = staticmethod(random.random)

    def token(self, size: int) -> str:
        return os.urandom(size).hex()


class SteeredClock:
    """A clock that moves only when it is told to, or when somebody sleeps.

    Args:
        time: seconds since the epoch at which it stands. slept: each sleep so far, in seconds.
    """

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
    """Ids that count, and a random number that never changes.

    Args:
        first: the first id.
    """

    def __init__(self, first: int = 1) -> None:
        self._next = itertools.count(first)

    def token(self, size: int) -> str:
        return f"{next(self._next):0{size * 2}x}"

    def random(self) -> float:
        return 0.5


MICROSECONDS = 1_000_000  # in a second; stored times are whole microseconds since the epoch
SYSTEM_CLOCK = SystemClock()
SYSTEM_IDS = SystemIds()


def iso(seconds: float) -> str:
    """UTC time as ISO 8601 with milliseconds and a Z, from seconds since the epoch."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):  # a damaged record
        return f"{seconds:.0f} s after 1970"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def micros(seconds: float) -> int:
    """Whole microseconds, as times and deadlines are stored."""
    return int(seconds * MICROSECONDS)


def iso_micros(at: float) -> str:
    """A stored time, in microseconds since the epoch, as `iso` writes it."""
    return iso(at / MICROSECONDS)
