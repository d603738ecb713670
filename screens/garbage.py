"""Garbage collection between keys: a full one takes 20 to 90 ms, in which no key is read."""

from __future__ import annotations

import gc

from sb.sources import Clock

IDLE_S = 1.0  # without a key, after which nobody is likely to press the next one at once
LATEST_S = 20.0  # between two collections, however much is typed
ENOUGH = 10  # smaller collections since the last full one, as the interpreter counts by itself
_NEVER = 1_000_000


class Garbage:
    """Collects while nobody types."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun = False
        self._typed_at = self._collected_at = clock.monotonic()

    def begin(self) -> None:
        """Leave alone what was imported, and let the interpreter do only the small collections by itself."""
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], _NEVER)
        gc.enable()
        self._begun = True

    def typed(self) -> None:
        """A key was pressed."""
        self._typed_at = self._clock.monotonic()

    def tick(self) -> None:
        """Collect, if there is enough of it and nobody types."""
        now = self._clock.monotonic()
        due = now - self._typed_at >= IDLE_S or now - self._collected_at >= LATEST_S
        if self._begun and due and gc.get_count()[2] >= ENOUGH:
            gc.collect()
            self._collected_at = now
