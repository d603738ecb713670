"""Sections with a list, some of whose lines wait for a person."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

from sb.screens.deciding import Deciding
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from textual import on

from sb.base.fitting import count

MOST_MARKED = 500


class Waiting(Deciding):
    """Marks lines to decide several at once, and goes from one that waits to the next."""

    _moves_on = False  # whether the cursor leaves what was decided, once the list is read again

    @property
    @abstractmethod
    def rows(self) -> RowList:
        """The list."""

    @abstractmethod
    def waiting(self) -> Sequence[int]:
        """The keys of what waits, in the order of the list."""

    def action_next_waiting(self, by: int) -> None:
        """Go on or back to what waits, and from the last to the first."""
        listing, waiting = self.rows.listing, self.waiting()
        if not waiting:
            self.console_app.say("Nothing waits for you.")
            return
        places = {key: place for place, key in enumerate(listing.keys)}
        here = listing.index
        ahead = [key for key in waiting if (places.get(key, here) - here) * by > 0]
        rest = ahead or [key for key in waiting if key in places]
        if rest:
            self.rows.select(rest[0] if by > 0 else rest[-1])

    def decided(self, outcome: tuple[list[str], list[str]]) -> None:
        self._moves_on = bool(outcome[0])
        super().decided(outcome)

    def move_on(self) -> None:
        """Leave what was just decided; called once the list was read again."""
        if self._moves_on:
            self._moves_on = False
            if self.waiting() and self.rows.listing.current not in self.waiting():
                self.action_next_waiting(1)

    def action_mark(self) -> None:
        self.rows.mark()
        self.show_status()

    def action_mark_all(self) -> None:
        """Mark all that wait and match the filter, or take the marks away again."""
        wanted = set(self.waiting()[:MOST_MARKED])
        marked = self.rows.listing.marked
        if wanted <= marked:
            marked.clear()
        else:
            marked |= wanted
        if len(self.waiting()) > MOST_MARKED:
            self.console_app.say(f"marked the first {MOST_MARKED}")
        self.rows.refresh()
        self.show_status()


class CountedList(Waiting):
    """The same where the panel of the list, its first, counts its views, and says on its foot where the cursor is."""

    @abstractmethod
    def view_counts(self) -> Mapping[str, int]:
        """Counts of lines, by view."""

    @abstractmethod
    def foot(self) -> Sequence[str]:
        """The footer's texts after the place of the cursor; blank ones are left out."""

    def total(self) -> int:
        """The number of lines, where not all are listed."""
        return 0

    def show_status(self) -> None:
        super().show_status()
        if self.composed and self.is_current:
            self.walk_children(Panel)[0].count(self.view_counts())
            self.show_foot()

    @on(RowList.Highlighted)
    def show_foot(self) -> None:
        """Write what is marked and where the cursor is."""
        if not self.walk_children(RowList):
            return  # a message of a list that is gone: the screen closes
        listing = self.rows.listing
        total = max(self.total(), len(listing.keys))
        marked = f"{count(len(listing.marked))} marked" if listing.marked else ""
        place = f"{count(listing.index + 1)} of {count(total)}" if listing.keys else ""
        self.walk_children(Panel)[0].foot(marked, place, *self.foot())
