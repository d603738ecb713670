"""Garbage of the console is collected between keys."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from sb.screens.garbage import ENOUGH, IDLE_S, Garbage

from sb.sources import SteeredClock


class Knot:
    """Refers to itself, so that only a collection removes it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.usefixtures("thresholds")
def test_old_garbage_is_collected_once_nobody_types() -> None:
    clock = SteeredClock()
    garbage = Garbage(clock)
    garbage.begin()
    knot = Knot()
    gc.collect()  # it is old now
    alive = weakref.ref(knot)
    del knot
    for _ in range(ENOUGH + 1):
        gc.collect(1)
    garbage.typed()
    garbage.tick()
    assert alive() is not None
    clock.time += IDLE_S
    garbage.tick()
    assert alive() is None
