"""Timers of the console run late, and not never, where the machine stalls."""

from __future__ import annotations

import sys
from collections import Counter
from time import monotonic

import pytest
from textual.pilot import Pilot
from textual.timer import Timer

from tests.screens.conftest import SIZES, Console


def test_a_resize_is_not_lost_when_the_process_stalls_as_its_timer_starts(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings: Counter[Timer] = Counter()

    def stalling() -> float:
        """A clock by which a second passes between the first two readings of a timer that fires once."""
        timer = sys._getframe(1).f_locals.get("self")
        if not isinstance(timer, Timer) or timer._repeat != 0:
            return monotonic()
        readings[timer] += 1
        return monotonic() + (readings[timer] == 2)

    monkeypatch.setattr("textual._time.get_time", stalling)

    async def script(pilot: Pilot[None]) -> None:
        for width, height in reversed(SIZES):
            await console.resize(width, height)

    console(script)
    assert readings
