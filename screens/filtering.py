"""A filter box over a list, applied as one types."""

from __future__ import annotations

from abc import abstractmethod

from sb.screens.section import Section
from textual import on
from textual.timer import Timer
from textual.widgets import Input

from sb.errors import UsageError

DEBOUNCE_S = 0.08


class Filtering(Section):
    """A section with a filter over its list."""

    DEFAULT_CSS = """
    Filtering #filter { display: none; height: 1; border: none; padding: 0 1; background: $raised; }
    Filtering #filter:focus { border: none; }
    Filtering #filter.-open { display: block; }
    """
    _timer: Timer | None = None
    filter_text = ""
    _trouble = ""  # of what was typed last

    def filter_box(self, hint: str) -> Input:
        """The box, for the top of the body."""
        return Input(placeholder=hint, id="filter", select_on_focus=False)

    @abstractmethod
    def filter_changed(self) -> None:
        """Show what fits `filter_text`; the old rows stay until new ones are there."""

    @on(Input.Changed, "#filter")
    def _typed(self, message: Input.Changed) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_S, lambda: self.filter_by(message.value))

    @on(Input.Submitted, "#filter")
    def _entered(self) -> None:
        self.focus_on(self.query("RowList").first())

    def filter_by(self, text: str) -> None:
        """Show only what fits."""
        if text.strip() == self.filter_text and not self._trouble:
            return
        before, self.filter_text, self._trouble = self.filter_text, text.strip(), ""
        try:
            self.filter_changed()
        except UsageError as error:  # most are typed to their end: the rows stay until then
            self.filter_text, self._trouble = before, f"{error.message} ({error.hint})"
        self.show_status()

    def waiting_text(self) -> str:
        return self._trouble or super().waiting_text()

    def find(self, reference: str) -> None:
        """Filter by this, as if it had been typed."""
        self.action_filter()
        self.query_one("#filter", Input).value = reference
        self.focus_on(self.query("RowList").first())

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.add_class("-open")
        box.focus()

    def share_filter(self, text: str) -> None:
        """Filter by what was typed elsewhere, and show it in the box."""
        if text == self.filter_text:
            return
        box = self.query_one("#filter", Input)
        with box.prevent(Input.Changed):
            box.value = text
        box.set_class(bool(text), "-open")
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
        return True
