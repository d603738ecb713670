"""Garbage collection in small steps: one of everything takes 50 to 250 ms, in which no key is read."""

from __future__ import annotations

import gc

from sb.base.sources import Clock

ENOUGH = 2  # smaller collections since the last one, as the interpreter counts by itself: some 14 000 objects
AWAY_S = 5.0  # without a key, after which hardly anybody notices a collection of everything
MANY = 200_000  # objects that have lived on since the last collection of everything; some 60 MB
_NEVER = 1_000_000


class Garbage:
    """Collects at each key among what is new since the last time, which takes 1 to 8 ms."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun = False
        self._typed_at = clock.monotonic()
        self._frozen = 0  # after the last collection of everything

    def begin(self) -> None:
        """Leave alone what was imported, and let the interpreter do only the small collections by itself."""
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], _NEVER)
        gc.enable()
        self._begun, self._frozen = True, gc.get_freeze_count()

    def typed(self) -> None:
        """A key was pressed."""
        self._typed_at = self._clock.monotonic()
        self._collect_new()

    def tick(self) -> None:
        """Collect; everything, if there is much and nobody types."""
        away = self._clock.monotonic() - self._typed_at >= AWAY_S
        if self._begun and away and gc.get_freeze_count() >= self._frozen + MANY:
            gc.unfreeze()  # what lived on then may be garbage now
            gc.collect()
            gc.freeze()
            self._frozen = gc.get_freeze_count()
        self._collect_new()

    def _collect_new(self) -> None:
        if self._begun and gc.get_count()[2] >= ENOUGH:
            gc.collect()
            gc.freeze()
