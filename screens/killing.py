"""Stop calls from the console, with one key that asks twice."""

from __future__ import annotations

from sb.screens.actions import ASKING, bindings
from sb.screens.dialogs import DIALOG_CSS
from sb.screens.reading import safe, trouble_of
from sb.screens.section import Section
from sb.screens.state.kills import Choice, choices, stopped
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList, Static

from sb.errors import SBError

WORD = "kill"
Asked = tuple[Choice, str]


class KillScreen(ModalScreen[Asked | None]):
    """Asks what is to be stopped, and why."""

    BINDINGS = bindings(ASKING)
    DEFAULT_CSS = (
        "KillScreen { align: center middle; }"
        " KillScreen OptionList, KillScreen OptionList:focus { height: auto; border: none; }" + DIALOG_CSS
    )

    def __init__(self, offered: list[Choice]) -> None:
        super().__init__()
        self._offered = offered

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False):
            yield Static("", classes="title")
            yield OptionList(*(safe(choice.text, one_line=True) for choice in self._offered), id="scope")
            yield Input(placeholder="reason, recorded with the kill", id="reason")
            yield Static("", classes="wrong")
            with Horizontal():
                yield Button("n  No", id="no", compact=True)
                yield Button("y  Go on", id="yes", compact=True, variant="primary")
            yield Static(
                "up and down choose, enter leads to the reason; you confirm once more", classes="hint"
            )

    def on_mount(self) -> None:
        self.query_one(OptionList).highlighted = 0
        self.query_one(OptionList).focus()

    @property
    def _choice(self) -> Choice:
        return self._offered[self.query_one(OptionList).highlighted or 0]

    @on(OptionList.OptionHighlighted)
    def _say_choice(self) -> None:
        self.query_one(".title", Static).update(safe(f"Stop {self._choice.text}?", one_line=True))

    @on(OptionList.OptionSelected)
    def _chosen(self) -> None:
        self.query_one("#reason").focus()

    @on(Input.Submitted)
    def _next(self) -> None:
        self.query_one("#no").focus()

    @on(Button.Pressed, "#no")
    def action_cancel(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#yes")
    def action_confirm(self) -> None:
        reason = self.query_one("#reason", Input).value.strip()
        if reason:
            self.dismiss((self._choice, reason))
        else:
            self.query_one(".wrong", Static).update("a kill needs a reason")


class ConfirmKillScreen(ModalScreen[bool]):
    """Asks once more, for a word that nobody types by accident."""

    BINDINGS = [Binding("escape", "cancel", "cancel")]
    DEFAULT_CSS = "ConfirmKillScreen { align: center middle; }" + DIALOG_CSS

    def __init__(self, asked: Asked) -> None:
        super().__init__()
        self._choice, self._reason = asked

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False):
            yield Static(safe(f"Stop {self._choice.text}?", one_line=True), classes="title")
            yield Static(safe(f"reason: {self._reason}", one_line=True))
            yield Static("None of its calls start until an operator lifts this.")
            yield Input(placeholder=f"type {WORD} to stop it; esc cancels", id="word")
            yield Static("", classes="wrong")

    @on(Input.Submitted)
    def _entered(self, message: Input.Submitted) -> None:
        if message.value.strip() == WORD:
            self.dismiss(True)
        else:
            self.query_one(".wrong", Static).update(f"not stopped: type {WORD}, or press esc")

    def action_cancel(self) -> None:
        self.dismiss(False)


def ask_to_kill(section: Section) -> None:
    """Find out what the cursor is on, ask twice, and stop it."""
    app, signer, records = section.app, section.console_app.signer, section.records

    def ask(offered: list[Choice]) -> None:
        app.push_screen(KillScreen(offered), confirm)

    def confirm(asked: Asked | None) -> None:
        if asked is not None:
            app.push_screen(ConfirmKillScreen(asked), lambda sure: stop(asked) if sure else None)

    def stop(asked: Asked) -> None:
        section.read("kill", lambda: work(*asked), notify)

    def work(choice: Choice, reason: str) -> tuple[bool, str]:
        try:
            by = signer.anybody()
            return True, stopped(records.kill_switch("write").throw(choice.scope, choice.target, by, reason))
        except SBError as error:
            return False, trouble_of(error)

    def notify(outcome: tuple[bool, str]) -> None:
        done, text = outcome
        title = "stopped" if done else "NOT stopped"
        app.notify(text, title=title, severity="warning" if done else "error", timeout=12, markup=False)
        section.refresh_records()

    pointed = section.pointed_at()
    section.read("what to kill", lambda: choices(records.log(), pointed), ask)
