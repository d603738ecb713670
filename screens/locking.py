"""The lock of the operator's key: by a command of the palette, or after a time without a key pressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from sb.base.sources import Clock

if TYPE_CHECKING:
    from sb.screens.state.signer import Signer

LOCK = "lock the key"
LOCK_HELP = "Forget the passphrase of the operator's key; the next decision asks for it."
NOTHING_TO_LOCK = "nothing to lock: no passphrase was given in this console"


class KeyLock:
    """Locks the operator's key.

    Args:
        minutes: without a key or a click, after which it locks by itself; 0 for never.
    """

    def __init__(self, clock: Clock, minutes: int) -> None:
        self._clock = clock
        self._after_s = 60 * minutes
        self._used_at = clock.monotonic()

    def used(self, event: events.Event) -> None:
        """Note that a person is there."""
        if isinstance(event, events.Key | events.Paste | events.MouseDown):
            self._used_at = self._clock.monotonic()

    def tick(self, signer: Signer) -> None:
        """Lock once nobody was there for long enough."""
        if self._after_s and self._clock.monotonic() - self._used_at >= self._after_s:
            signer.lock()
