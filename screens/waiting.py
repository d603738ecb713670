"""Sections with a list, some of whose lines wait for a person."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from sb.screens.actions import Action
from sb.screens.deciding import Deciding
from sb.screens.row_list import RowList

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
        if outcome[0] and not outcome[1]:  # what failed stays marked
            self.rows.listing.marked.clear()
        super().decided(outcome)

    def move_on(self) -> None:
        """Leave what was just decided; called once the list was read again."""
        if self._moves_on:
            self._moves_on = False
            if self.waiting() and self.rows.listing.current not in self.waiting():
                self.action_next_waiting(1)

    def possible(self, action: Action) -> bool:
        return self.can_mark if action.id == "mark" else super().possible(action)

    @property
    def can_mark(self) -> bool:
        """True if what the cursor is on can be decided together with others."""
        return len(self.rows.listing.keys) > 1 and self.rows.listing.current in self.waiting()

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
