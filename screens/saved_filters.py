"""The dialog of saved filters: apply one, save the present one under a name, delete one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from rich.cells import cell_len
from sb.screens.choosing import ChoiceScreen
from sb.screens.dialogs import DIALOG_CSS, Dialog
from sb.screens.reading import Reading, safe, trouble_of
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from sb.base.text import plain
from sb.errors import UsageError
from sb.operator.event_states import CALLS, CHANGES, DECISIONS, LOG
from sb.operator.filters import CONTROLS, EVALS, INBOX, MEMORY, RUNS, Filter
from sb.operator.saved_filters import LONGEST_NAME, SavedFilter, SavedFilters

# The faces of the language, by views.
FACES = {
    "inbox": INBOX,
    "log": LOG,
    "calls": CALLS,
    "changes": CHANGES,
    "decisions": DECISIONS,
    "runs": RUNS,
    "memory": MEMORY,
    "harness": CONTROLS,
    "evals": EVALS,
    "eval_runs": EVALS,
}
READ_ONLY = "read-only: nothing is saved or deleted"
WIDEST, AROUND, NAME = 84, 8, 20  # cells: of the dialog, of what is around a line, of a name


class SavedFiltersScreen(Dialog[SavedFilter | None], Reading):
    """Gives the saved filter that is to be applied, or None.

    Args:
        saved: those of the home.
        present: the filter of the place, to be saved.
        face: what the place answers.
    """

    BINDINGS = [
        Binding("down,ctrl+n", "choose(1)", show=False),
        Binding("up,ctrl+p", "choose(-1)", show=False),
        Binding("delete,ctrl+d", "delete", "delete", priority=True, show=False),
    ]
    DEFAULT_CSS = (
        "SavedFiltersScreen { align: center top; } SavedFiltersScreen .dialog { margin-top: 1; }"
        " SavedFiltersScreen .dialog Input { margin-top: 0; }"
        " SavedFiltersScreen OptionList, SavedFiltersScreen OptionList:focus { height: auto; max-height: 14; border: none; }"
        + DIALOG_CSS
    )

    def __init__(self, saved: SavedFilters, present: SavedFilter, face: str, *, read_only: bool) -> None:
        super().__init__()
        self._saved, self._present, self._face = saved, present, face
        self._read_only = read_only
        self._known: Mapping[str, SavedFilter] = {}
        self._listed: list[str | None] = []  # names; None for the line that saves the present filter

    def compose(self) -> ComposeResult:
        options = OptionList()
        options.can_focus = False
        body = Vertical(
            Input(placeholder="a name", max_length=LONGEST_NAME),
            options,
            Static("", classes="wrong"),
            classes="dialog",
        )
        body.border_title = "Saved filters"
        body.border_subtitle = "enter does it · del deletes · esc closes"
        yield body

    def on_mount(self) -> None:
        self._read()

    def _read(self) -> None:
        self.read("filters", self._saved.all, self._show)

    def failed(self, error: BaseException) -> None:
        self.say_wrong(trouble_of(error))

    @property
    def _typed_name(self) -> str:
        return self.query_one(Input).value.strip()

    @on(Input.Changed)
    def _typed(self) -> None:
        self.say_wrong("")
        self._show(self._known)

    def _show(self, known: Mapping[str, SavedFilter]) -> None:
        self._known, name = known, self._typed_name
        options, width = self.query_one(OptionList), min(WIDEST, self.app.size.width * 94 // 100) - AROUND
        fitting = [it for it in known if name.lower() in f"{it} {known[it].text}".lower()]
        fitting.sort(key=lambda it: bool(self._problem(known[it])))
        self._listed = [*([None] if self._can_save else []), *fitting]
        lines = [Option(self._line(it, width)) for it in self._listed]
        if not lines:
            nothing = "none of this name" if name else "none yet: filter with /, then save that here"
            lines = [Option(Content.styled(nothing, "$soft"), disabled=True)]
        options.clear_options()
        options.add_options(lines)
        options.highlighted = 0 if self._listed else None

    @property
    def _can_save(self) -> bool:
        """True if there is a filter to be saved, and it is not saved already under the name that is typed."""
        present = bool(self._present.text or self._present.sort) and not self._read_only
        return present and (
            self._known.get(self._typed_name) != self._present if self._typed_name else not self._is_saved
        )

    @property
    def _is_saved(self) -> bool:
        return self._present in self._known.values()

    def _line(self, name: str | None, width: int) -> Content:
        if name is None:
            shown = plain(self._present.text or self._present.sort, one_line=True)
            verb = "replace" if self._typed_name in self._known else "save as"
            begin = f"{verb} {self._typed_name}" if self._typed_name else "type a name to save"
            return _columns(begin, shown, "bold $accent", width)
        saved = self._known[name]
        return _columns(name, saved.text or saved.sort, "$danger" if self._problem(saved) else "$soft", width)

    def _problem(self, saved: SavedFilter) -> str:
        """The reason why it cannot be applied here, or ""."""
        try:
            Filter.parse(saved.text).require(self._face)
        except UsageError as error:
            return error.message
        return ""

    def action_choose(self, by: int) -> None:
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    @on(Input.Submitted)
    def _entered(self) -> None:
        self._do(self.query_one(OptionList).highlighted)

    @on(OptionList.OptionSelected)
    def _clicked(self, message: OptionList.OptionSelected) -> None:
        self._do(message.option_index)

    def _do(self, index: int | None) -> None:
        name = self._listed[index] if index is not None and index < len(self._listed) else ""
        if name is None:
            self._save()
        elif name:
            saved = self._known[name]
            problem = self._problem(saved)
            self.say_wrong(problem)
            if not problem:
                self.dismiss(saved)

    def _save(self) -> None:
        name, present = self._typed_name, self._present
        if not name:
            self.say_wrong("type a name first")
            return
        before = self._known.get(name)

        def save(replace: bool) -> None:
            self._write(
                lambda: self._saved.save(name, present.text, present.sort, replace=replace), f"saved {name}"
            )

        if before is None:
            save(False)
        else:
            self._ask(f"Replace {name}", f"Replace {before.text}", partial(save, True), present.text)

    def action_delete(self) -> None:
        index = self.query_one(OptionList).highlighted
        name = self._listed[index] if index is not None and index < len(self._listed) else None
        if name is None:
            return
        if self._read_only:
            self.say_wrong(READ_ONLY)
            return

        def delete() -> None:
            self._write(lambda: self._saved.delete(name), f"deleted {name}", stay=True)

        self._ask(f"Delete {name}", "Delete it", delete, self._known[name].text)

    def _ask(self, title: str, does: str, do: Callable[[], None], about: str) -> None:
        def chosen(number: int | None) -> None:
            if number == 1:
                do()

        self.app.push_screen(ChoiceScreen(title, ("Keep it as it is", does), "", about), chosen)

    def _write(self, work: Callable[[], object], told: str, *, stay: bool = False) -> None:
        def done(_: object) -> None:
            self.app.notify(told, timeout=3)
            if stay:
                self.query_one(Input).value = ""
                self._read()
            else:
                self.dismiss(None)

        self.read("write", work, done)

    def action_cancel(self) -> None:
        self.dismiss(None)


def _columns(left: str, right: str, tone: str, width: int) -> Content:
    name = safe(left, one_line=True)
    name = name.pad_right(max(NAME - cell_len(name.plain), 0))
    shown = plain(right, one_line=True)
    return Content.assemble(name, "  ", (shown, tone)).truncate(width, ellipsis=True)
