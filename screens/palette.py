"""The palette: actions that are possible now, screens, records, and commands for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.cells import cell_len
from sb.screens.actions import SECTIONS, VIEWS
from sb.screens.dialogs import DIALOG_CSS, Dialog
from sb.screens.reading import Reading, safe
from sb.screens.state.finding import FoundRecord, find_records, is_reference
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from sb.base.text import plain
from sb.base.values.frozen import frozen

if TYPE_CHECKING:
    from sb.screens.console import Console

HERE, SCREENS, RECORDS_, TERMINAL = "Here", "Go to", "Records", "For a terminal"
FIND_AFTER_S = 0.08
MOST_COMMANDS = 8
WIDEST, AROUND = 84, 8  # cells of the dialog; of its borders, padding and scroll bar, also line by line
MOST_LINES = 16
Do = Callable[[], object]


@frozen
class Entry:
    """One line of the palette.

    Args:
        right: the key, or state and age. words: what a search looks in besides the text.
        searched: listed once something is typed.
    """

    group: str
    text: str
    right: str
    do: Do
    words: str = ""
    searched: bool = False

    def fits(self, words: Sequence[str]) -> bool:
        """True if every word is there."""
        return all(word in f"{self.text} {self.words} {self.group}".lower() for word in words)


class PaletteScreen(Dialog[Do | None], Reading):
    """Gives what is to be done, or None.

    Args:
        console: opens records. entries: what can be done without looking anything up.
    """

    BINDINGS = [
        Binding("down,ctrl+n", "choose(1)", show=False),
        Binding("up,ctrl+p", "choose(-1)", show=False),
    ]
    DEFAULT_CSS = (
        "PaletteScreen { align: center top; } PaletteScreen .dialog { margin-top: 1; } PaletteScreen .dialog Input { margin-top: 0; }"
        " PaletteScreen OptionList, PaletteScreen OptionList:focus { height: auto; border: none; }"
        + DIALOG_CSS
    )

    def __init__(self, console: Console, entries: Sequence[Entry]) -> None:
        super().__init__()
        self._operator_console = console
        self._entries = entries
        self._found: list[Entry] = []
        self._listed: list[Entry | None] = []  # None for the heading of a group
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        options = OptionList()
        options.can_focus = False
        body = Vertical(
            Input(placeholder="action, screen, id, command, agent or memory"),
            options,
            classes="dialog",
        )
        body.border_title = "Find"
        body.border_subtitle = "enter does it · esc closes"
        yield body

    def on_mount(self) -> None:
        self._show()

    def on_resize(self) -> None:
        self._show()

    @property
    def _text(self) -> str:
        return self.query_one(Input).value.strip()

    @on(Input.Changed)
    def _typed(self) -> None:
        self._found = []
        self._show(keep_choice=False)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(FIND_AFTER_S, self._find)

    def _find(self) -> None:
        text, records = self._text, self._operator_console.records

        def done(found: list[FoundRecord]) -> None:
            if text == self._text:
                self._found = [
                    Entry(
                        RECORDS_,
                        record.text,
                        record.about,
                        partial(self._operator_console.open_reference, record.reference),
                    )
                    for record in found
                ]
                self._show()

        self.read("find", lambda: find_records(records, text), done)

    def _fitting(self) -> list[Entry]:
        text = self._text
        words = text.lower().split()
        fitting = [entry for entry in self._entries if entry.fits(words) and (text or not entry.searched)]
        commands = [entry for entry in fitting if entry.group == TERMINAL][:MOST_COMMANDS]
        records = list(self._found)
        if is_reference(text):
            records.insert(
                0, Entry(RECORDS_, f"open {text}", "", partial(self._operator_console.open_reference, text))
            )
        if text:
            search = partial(self._operator_console.find_on, "log", text)
            records.append(Entry(RECORDS_, f"search the log for {text}", "", search))
        return [*(entry for entry in fitting if entry.group != TERMINAL), *records, *commands]

    def _show(self, *, keep_choice: bool = True) -> None:
        options = self.query_one(OptionList)
        size = self.app.size
        width = min(WIDEST, size.width * 94 // 100) - AROUND
        options.styles.max_height = min(MOST_LINES, size.height - AROUND)
        at = options.highlighted
        chosen = self._listed[at] if keep_choice and at is not None else None
        self._listed, group = [], ""
        lines: list[Option] = []
        for entry in self._fitting():
            if entry.group != group:
                group = entry.group
                self._listed.append(None)
                lines.append(Option(Content.styled(group, "bold"), disabled=True))
            self._listed.append(entry)
            lines.append(Option(_line(entry, width)))
        options.clear_options()
        options.add_options(lines)
        if chosen is not None and chosen in self._listed:
            options.highlighted = self._listed.index(chosen)
        elif len(lines) > 1:
            options.highlighted = 1

    def action_choose(self, by: int) -> None:
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    @on(Input.Submitted)
    def _entered(self) -> None:
        at = self.query_one(OptionList).highlighted
        entry = self._listed[at] if at is not None else None
        if entry is not None:
            self.dismiss(entry.do)

    @on(OptionList.OptionSelected)
    def _clicked(self, message: OptionList.OptionSelected) -> None:
        entry = self._listed[message.option_index]
        self.dismiss(entry.do if entry else None)

    def action_cancel(self) -> None:
        self.dismiss(None)


def _line(entry: Entry, width: int) -> Content:
    right = plain(entry.right, one_line=True)
    room = max(width - cell_len(right) - 1, 10)
    text = safe(entry.text, one_line=True).truncate(room, ellipsis=True, pad=True)
    return Content.assemble(text, " ", (right, "$soft" if entry.group == RECORDS_ else "bold $accent"))


def view_entries(go: Callable[[str], object]) -> list[Entry]:
    """Entries that lead to the views of places, once something is typed."""
    return [
        Entry(SCREENS, f"{title} in {SECTIONS[place]}", "", partial(go, view), searched=True)
        for place, views in VIEWS.items()
        for view, title in views.items()
    ]


def terminal_entries(copy: Callable[[str], object], here: str = "") -> list[Entry]:
    """Entries to copy for a terminal: the command for the record under the cursor, then the groups of commands.

    Args:
        here: that command, or "".
    """
    from sb.commands.interface import verbs

    from sb.cli import COMMANDS

    commands = {here: "the record under the cursor"} if here else {}
    commands |= {f"sb {name}": help_text for name, help_text in COMMANDS.items()}
    leaves = {f"sb {name}": COMMANDS.get(name.partition(" ")[0], "") for name in sorted(verbs())}
    return [
        Entry(TERMINAL, command, "copy", partial(copy, command), help_text, searched=command in leaves)
        for command, help_text in (commands | leaves).items()
    ]
