"""Dialogs over a screen: help, decisions, passphrases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import ClassVar, TypeVar

from sb.screens.actions import ASKING, Action, bindings
from sb.screens.reading import safe
from sb.screens.state.approvals import Question
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Static

Answer = TypeVar("Answer")
NEEDS_REASON = "a decision needs a reason"
TYPING = "type the reason; enter goes on to the decision; esc decides nothing"
CONFIRMING = "y decides; n or esc decides nothing; up leads back to the reason"

DIALOG_CSS = """
.dialog { width: 90%; max-width: 96; height: auto; max-height: 90%; border: round $primary;
          background: $surface; padding: 0 1; }
.dialog Input { height: 1; border: none; padding: 0 1; background: $boost; }
.dialog Input:focus { border: none; background: $block-cursor-blurred-background; }
.dialog Horizontal { height: 1; margin-top: 1; }
.dialog Button { margin-right: 2; }
.dialog .item { height: auto; margin: 0; }
.dialog .item .sign { width: 2; }
.dialog .item .text { width: 1fr; height: auto; }
.dialog .wrong { color: $text-error; text-style: bold; }
.dialog .hint { color: $text-muted; }
.dialog .title { text-style: bold; }
"""


def lines_about(lines: Sequence[str]) -> Iterator[Widget]:
    """What a question is about: a sign before each line, in a column that nobody else's text reaches, and ours without."""
    ours = lines.index("") if "" in lines else len(lines)
    for line in lines[:ours]:
        yield Horizontal(Static("-", classes="sign"), Static(safe(line), classes="text"), classes="item")
    yield Static(safe("\n".join(lines[ours:])), classes="last")


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


class Dialog(ModalScreen[Answer]):
    """A dialog that has the focus in its first field from the first key on, and says so when it decides nothing."""

    BINDINGS = [Binding("escape", "cancel", "cancel")]
    nothing: ClassVar[str] = "nothing decided"

    def __init__(self) -> None:
        super().__init__()
        self._ahead = ""  # what was typed before the first field was there

    def on_mount(self) -> None:
        first = self.query(Input).first()
        first.focus()
        first.insert_text_at_cursor(self._ahead)

    def on_key(self, event: events.Key) -> None:
        self.type_ahead(event)

    def type_ahead(self, event: events.Key) -> None:
        """Put a key that no field took, because it came before the dialog was there, into the first field."""
        if isinstance(self.focused, Button) or not event.is_printable or not event.character:
            return
        event.stop()
        fields = self.query(Input)
        if fields:
            fields.first().insert_text_at_cursor(event.character)
        else:
            self._ahead += event.character

    def action_cancel(self) -> None:
        self.app.notify(self.nothing, timeout=3)
        self.dismiss(None)


class DecisionButtons(Horizontal):
    """The confirming step: its keys hold while one of the buttons has the focus, never while a reason is typed."""

    BINDINGS = bindings(ASKING)

    def compose(self) -> ComposeResult:
        yield Button("n  No", id="no", compact=True)
        yield Button("y  Yes", id="yes", compact=True, variant="primary")

    def action_confirm(self) -> None:
        self.query_one("#yes", Button).press()

    def action_cancel(self) -> None:
        self.query_one("#no", Button).press()


