"""The lines around every screen: sections, status, trouble and keys."""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.actions import Action
from sb.screens.reading import safe
from textual import events
from textual.content import Content
from textual.widgets import Static


class SectionLine(Static):
    """The sections and their keys; the current one stands in brackets."""

    DEFAULT_CSS = "SectionLine { height: 1; background: $panel; color: $text; text-wrap: nowrap; }"

    def __init__(self, titles: Sequence[str], current: str) -> None:
        super().__init__()
        self._texts = [f"{number} {title}" for number, title in enumerate(titles, 1)]
        self._here = titles.index(current)

    def on_resize(self, event: events.Resize) -> None:
        shown = self._airy()
        self.update(shown if shown.cell_length <= event.size.width else self._tight())

    def _airy(self) -> Content:
        parts = [("sb ", "bold"), *((f" {text} ", "") for text in self._texts)]
        parts[self._here + 1] = (f"[{self._texts[self._here]}]", "bold reverse")
        return Content.assemble(*parts)

    def _tight(self) -> Content:
        """One space between two, where the brackets stand too."""
        before, here, after = (
            " ".join(self._texts[: self._here]),
            self._texts[self._here],
            " ".join(self._texts[self._here + 1 :]),
        )
        return Content.assemble(before, (f"[{here}]", "bold reverse"), after)


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
