"""Stop calls from the console: choose what, say why, and type a word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping

from sb.screens.decision import Area, TwoSteps
from sb.screens.dialogs import DIALOG_CSS
from sb.screens.reading import Reading, safe, trouble_of
from sb.screens.section import Section
from sb.screens.state.kills import Choice, choices, stopped
from textual import on
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import OptionList, Static

from sb.errors import SBError

WORD = "kill"
Asked = tuple[Choice, str]


class KillScreen(TwoSteps[Asked | None], Reading):
    """Asks what is to be stopped, and why.

    Args:
        read_choices: reads what can be stopped; called in a worker.
    """

    BINDINGS = [
        Binding("down", "choose(1)", "next", show=False),
        Binding("up", "choose(-1)", "previous", show=False),
    ]
    nothing = "Nothing stopped"
    needs_reason = "a stop needs a reason"
    word = WORD
    DEFAULT_CSS = (
        "KillScreen { align: center middle; }"
        " KillScreen OptionList, KillScreen OptionList:focus { height: auto; max-height: 8; border: none; }"
        + DIALOG_CSS
    )

    def __init__(
        self, read_choices: Callable[[], list[Choice]], drafts: MutableMapping[str, str], key: str
    ) -> None:
        super().__init__(drafts, key)
        self._read_choices = read_choices
        self._offered: list[Choice] = []

    def about(self) -> Iterator[Widget]:
        options = OptionList(id="scope", classes="first")
        options.can_focus = False
        yield options
        yield Static("up and down choose what is stopped", classes="first hint")
        yield Area(Static("", classes="text read", id="chosen"), classes="object second")

    def answer(self, reason: str) -> Asked:
        return self._choice, reason

    def on_mount(self) -> None:
        self.read("what to stop", self._read_choices, self._offer)

    def _offer(self, offered: list[Choice]) -> None:
        self._offered = offered
        options = self.query_one(OptionList)
        options.add_options([safe(choice.text, one_line=True) for choice in offered])
        options.highlighted = 0

    def failed(self, error: BaseException) -> None:
        self.say_wrong(trouble_of(error))

    @property
    def _choice(self) -> Choice:
        return self._offered[self.query_one(OptionList).highlighted or 0]

    @property
    def title_text(self) -> str:
        return f"Stop {self._choice.text}" if self._offered else "Stop"

    @property
    def consequence(self) -> str:
        return self._choice.consequence if self._offered else ""

    @on(OptionList.OptionHighlighted)
    def _chosen(self, message: OptionList.OptionHighlighted) -> None:
        """Point at the chosen line: without colours nothing else tells it."""
        for at, choice in enumerate(self._offered):
            mark = "▸" if at == message.option_index else " "
            line = safe(f"{mark} {choice.text}", one_line=True)
            message.option_list.replace_option_prompt_at_index(at, line)
        self.query_one("#chosen", Static).update(safe(self._choice.text))
        self.query_one("#dialog").border_title = safe(self.title_text, one_line=True)

    def ready(self) -> bool:
        return bool(self._offered)

    def action_choose(self, by: int) -> None:
        options = self.query_one(OptionList)
        if not options.display:
            self.action_scroll_line(by)
        elif by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()


def ask_to_kill(section: Section) -> None:
    """Find out what the cursor is on, ask in two steps, and stop it."""
    app, console, records = section.app, section.console_app, section.records
    pointed = section.pointed_at()
    key = f"stop {pointed}"

    def answered(asked: Asked | None) -> None:
        if asked is not None:
            section.read("kill", lambda: work(*asked), notify)

    def work(choice: Choice, reason: str) -> tuple[bool, str]:
        try:
            by = console.signer.anybody()
            return True, stopped(records.kill_switch("write").throw(choice.scope, choice.target, by, reason))
        except SBError as error:
            return False, trouble_of(error)

    def notify(outcome: tuple[bool, str]) -> None:
        done, text = outcome
        if done:
            console.drafts.pop(key, None)
        app.notify(
            text,
            title="Stopped. L lifts it, in Agents or in the Inbox" if done else "NOT stopped",
            severity="warning" if done else "error",
            timeout=12,
            markup=False,
        )
        section.refresh_records()

    app.push_screen(KillScreen(lambda: choices(records.log(), pointed), console.drafts, key), answered)
