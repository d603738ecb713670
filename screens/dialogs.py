"""What is asked or explained over a screen?"""

from __future__ import annotations

from sb.screens.actions import Action
from sb.screens.reading import safe
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

DIALOG_CSS = """
.dialog { width: 80%; max-width: 90; height: auto; max-height: 90%; border: round $primary;
          background: $surface; padding: 0 1; }
"""


class HelpScreen(ModalScreen[None]):
    """Every key of one screen."""

    BINDINGS = [Binding("escape,question_mark,q", "dismiss", "close")]
    DEFAULT_CSS = "HelpScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, title: str, shown: list[Action]) -> None:
        super().__init__()
        self._title = title
        self._shown = shown

    def compose(self) -> ComposeResult:
        lines = [f"{action.shown_keys:<12} {action.help}" for action in self._shown]
        text = "\n".join([f"{self._title}: keys (esc closes)", "", *lines])
        yield VerticalScroll(Static(safe(text)), classes="dialog")
