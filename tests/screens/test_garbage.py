"""Garbage of the console is collected in small steps."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from sb.screens.garbage import AWAY_S, ENOUGH, MANY, Garbage

from sb.sources import SteeredClock


class Knot:
    """Refers to itself, so that only a collection removes it."""

    def __init__(self) -> None:
        self.itself = self


def let_time_pass() -> None:
    """As many collections as the interpreter makes by itself until it is our turn."""
    for _ in range(ENOUGH):
        gc.collect(1)


@pytest.fixture
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # as before: what was collected of tests is not to be walked through after each of them


@pytest.mark.usefixtures("thresholds")
def test_new_garbage_is_collected_at_a_key_once_there_is_enough() -> None:
    garbage = Garbage(SteeredClock())
    garbage.begin()
    alive = weakref.ref(Knot())
    garbage.typed()
    assert alive() is not None
    let_time_pass()
    garbage.typed()
    assert alive() is None


@pytest.mark.usefixtures("thresholds")
def test_old_garbage_is_collected_once_there_is_much_and_nobody_types() -> None:
    clock = SteeredClock()
    garbage = Garbage(clock)
    garbage.begin()
    knot = Knot()
    let_time_pass()
    garbage.tick()  # it is old now
    alive = weakref.ref(knot)
    del knot
    much: list[list[int]] = [[] for _ in range(MANY)]
    garbage.typed()
    let_time_pass()
    garbage.tick()
    assert alive() is not None
    clock.time += AWAY_S
    garbage.tick()
    assert alive() is None
    assert len(much) == MANY
