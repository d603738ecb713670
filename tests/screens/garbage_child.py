"""Garbage collections of the console, in a process with nothing else to walk through: garbage_child new|old"""

from __future__ import annotations

import gc
import sys
import weakref

from sb.screens.garbage import AWAY_S, ENOUGH, MANY, Garbage

from sb.base.sources import SteeredClock


class Knot:
    """Refers to itself, so that only a collection removes it."""

    def __init__(self) -> None:
        self.itself = self


def let_time_pass() -> None:
    """As many collections as the interpreter makes by itself until it is our turn."""
    for _ in range(ENOUGH):
        gc.collect(1)


def new() -> None:
    garbage = Garbage(SteeredClock())
    garbage.begin()
    alive = weakref.ref(Knot())
    garbage.typed()
    assert alive() is not None
    let_time_pass()
    garbage.typed()
    assert alive() is None


def old() -> None:
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


if __name__ == "__main__":
    {"new": new, "old": old}[sys.argv[1]]()
