"""Stop calls from the console, with one key that asks twice."""

from __future__ import annotations

from collections.abc import Callable

from sb.screens.dialogs import DIALOG_CSS, Dialog
from sb.screens.reading import Reading, safe, trouble_of
from sb.screens.section import Section
from sb.screens.state.kills import Choice, choices, stopped
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Input, OptionList, Static

from sb.errors import SBError

WORD = "kill"
Asked = tuple[Choice, str]


class KillScreen(Reading, Dialog[Asked | None]):
    """Asks why, and what is to be stopped.

    Args:
        read_choices: reads what can be stopped; called in a worker.
    """

    BINDINGS = [
        Binding("down", "choose(1)", "next", show=False),
        Binding("up", "choose(-1)", "previous", show=False),
    ]
    nothing = "nothing stopped"
    DEFAULT_CSS = (
        "KillScreen { align: center middle; }"
        " KillScreen OptionList, KillScreen OptionList:focus { height: auto; border: none; }" + DIALOG_CSS
    )

    def __init__(self, read_choices: Callable[[], list[Choice]]) -> None:
        super().__init__()
        self._read_choices = read_choices
        self._offered: list[Choice] = []

    def compose(self) -> ComposeResult:
        options = OptionList(id="scope")
        options.can_focus = False
        with VerticalScroll(classes="dialog", can_focus=False):
            yield Static("", classes="title")
            yield options
            yield Input(placeholder="reason, recorded with the kill", id="reason")
            yield Static("", classes="wrong")
            yield Static(
                "type the reason; up and down choose; enter goes on, and asks once more", classes="hint"
            )

    def on_mount(self) -> None:
        self.read("what to kill", self._read_choices, self._offer)

    def _offer(self, offered: list[Choice]) -> None:
        self._offered = offered
        options = self.query_one(OptionList)
        options.add_options([safe(choice.text, one_line=True) for choice in offered])
        options.highlighted = 0

    def failed(self, error: BaseException) -> None:
        self._say_wrong(trouble_of(error))

    def _say_wrong(self, wrong: str) -> None:
        self.query_one(".wrong", Static).update(safe(wrong))

    @property
    def _choice(self) -> Choice:
        return self._offered[self.query_one(OptionList).highlighted or 0]

    @on(OptionList.OptionHighlighted)
    def _say_choice(self) -> None:
        self.query_one(".title", Static).update(safe(f"Stop {self._choice.text}?", one_line=True))

    def action_choose(self, by: int) -> None:
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    @on(Input.Submitted)
    def _next(self, message: Input.Submitted) -> None:
        reason = message.value.strip()
        if not reason:
            self._say_wrong("a kill needs a reason")
        elif self._offered:
            self.dismiss((self._choice, reason))


class ConfirmKillScreen(Dialog[bool | None]):
    """Asks once more, for a word that nobody types by accident."""

    nothing = KillScreen.nothing
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


def ask_to_kill(section: Section) -> None:
    """Find out what the cursor is on, ask twice, and stop it."""
    app, signer, records = section.app, section.console_app.signer, section.records

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
    app.push_screen(KillScreen(lambda: choices(records.log(), pointed)), confirm)
