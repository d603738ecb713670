"""The keys of one screen, grouped."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from sb.screens.actions import GROUPS, Action
from sb.screens.dialogs import DIALOG_CSS
from sb.screens.reading import safe
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widget import Widget

KEY_WIDTH = 13


class KeyTable(Widget):
    """Keys in groups, and what each does, which goes on below itself where it is too long."""

    DEFAULT_CSS = "KeyTable { height: auto; }"

    def __init__(self, listed: Sequence[Action]) -> None:
        super().__init__()
        self._listed = listed

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._lines(width).plain.count("\n") + 1

    def render(self) -> Content:
        return self._lines(self.content_size.width)

    def _lines(self, width: int) -> Content:
        """All groups, for lines of so many cells."""
        parts: list[tuple[str, str]] = []
        room, below = max(width - KEY_WIDTH, KEY_WIDTH), "\n" + " " * KEY_WIDTH
        for group in GROUPS:
            listed = [action for action in self._listed if action.group == group]
            if listed:
                parts.append((f"{chr(10) * 2 if parts else ''}{group}", "bold"))
            for action in listed:
                parts.append((f"\n{action.shown_keys:<{KEY_WIDTH}}", "bold $accent"))
                parts.append((below.join(textwrap.wrap(action.help, room)), ""))
        return Content.assemble(*parts)


class HelpScreen(ModalScreen[None]):
    """Every key of one screen, those that decide first."""

    BINDINGS = [Binding("escape,question_mark,q", "dismiss", "close")]
    DEFAULT_CSS = "HelpScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, title: str, shown: Sequence[Action]) -> None:
        super().__init__()
        self._title = title
        self._shown = shown

    def compose(self) -> ComposeResult:
        body = VerticalScroll(KeyTable(self._shown), classes="dialog")
        body.border_title = safe(f"{self._title}: keys", one_line=True)
        body.border_subtitle = "esc closes"
        yield body
