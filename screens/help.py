"""The keys of one screen, grouped."""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.actions import GROUPS, Action
from sb.screens.dialogs import DIALOG_CSS
from sb.screens.reading import safe
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

KEY_WIDTH = 11


class HelpScreen(ModalScreen[None]):
    """Every key of one screen, those that decide first."""

    BINDINGS = [Binding("escape,question_mark,q", "dismiss", "close")]
    DEFAULT_CSS = "HelpScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, title: str, shown: Sequence[Action]) -> None:
        super().__init__()
        self._title = title
        self._shown = shown

    def compose(self) -> ComposeResult:
        parts: list[tuple[str, str]] = []
        for group in GROUPS:
            listed = [action for action in self._shown if action.group == group]
            if listed:
                parts.append((f"{'' if not parts else chr(10)}{group}\n", "bold"))
                parts += [(f"{action.shown_keys:<{KEY_WIDTH}} {action.help}\n", "") for action in listed]
        body = VerticalScroll(Static(Content.assemble(*parts)), classes="dialog")
        body.border_title = safe(f"{self._title}: keys", one_line=True)
        body.border_subtitle = "esc closes"
        yield body
