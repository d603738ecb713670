"""Keys one at a time: each is handled to its end before the next, so that a burst means what slow typing means."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

from sb.sources import Clock

STUCK_S = 1.0  # after which the next key no longer waits for one that is lost with its widget


class KeysInOrder(App[None]):
    """An app that hands on a key or a paste once the one before it has moved the focus or opened its dialog.

    Textual hands each key to whatever has the focus when it arrives. Of `/dx`, typed in one burst, `d` and `x` reached
    the list and not the filter that `/` opens, and of `ab<backspace>c` the `c` was deleted: letters are taken by the box,
    and the others come back to the app later (docs/decisions/console.md).

    Args:
        clock: tells how long a key has been under way.
    """

    def __init__(self, clock: Clock, **more: Any) -> None:
        super().__init__(**more)
        self._clock = clock
        self._typed: deque[events.Key | events.Paste] = deque()
        self._handed_at: float | None = None  # when the key was handed on that is under way

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._typed.append(event)
        now = self._clock.monotonic()
        if self._handed_at is None or now - self._handed_at >= STUCK_S:
            await self._hand_on()

    def drop_typed(self) -> None:
        """Forget the keys that wait: they were typed before anybody saw what is asked now."""
        self._typed.clear()

    async def _hand_on(self) -> None:
        """Hand on the next key."""
        self._handed_at = self._clock.monotonic() if self._typed else None
        if self._typed:
            target = self.focused or self.screen
            await super().on_event(self._typed.popleft())
            self._follow(target, partial(self._follow, target, self._settle))

    def _follow(self, node: MessagePump | None, then: Callable[[], object]) -> None:
        """Go on once this node and all above it have taken their messages, which each does in order.

        The first time the key itself passes on its way to the app, where its action is done; the second time what the
        action told the node, such as that a row was opened.
        """
        if node is not None and node is not self and node.call_later(self._follow, node._parent, then):
            return
        self.call_later(then)

    def _settle(self) -> None:
        """What the action asked of the app, such as to move the focus, comes before the next key."""
        self.call_later(self._hand_on)
