"""Dialogs over a screen: help, decisions, passphrases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sb.screens.actions import ASKING, Action, bindings
from sb.screens.reading import safe
from sb.screens.state.approvals import Question
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Static

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


class DecisionScreen(ModalScreen[str | None]):
    """Says what is about to be decided and gives the reason, or None.

    `enter` after the reason leads to "no", so that pressing it twice never decides anything. What it is about has to
    have been on the screen, all of it, before "yes" is taken.
    """

    AUTO_FOCUS = ""
    BINDINGS = [
        *bindings(ASKING),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]
    DEFAULT_CSS = "DecisionScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, question: Question) -> None:
        super().__init__()
        self._question = question
        self._unread: set[int] | None = None  # rows of what it is about; None before they are laid out

    def on_mount(self) -> None:
        self.watch(self._scroll, "scroll_target_y", self._look, init=False)
        self.query_one("#no" if self._question.destructive else "#reason").focus()

    def compose(self) -> ComposeResult:
        question = self._question
        with VerticalScroll(classes="dialog", can_focus=False):
            yield Static(safe(question.title), classes="title")
            yield from lines_about(question.lines)
            yield Input(placeholder="reason, recorded with the decision", id="reason")
            if question.count > 1:
                yield Input(placeholder=f"type {question.count} to confirm", id="count")
            yield Static("", classes="wrong")
            with Horizontal():
                yield Button("n  No", id="no", compact=True)
                yield Button("y  Yes", id="yes", compact=True, variant="primary")
            move = "up leads to the reason" if question.destructive else "up and down move"
            yield Static(f"{move}; enter after the reason leads to No", classes="hint")

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

    @on(Input.Submitted)
    def _next(self, message: Input.Submitted) -> None:
        counts = self.query("#count")
        if message.input.id == "reason" and counts:
            counts.first().focus()
        else:
            self.query_one("#no").focus()

    @on(Button.Pressed, "#no")
    def action_cancel(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#yes")
    def action_confirm(self) -> None:
        reason = self.query_one("#reason", Input).value.strip()
        counts = self.query("#count").results(Input)
        wrong = ""
        if self._unread is None or self._unread:
            lines = len(self._unread or "")
            wrong = (
                f"{lines} {'line was' if lines == 1 else 'lines were'} not on the screen: page up, page down"
            )
        elif not reason:
            wrong = "a decision needs a reason"
        elif any(box.value.strip() != str(self._question.count) for box in counts):
            wrong = f"type {self._question.count} to confirm"
        if wrong:
            self.query_one(".wrong", Static).update(safe(wrong))
        else:
            self.dismiss(reason)


class ResultScreen(ModalScreen[str | None]):
    """Asks what a call in doubt gave, as JSON; "" where that is not known, None to leave it."""

    BINDINGS = [Binding("escape", "cancel", "cancel")]
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

    def action_cancel(self) -> None:
        self.dismiss(None)


class PassphraseScreen(ModalScreen[str | None]):
    """Asks for the passphrase of an operator's key."""

    BINDINGS = [Binding("escape", "cancel", "cancel")]
    DEFAULT_CSS = "PassphraseScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, prompt: str) -> None:
        super().__init__()
        self._prompt = prompt

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False):
            yield Static(safe(self._prompt), classes="title")
            yield Input(password=True, id="passphrase")
            yield Static("enter unlocks the key until the console closes; esc cancels")

    @on(Input.Submitted)
    def _entered(self, message: Input.Submitted) -> None:
        self.dismiss(message.value)

    def action_cancel(self) -> None:
        self.dismiss(None)
