"""One-shot timers that come late rather than never."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from textual.message_pump import MessagePump
from textual.timer import Timer


def keep_late_timers() -> None:
    """Let Textual's `set_timer` skip nothing.

    A timer skips what it cannot send in time, as suits one that repeats. One that fires once is lost by that where the
    process stalls as it starts (Textual 8.2.8, `Timer._run`): the app then ignores every later resize, a filter does
    not filter, a short message stays.
    """
    before: Callable[..., Timer] = MessagePump.set_timer
    if hasattr(before, "__wrapped__"):
        return

    @wraps(before)
    def set_timer(*arguments: Any, **options: Any) -> Timer:
        timer = before(*arguments, **options)
        timer._skip = False  # in time: it begins to run with the next turn of the event loop
        return timer

    MessagePump.set_timer = set_timer  # type: ignore[method-assign]