class DecisionScreen(Dialog[str | None]):
    """Says what is about to be decided and gives the reason, or None.

    The reason comes first; `enter` after it leads to "no", so that pressing it twice never decides anything. What it is
    about has to have been on the screen, all of it, before "yes" is taken.
    """

    AUTO_FOCUS = ""
    BINDINGS = [
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]
    DEFAULT_CSS = "DecisionScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, question: Question, typed: str = "") -> None:
        super().__init__()
        self._ahead = typed
        self._question = question
        self._unread: set[int] | None = None  # rows of what it is about; None before they are laid out

    def on_mount(self) -> None:
        self.watch(self._scroll, "scroll_target_y", self._look, init=False)

    def compose(self) -> ComposeResult:
        question = self._question
        with VerticalScroll(classes="dialog", can_focus=False):
            yield Static(safe(question.title), classes="title")
            yield from lines_about(question.lines)
            yield Input(placeholder="reason, recorded with the decision", id="reason")
            if question.count > 1:
                yield Input(placeholder=f"type {question.count} to confirm", id="count")
            yield Static("", classes="wrong")
            yield DecisionButtons()
            yield Static(TYPING, classes="hint")

    @on(events.DescendantFocus)
    def _say_step(self) -> None:
        self.query_one(".hint", Static).update(TYPING if isinstance(self.focused, Input) else CONFIRMING)

    @property
    def _scroll(self) -> VerticalScroll:
        return self.query_one(".dialog", VerticalScroll)

    def on_resize(self) -> None:
        self._unread = None  # other lines, in other places
        self.call_after_refresh(self._look)

    def _look(self) -> None:
        """Take what is on the screen now for read."""
        if not self.query_one(".last").size:
            return  # not laid out yet
        if self._unread is None:
            self._unread = set(range(self.query_one(".last").virtual_region.bottom))
        top = round(self._scroll.scroll_target_y)
        self._unread.difference_update(range(top, top + self._scroll.size.height))

    @property
    def _reason(self) -> str:
        return self.query_one("#reason", Input).value.strip()

    @property
    def _missing(self) -> str:
        """What has still to be typed; "" if nothing."""
        if not self._reason:
            return NEEDS_REASON
        counts = self.query("#count").results(Input)
        wrong = any(box.value.strip() != str(self._question.count) for box in counts)
        return f"type {self._question.count} to confirm" if wrong else ""

    @on(Input.Submitted)
    def _next(self, message: Input.Submitted) -> None:
        counts = self.query("#count")
        if message.input.id == "reason" and self._reason and counts:
            self._say_wrong("")
            counts.first().focus()
            return
        self._say_wrong(self._missing)
        if not self._missing:
            self.query_one("#no").focus()

    def _say_wrong(self, wrong: str) -> None:
        self.query_one(".wrong", Static).update(safe(wrong))

    @on(Button.Pressed, "#no")
    def _left(self) -> None:
        self.action_cancel()

    @on(Button.Pressed, "#yes")
    def action_confirm(self) -> None:
        lines = len(self._unread or ())
        if self._unread is None or lines:
            were = "line was" if lines == 1 else "lines were"
            self._say_wrong(f"{lines} {were} not on the screen: page up, page down")
        elif self._missing:
            self._say_wrong(self._missing)
        else:
            self.dismiss(self._reason)


class ResultScreen(Dialog[str | None]):
    """Asks what a call in doubt gave, as JSON; "" where that is not known, None to leave it."""

    DEFAULT_CSS = "ResultScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, tool_id: str) -> None:
        super().__init__()
        self._tool_id = tool_id

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False):
            yield Static(safe(f"What did {self._tool_id} return?", one_line=True), classes="title")
            yield Static("Reversing it may need this, such as the id of a new record.")
            yield Input(placeholder='as JSON, {"id": 7}; empty if unknown', id="result")
            yield Static("", classes="wrong")
            yield Static("enter continues, without deciding yet; esc cancels", classes="hint")

    @on(Input.Submitted)
    def _entered(self, message: Input.Submitted) -> None:
        given = message.value.strip()
        try:
            json.loads(given or "null")
        except ValueError as error:
            self.query_one(".wrong", Static).update(safe(f"this is not JSON: {error}"))
        else:
            self.dismiss(given)


class WorkingScreen(ModalScreen[None]):
    """Keeps keys from what lies behind while the next dialog is prepared; what is typed goes into that one."""

    BINDINGS = [Binding("escape", "finish", "let keys through")]
    DEFAULT_CSS = "WorkingScreen { background: transparent; }"

    def __init__(self) -> None:
        super().__init__()
        self.typed = ""
        self._over = False

    def on_key(self, event: events.Key) -> None:
        self.type_ahead(event)

    def type_ahead(self, event: events.Key) -> None:
        """Keep a character, for the dialog that comes next."""
        if event.is_printable and event.character:
            event.stop()
            self.typed += event.character

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
            yield Input(self._typed, password=True, id="passphrase", select_on_focus=False)
            yield Static("enter unlocks the key until the console closes; esc cancels")

    @on(Input.Submitted)
    def _entered(self, message: Input.Submitted) -> None:
        self.dismiss(message.value)
