"""Keys one at a time: each is handled to its end before the next, so that a burst means what slow typing means."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sb.screens.actions import ACTIONS, ASKING_KEYS, Action
from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from sb.base.sources import Clock

STUCK_S = 1.0  # after which the next key no longer waits for one that is lost with its widget
DROPPED = "what you typed with that key was dropped: it opened no dialog"
BURST_S = 0.4  # between two keys of a burst at most: a person who looks at the answer takes longer
LOOK_AGAIN_S, MOST_LOOKS = 0.02, 50  # while a decision is made: a key waits a second for it at most


class KeysInOrder(App[None]):
    """An app that hands on a key or a paste once the one before it has moved the focus or opened its dialog.

    Textual hands each key to whatever has the focus when it arrives. Of `/dx`, typed in one burst, `d` and `x` reached
    the list and not the filter that `/` opens, and of `ab<backspace>c` the `c` was deleted: letters are taken by the box,
    and the others come back to the app later (docs/decisions/console.md).

    A key that asks for a decision may open nothing, such as where there is nothing to approve. What is typed with it
    then is its reason, and no command: the rest of that burst is dropped.

    Args:
        clock: tells how long a key has been under way.
    """

    def __init__(self, clock: Clock, **more: Any) -> None:
        super().__init__(**more)
        self._clock = clock
        self._burst_at: float | None = None  # of the newest key of a burst for which no dialog is there
        self._dropping = False  # whether a part of that burst was dropped
        self._typed: deque[events.Key | events.Paste] = deque()
        self._handed_at: float | None = None  # when the key was handed on that is under way
        self._looks = 0  # in vain, whether the next key may be handed on

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

    def say_dropped(self) -> None:
        """Say, once for a burst, that text of it was dropped."""
        if not self._dropping:
            self.notify(DROPPED, timeout=3)
        self._dropping = True

    def answer_idle(self, event: events.Key, available: Sequence[Action]) -> None:
        """Answer a key that does something elsewhere alone, so that nobody takes it for done."""
        meant = [action for action in ACTIONS if event.key in action.keys.split(",")]
        if meant and not set(meant) & set(available) and not isinstance(self.focused, Input):
            key = f"{meant[0].shown_keys.split()[0]} ({meant[0].label})"
            self.notify(f"{key} does nothing here: ? shows the keys", timeout=3)

    def _drops(self, event: events.Key | events.Paste) -> bool:
        """True for text that was typed in one burst with a key that opened nothing; says so once."""
        if isinstance(self.screen, ModalScreen):
            on_the_way = self._burst_at is not None and getattr(self.screen, "holds_keys", False)
            self._burst_at = event.time if on_the_way else None
            return False
        before, self._burst_at = self._burst_at, None
        is_text = isinstance(event, events.Paste) or event.is_printable or event.key in ("enter", "backspace")
        typing = isinstance(self.focused, Input)
        if before is not None and is_text and not typing and event.time - before < BURST_S:
            self._burst_at = event.time
            self.say_dropped()
            return True
        self._dropping = False
        if isinstance(event, events.Key) and event.key in (*ASKING_KEYS, "slash") and not typing:
            self._burst_at = event.time
        return False

    def decides(self) -> bool:
        """True if a decision is being made, after which the next key finds another record under the cursor."""
        return False

    async def _hand_on(self) -> None:
        """Hand on the next key, once no decision is being made any more or that takes long."""
        if not self.screen_stack:  # the console closes
            self._typed.clear()
        waited, self._looks = self._looks, 0
        if self._typed and waited < MOST_LOOKS and self.decides():
            self._looks = waited + 1
            self._handed_at = self._clock.monotonic()
            self.set_timer(LOOK_AGAIN_S, self._hand_on)
            return
        if 0 < waited < MOST_LOOKS:
            self._settle()  # the screen shows what was read first
            return
        while self._typed and self._drops(self._typed[0]):
            self._typed.popleft()
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
        """Let the action's requests to the app, such as moving the focus, come before the next key.

        So does what a dialog that was closed gave to the screen that had opened it.
        """
        self._pass_through(self.screen_stack, self._hand_on)

    def _pass_through(self, screens: list[Screen[Any]], then: Callable[[], object]) -> None:
        """Go on once each of these screens has taken its messages."""
        while screens:
            if screens.pop().call_later(self._pass_through, screens, then):
                return
        self.call_later(then)
