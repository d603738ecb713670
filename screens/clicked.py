"""Lines whose parts can be clicked or tapped: each part stands for what its key does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from sb.screens.actions import MOVE, Action
from textual import events
from textual.content import Content
from textual.widgets import Static

T = TypeVar("T")
BETWEEN = " · "  # two keys in the last line of a dialog
NAMED_KEYS = {"enter": "enter", "esc": "escape", "pgdn": "pagedown", "y": "y", "S": "S"}


class Parts(Generic[T]):
    """Texts beside each other, and what each stands for.

    Args:
        parts: a text each, with None where it stands for nothing.
    """

    def __init__(self, parts: Iterable[tuple[Content | str | tuple[str, str], T | None]] = ()) -> None:
        pieces = [(Content.assemble(text), target) for text, target in parts]
        self.text = Content.assemble(*(piece for piece, _ in pieces))
        self._lengths = [(piece.cell_length, target) for piece, target in pieces]

    def at(self, cell: int) -> T | None:
        """The target in a cell, counted from 0; None for none."""
        for length, target in self._lengths:
            if cell < length:
                return target
            cell -= length
        return None


class ActionLine(Static):
    """A line with actions, which a click does as their keys would."""

    parts: Parts[Action] = Parts()

    def on_click(self, event: events.Click) -> None:
        app: Any = self.app  # the console, whose screens have such lines
        action = self.parts.at(event.x)
        if action is None or app.section is None:
            return
        rows = app.section.list_in_use
        if action.group == MOVE and rows is not None and not hasattr(app.focused, "action_line_up"):
            app.section.focus_on(rows)  # a filter's box has no lines to move in
        app.call_later(app.run_declared, action)


class KeyHint(Static):
    """The last line of a dialog; a click on a key that it names presses that key."""

    FOCUS_ON_CLICK = False  # the key is for what has the focus

    def on_click(self, event: events.Click) -> None:
        named: list[tuple[str, str | None]] = []
        for text in str(self.content).split(BETWEEN):
            named += [(BETWEEN, None)] * bool(named) + [(text, text.partition(" ")[0])]
        key = NAMED_KEYS.get(Parts(named).at(event.x) or "")
        if key and event.y == 0 and (key != "y" or event.chain == 1):  # a double click is no answer
            self.app.simulate_key(key)
