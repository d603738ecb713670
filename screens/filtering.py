"""A filter box over a list, applied as one types."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from sb.screens.reading import safe
from sb.screens.row_list import RowList
from sb.screens.section import Section
from textual import on
from textual.containers import Vertical
from textual.events import ScreenResume
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static

from sb.errors import UsageError
from sb.operator.saved_filters import SavedFilter

if TYPE_CHECKING:
    from sb.screens.state.last_places import LastPlaces

DEBOUNCE_S = 0.08


def _remedy_first(error: UsageError) -> str:
    """The remedy, then the fault."""
    hint = (
        error.hint
        if error.hint.startswith(("keys:", "such as", "one of", "words"))
        else f"such as {error.hint}"
    )
    return f"{hint} · {error.message.removeprefix('filter: ')}"


class Filtering(Section):
    """A section with a filter over its list."""

    DEFAULT_CSS = """
    Filtering #filter-bar { height: auto; }
    Filtering #filter-wrong { display: none; height: auto; max-height: 3; padding: 0 1; color: $danger; }
    Filtering #filter-hides { display: none; height: 1; padding: 0 1; color: $panel; background: $warn; text-style: bold; }
    Filtering #filter { display: none; height: 1; border: none; padding: 0 1; background: $raised; }
    Filtering #filter:focus { border: none; }
    Filtering #filter.-open { display: block; }
    """
    place = ""  # under which its filter is kept; its own name, where several do not share one
    sort = ""  # the order of its list; "" for the usual one
    _timer: Timer | None = None
    filter_text = ""
    _trouble = ""  # of what was typed last

    def filter_box(self, hint: str) -> Widget:
        """The box, for the top of the body; below it stands what is wrong with its text, and what it hides."""
        return Vertical(
            Input(placeholder=hint, id="filter", select_on_focus=False),
            Static("", id="filter-wrong"),
            Static("", id="filter-hides"),
            id="filter-bar",
        )

    @abstractmethod
    def filter_changed(self) -> None:
        """Show what fits `filter_text`; the old rows stay until new ones are there."""

    def on_screen_resume(self, event: ScreenResume) -> None:
        self.share_filter(self._last.of(self._kept_as).text)

    @property
    def _last(self) -> LastPlaces:
        return self.console_app.last_places

    @property
    def _kept_as(self) -> str:
        return self.place or self.name_

    @on(Input.Blurred, "#filter")
    def _left(self) -> None:
        """Leave the box as the filter in force: what is none must not seem to be one, nor come back later."""
        if self._trouble and self.app.app_focus:
            self._put(self.filter_text)
            self._trouble = ""
            self.show_status()
        self.keep_place()

    def _put(self, text: str) -> None:
        """Show a text in the box that is the filter already, or is made so by the caller."""
        box = self.query_one("#filter", Input)
        with box.prevent(Input.Changed):
            box.value = text
        box.set_class(bool(text), "-open")

    def keep_place(self) -> None:
        """Keep filter and order over a restart."""
        self._last.keep(self, self._kept_as, self.console_app.say)

    def action_filters(self) -> None:
        """Save the filter under a name, or apply one that was."""
        from sb.screens.saved_filters import FACES, SavedFiltersScreen  # with the parser of filters

        present = SavedFilter(self.filter_text, self.sort)
        read_only, face = self.console_app.read_only, FACES[self.name_]
        self.app.push_screen(
            SavedFiltersScreen(self._last.saved, present, face, read_only=read_only), self._apply
        )

    def _apply(self, saved: SavedFilter | None) -> None:
        if saved is not None:
            if saved.sort:
                self.sort_by(saved.sort)
            self.share_filter(saved.text)
            self.keep_place()

    def sort_by(self, sort: str) -> None:
        """Show the list in this order, if it has such."""

    @on(Input.Changed, "#filter")
    def _typed(self, message: Input.Changed) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_S, lambda: self.filter_by(message.value))

    @on(Input.Submitted, "#filter")
    def _entered(self, message: Input.Submitted) -> None:
        """Filter by the text and go to the list; an invalid text keeps the cursor, so that no key acts on other rows."""
        if self._timer is not None:
            self._timer.stop()
        self.filter_by(message.value)
        if not self._trouble:
            self.focus_on(self.query("RowList").first())

    def filter_by(self, text: str) -> None:
        """Show only what fits."""
        if text.strip() == self.filter_text and not self._trouble:
            return
        before, self.filter_text, self._trouble = self.filter_text, text.strip(), ""
        for rows in self.walk_children(RowList) if self.filter_text else ():
            rows.action_first()  # what fits best, or is newest, and not what is near the former record
        try:
            self.filter_changed()
        except UsageError as error:  # most are typed to their end: the rows stay until then
            self.filter_text, self._trouble = before, _remedy_first(error)
        else:
            self._last.put(self._kept_as, text=self.filter_text)
        self.show_status()

    @property
    def hides(self) -> str:
        """A warning of what a filter keeps from view; "" where somebody typed it here just now."""
        since = self._last.holds_since_start(self._kept_as)
        return "filtered since the last start: esc shows all" if since else ""

    def show_status(self) -> None:
        super().show_status()
        hides = self.hides if self.filter_text and not self._trouble else ""
        for line in self.query("#filter-hides").results(Static):
            if line.display or hides:
                line.display = bool(hides)
                line.update(safe(hides, one_line=True), layout=False)
        for wrong in self.query("#filter-wrong").results(Static):
            if wrong.display or self._trouble:
                wrong.display = bool(self._trouble)
                wrong.update(safe(self._trouble))

    def find(self, reference: str) -> None:
        """Filter by this, as if it had been typed."""
        self.action_filter()
        self.query_one("#filter", Input).value = reference
        self.focus_on(self.query("RowList").first())

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.add_class("-open")
        box.focus()
        box.action_select_all()

    def share_filter(self, text: str) -> None:
        """Filter by what was typed elsewhere, and show it in the box."""
        if text == self.filter_text:
            return
        self._put(text)
        self.filter_by(text)

    def leave_part(self) -> bool:
        return self.close_filter() or super().leave_part()

    def close_filter(self) -> bool:
        """Show everything again; returns whether there was a filter."""
        box = self.query_one("#filter", Input)
        if not box.has_class("-open"):
            return False
        box.value = ""
        box.remove_class("-open")
        self.focus_on(self.query("RowList").first())
        self.filter_by("")
        self.keep_place()
        return True
