"""A dialog with a short list to choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sb.screens.clicked import KeyHint
from sb.screens.dialogs import DIALOG_CSS
from sb.screens.reading import safe
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static


class ChoiceScreen(ModalScreen[int | None]):
    """Gives the number of a choice, from 0, or None.

    Args:
        title: what is chosen.
        choices: a line each.
        note: what follows.
        about: the object that they are about; "" for none.
        keys: characters that make a choice at once, with its number.
    """

    BINDINGS = [Binding("escape", "dismiss(None)", "close")]
    DEFAULT_CSS = (
        "ChoiceScreen { align: center middle; }"
        " ChoiceScreen OptionList, ChoiceScreen OptionList:focus { height: auto; border: none; }" + DIALOG_CSS
    )

    def __init__(
        self,
        title: str,
        choices: Sequence[str],
        note: str,
        about: str = "",
        keys: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._note = note
        self._about = about
        self._by_key = keys or {}

    def compose(self) -> ComposeResult:
        body = VerticalScroll(
            *([Static(safe(self._about), classes="object")] if self._about else []),
            OptionList(*(safe(choice, one_line=True) for choice in self._choices)),
            Static(safe(self._note), classes="gap"),
            KeyHint("up and down choose · enter goes on · esc closes", classes="hint"),
            classes="dialog",
            can_focus=False,
        )
        body.border_title = safe(self._title, one_line=True)
        yield body

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def on_key(self, event: events.Key) -> None:
        number = self._by_key.get(event.character or "")
        if number is not None:
            event.stop()
            self.dismiss(number)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(message.option_index)
