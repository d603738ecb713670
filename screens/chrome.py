"""What is around every screen: where one is, what holds, what is wrong, and which keys there are."""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.actions import Action
from sb.screens.reading import safe
from textual.content import Content
from textual.widgets import Static


class SectionLine(Static):
    """The sections and their keys; the current one stands in brackets."""

    DEFAULT_CSS = "SectionLine { height: 1; background: $panel; color: $text; text-wrap: nowrap; }"

    def __init__(self, titles: Sequence[str], current: str) -> None:
        parts: list[Content | tuple[str, str]] = [("sb ", "bold")]
        for number, title in enumerate(titles, 1):
            here = title == current
            parts.append(
                (f"[{number} {title}]" if here else f" {number} {title} ", "bold reverse" if here else "")
            )
        super().__init__(Content.assemble(*parts))


class StatusLine(Static):
    """What is on screen, on the left; how far it can be relied on, on the right."""

    DEFAULT_CSS = "StatusLine { height: 1; background: $panel; color: $text-muted; text-wrap: nowrap; }"

    def say(self, left: str, right: str) -> None:
        """Both sides, the left one cut where there is no room."""
        ends = safe(f"{right} ", one_line=True)
        begins = safe(f" {left}", one_line=True)
        room = max(self.app.size.width - ends.cell_length - 1, 0)
        self.update(begins.truncate(room, ellipsis=True, pad=True) + " " + ends)


class TroubleLine(Static):
    """One line on what is wrong, and that it will be tried again; not there while nothing is."""

    DEFAULT_CSS = """
    TroubleLine { height: 1; background: $error; color: $text; text-style: bold; display: none; text-wrap: nowrap; }
    TroubleLine.-wrong { display: block; }
    """

    def say(self, text: str) -> None:
        self.set_class(bool(text), "-wrong")
        self.update(safe(f" {text}", one_line=True))


class KeyLine(Static):
    """The keys that matter here; `?` shows the others."""

    DEFAULT_CSS = "KeyLine { height: 1; background: $panel; color: $text; text-wrap: nowrap; }"

    def __init__(self, actions: Sequence[Action]) -> None:
        parts: list[Content | tuple[str, str]] = [(" ", "")]
        for action in actions:
            keys = action.shown_keys.split()[0]
            parts += [(keys, "bold"), (f" {action.label}  ", "")]
        super().__init__(Content.assemble(*parts))
