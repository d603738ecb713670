"""The base of all screens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, cast

from sb.screens.actions import ACTIONS, DECIDE, EVERYWHERE, SECTIONS, Action, actions
from sb.screens.chrome import KeyLine, SectionLine, StatusLine, TroubleLine
from sb.screens.reading import Reading, trouble_of
from sb.screens.row_list import RowList
from sb.screens.state.records import Records
from textual.app import ComposeResult
from textual.events import Resize
from textual.screen import Screen
from textual.widget import Widget

from sb.errors import StoreError

if TYPE_CHECKING:
    from sb.screens.console import Console
    from sb.screens.state.kills import Pointed

SPLIT_CSS = """
Section .split { layout: vertical; height: 1fr; }
Section.-wide .split { layout: horizontal; }
Section .split > * { height: 1fr; width: 1fr; }
Section .split > .second { border-top: solid $panel; }
Section .split > .second:focus { border-top: solid $primary; }
Section.-wide .split > .second { border-top: none; border-left: solid $panel; }
Section.-wide .split > .second:focus { border-left: solid $primary; }
Section .stack > * { height: 1fr; }
Section .stack > .second { height: 2fr; border-top: solid $panel; }
Section .stack > .second:focus { border-top: solid $primary; }
"""


class Section(Reading, Screen[None]):
    """A screen between the line of sections and the line of keys.

    It reads when it comes into view and whenever something was written while it is in view.
    """

    name_: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]  # whose actions can be taken here
    heading: str
    AUTO_FOCUS = "RowList, DocumentView"
    DEFAULT_CSS = SPLIT_CSS
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def compose(self) -> ComposeResult:
        yield SectionLine(list(SECTIONS.values()), SECTIONS[self.app.current_mode])
        yield StatusLine()
        yield from self.body()
        yield TroubleLine()
        shown = actions(*self.parts, EVERYWHERE)
        yield KeyLine([action for action in shown if action.footer and self.console_app.allows(action)])

    @abstractmethod
    def body(self) -> Iterable[Widget]:
        """What is between the lines."""

    @abstractmethod
    def refresh_records(self) -> None:
        """Read what is on screen again."""

    @abstractmethod
    def summary(self) -> str:
        """What is on screen, for the status line."""

    def find(self, reference: str) -> None:
        """Put the cursor on a record, or show only what mentions this; a screen of one record has nothing to find."""

    def possible(self, action: Action) -> bool:
        """Whether this can be done now, with what the cursor is on."""
        rows = self.query(RowList)
        return action.group != DECIDE or not rows or rows.first().listing.current is not None

    def pointed_at(self) -> Pointed:
        """What the cursor is on."""
        return None

    def start_over(self) -> None:
        """Another database is at the path: no number of a row means anything any more."""

    @property
    def console_app(self) -> Console:
        return cast("Console", self.app)

    @property
    def records(self) -> Records:
        return self.console_app.records

    @property
    def composed(self) -> bool:
        """Whether its lists and records are there yet."""
        return self.is_mounted and bool(self.query("RowList, DocumentView"))

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self.refresh_records)

    def on_resize(self, event: Resize) -> None:
        self.show_status()

    def show_status(self) -> None:
        """Write the status and trouble lines anew."""
        if self.composed and self.is_current:
            app = self.console_app
            for line in self.query(StatusLine):  # none before the screen is composed
                line.say(f"{self.heading} {self.summary()}", app.freshness())
            for trouble in self.query(TroubleLine):
                trouble.say(app.trouble)

    def succeeded(self) -> None:
        self.console_app.read_succeeded()

    def failed(self, error: BaseException) -> None:
        trouble = trouble_of(error)
        for rows in self.query(RowList):
            if not rows.listing.keys:
                rows.show((), f"Could not read this.\n\n{trouble}\n\nr tries again.")
        if isinstance(error, StoreError):
            self.console_app.read_failed(trouble)
        else:
            self.app.notify(trouble, title="Not read", severity="error", timeout=8, markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        known = next((declared for declared in ACTIONS if declared.id == action), None)
        return known is None or self.console_app.allows(known)

    def tick(self) -> None:
        """Another second is over."""

    def action_refresh(self) -> None:
        """Read what is on screen again, because a person asks for it."""
        self.refresh_records()

    def leave_part(self) -> bool:
        """Leave a filter, a detail or a mark; returns whether there was one."""
        return False

    def action_back(self) -> None:
        """Leave what is open on this screen, or go back to Home."""
        if not self.leave_part():
            self.console_app.go("home")
