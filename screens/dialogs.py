"""Dialogs over a screen: their base, results, passphrases, and the pause before one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ClassVar, TypeVar

from sb.screens.clicked import KeyHint
from sb.screens.reading import safe
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

Answer = TypeVar("Answer")

DIALOG_CSS = """
Dialog Toast.-information, Dialog Toast.-warning { display: none; }
.dialog { width: 94%; max-width: 84; height: auto; max-height: 94%; border: round $accent;
          background: $raised; padding: 0 1; border-title-style: bold; scrollbar-size-vertical: 1; }
.dialog.-danger { border: round $danger; border-title-color: $danger; }
.dialog.-ok { border: round $ok; border-title-color: $ok; }
.dialog Input { height: 1; border: none; padding: 0 1; background: $panel; margin-top: 1; }
.dialog Input:focus { border: none; background: $cursor; background-tint: transparent; }
.dialog .object { height: auto; max-height: 8; background: $canvas; border-left: solid $accent; padding: 0 1;
                  margin-bottom: 1; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
                  scrollbar-size-horizontal: 0; text-style: bold; }
.dialog .item { height: auto; margin: 0; }
.dialog .item .sign { width: 2; }
.dialog .item .label { width: 10; color: $soft; }
.dialog .text { height: auto; text-style: none; }
.dialog .item .text { width: 1fr; }
.dialog .object .text { text-style: bold; }
.dialog .item.del { background: $del_bg; }
.dialog .item.add { background: $add_bg; }
.dialog .gap { margin-top: 1; }
.dialog .wrong { color: $danger; text-style: bold; display: none; }
.dialog .hint { color: $soft; margin-top: 1; }
.dialog .hint.-decides { color: $accent; text-style: bold; }
.dialog .field { margin-top: 1; }
.dialog .field Input { width: 1fr; margin-top: 0; }
.dialog .title { text-style: bold; }
"""


ENTERED = "\n"  # in what was typed ahead: it goes on from the first step, and what follows is dropped


def text_of(event: events.Key) -> str:
    """The text that a key adds to what is typed ahead; "" for none."""
    if event.key == "enter":
        return ENTERED
    return event.character or "" if event.is_printable else ""


class Dialog(ModalScreen[Answer]):
    """A dialog that has the focus in its first field from the first key on, and says so when it decides nothing."""

    BINDINGS = [Binding("escape", "cancel", "cancel")]
    nothing: ClassVar[str] = "Nothing decided"

    def __init__(self) -> None:
        super().__init__()
        self._ahead = ""  # what was typed before the first field was there
        self._asking = False  # whether it is

    def on_mount(self) -> None:
        first = self.query(Input).first()
        first.focus()
        text, entered, _ = self._ahead.partition(ENTERED)
        first.insert_text_at_cursor(text)
        self._asking = True
        if entered:
            self.call_after_refresh(first.action_submit)

    def on_key(self, event: events.Key) -> None:
        self.type_ahead(event)

    def type_ahead(self, event: events.Key) -> None:
        """Put a key that no field took, because it came before the dialog was there, into the first field."""
        text = text_of(event)
        if not text or (self._asking and text == ENTERED):  # which the field takes by its own binding
            return
        event.stop()
        if self._asking:
            self.query(Input).first().insert_text_at_cursor(text)
        else:
            self._ahead += text

    def say_wrong(self, text: str) -> None:
        """Show the fault that keeps this dialog from going on; "" for none."""
        shown = self.query_one(".wrong", Static)
        shown.display = bool(text)
        shown.update(safe(text))

    def action_cancel(self) -> None:
        self.app.notify(self.nothing, timeout=3)
        self.dismiss(None)


class ResultScreen(Dialog[str | None]):
    """Asks what a call in doubt gave, as JSON; "" where that is not known, None to leave it.

    Args:
        about: the object of the call.
    """

    DEFAULT_CSS = "ResultScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, about: str) -> None:
        super().__init__()
        self._about = about

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False) as body:
            body.border_title = "What it returned"
            yield Static(safe(self._about), classes="object")
            yield Static("Undoing it may need this, such as the id of a new record.")
            yield Input(placeholder='as JSON, {"id": 7}; empty if unknown', id="result")
            yield Static("", classes="wrong")
            yield KeyHint("enter continues, without deciding yet · esc cancels", classes="hint")

    @on(Input.Submitted)
    def _entered(self, message: Input.Submitted) -> None:
        given = message.value.strip()
        try:
            json.loads(given or "null")
        except ValueError as error:
            self.say_wrong(f"this is not JSON: {error}")
        else:
            self.dismiss(given)


class WorkingScreen(ModalScreen[None]):
    """Keeps keys from what lies behind while the next dialog is prepared; what is typed goes into that one.

    Args:
        late: takes a key that was on its way here when the work ended.
    """

    BINDINGS = [Binding("escape", "finish", "let keys through")]
    DEFAULT_CSS = "WorkingScreen { background: transparent; }"
    holds_keys = True  # for a dialog that may not come

    def __init__(self, late: Callable[[events.Key], None]) -> None:
        super().__init__()
        self.typed = ""
        self._late = late
        self._over = False

    def on_key(self, event: events.Key) -> None:
        self.type_ahead(event)

    def type_ahead(self, event: events.Key) -> None:
        """Keep a character, for the dialog that comes next."""
        if text := text_of(event):
            event.stop()
            if self._over:
                self._late(event)
            else:
                self.typed += text

    def action_finish(self) -> None:
        self.finish()

    def finish(self) -> None:
        """Close as soon as nothing lies over it."""
        self._over = True
        self.on_screen_resume()

    def on_screen_resume(self) -> None:
        if self._over and self.is_current:
            self.dismiss()


class PassphraseScreen(Dialog[str | None]):
    """Asks for the passphrase of an operator's key.

    Args:
        typed: what was typed before it was there.
    """

    DEFAULT_CSS = "PassphraseScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, prompt: str, typed: str = "") -> None:
        super().__init__()
        self._prompt = prompt
        self._typed = typed

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False):
            yield Static(safe(self._prompt), classes="title")
            yield Input(
                self._typed.partition(ENTERED)[0], password=True, id="passphrase", select_on_focus=False
            )
            yield Static("It stays unlocked until it locks again or the console closes.")
            yield KeyHint("enter unlocks · esc cancels", classes="hint")

    @on(Input.Submitted)
    def _entered(self, message: Input.Submitted) -> None:
        self.dismiss(message.value)
