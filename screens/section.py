"""The base of all screens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from sb.screens.actions import ACTIONS, DECIDE, EVERYWHERE, LISTS, PANELS, Action, actions, bindings
from sb.screens.chrome import TOUCHED_BELOW, KeyLine, TabLine, TouchLine, TroubleLine
from sb.screens.document_view import DocumentView
from sb.screens.panel import BESIDE, HIGH, WIDE, Panel, Split
from sb.screens.reading import Reading, trouble_of
from sb.screens.row_list import RowList
from sb.screens.state.records import Records
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import Resize, ScreenResume
from textual.screen import Screen
from textual.widget import Widget

from sb.errors import StoreError

if TYPE_CHECKING:
    from sb.screens.console import Console
    from sb.screens.state.kills import Pointed

    from sb.operator.attention.inbox import Group


class Section(Reading, Screen[None]):
    """A screen between the line of sections and the line of keys.

    It reads when it comes into view and whenever something was written while it is in view.
    """

    name_: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]  # whose actions can be taken here
    heading: str
    AUTO_FOCUS = "RowList, DocumentView"
    BINDINGS = [*bindings(PANELS), Binding("tab", "focus_next", "next panel", show=False)]
    # A first screen is painted before the app has its styles: a widget that has no colour by then stays without one.
    DEFAULT_CSS = "Section { background: $canvas; color: $text; }"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide"), (BESIDE, "-beside")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (HIGH, "-high")]
    _resumes = 0

    def compose(self) -> ComposeResult:
        self._class_by_size()
        self.set_class(self.app.size.width < TOUCHED_BELOW, "-touched", update=False)
        yield TabLine(self.app.current_mode)
        yield from self.body()
        yield TroubleLine()
        shown = [it for it in actions(*self.parts, EVERYWHERE) if self.console_app.allows(it)]
        touched = TouchLine(shown)
        touched.display = self.app.size.width < TOUCHED_BELOW
        yield touched
        yield KeyLine([action for action in shown if action.footer])

    def _class_by_size(self) -> None:
        """Textual sets these classes after the first layout, which styles every widget once more."""
        size = self.app.size
        sides = (size.width, self.HORIZONTAL_BREAKPOINTS), (size.height, self.VERTICAL_BREAKPOINTS)
        for cells, breakpoints in sides:
            for _, name in [item for item in breakpoints or () if item[0] <= cells][-1:]:
                self.add_class(name, update=False)

    @abstractmethod
    def body(self) -> Iterable[Widget]:
        """The widgets between title and footer."""

    @abstractmethod
    def refresh_records(self) -> None:
        """Read what is on screen again."""

    def is_deciding(self) -> bool:
        """True if a decision is being made here, or its outcome is still being read."""
        return False

    def summary(self) -> str:
        """The title of the first panel; "" where it names its views."""
        return ""

    def find(self, reference: str) -> None:
        """Put the cursor on a record, or show only what mentions this; a screen of one record has nothing to find."""

    def possible(self, action: Action) -> bool:
        """True if this does something now, with what the cursor is on; the line of keys names no other."""
        if action.group != DECIDE and action.id != "open":  # needs no row
            return True
        rows = self.list_in_use
        return rows is None or rows.listing.current is not None

    def labels(self) -> Mapping[str, str]:
        """Words for the line of keys, by actions, where the record under the cursor has its own."""
        return {}

    @property
    def list_in_use(self) -> RowList | None:
        """The list with the focus, else the first."""
        if isinstance(self.focused, RowList):  # or each key's line would have the whole screen walked through
            return self.focused
        return next(iter(self.walk_children(RowList)), None)

    def show_keys(self) -> None:
        """Name in the line of keys what can be done now."""
        listed = (
            bool(self.walk_children(RowList)) or LISTS not in self.parts
        )  # the list is gone while the screen closes
        if self.composed and listed:
            impossible = frozenset(action.id for action in actions(*self.parts) if not self.possible(action))
            for keys in self.walk_children(KeyLine):  # none before the screen is composed
                keys.show(impossible, self.labels())
            for touched in self.walk_children(TouchLine):
                touched.show(impossible)

    def after_read(self) -> None:
        self.show_keys()

    @on(RowList.Highlighted)
    def _cursor_moved(self) -> None:
        self.show_keys()

    def on_descendant_focus(self) -> None:
        self.show_keys()

    def pointed_at(self) -> Pointed:
        """The item under the cursor."""
        return None

    def command(self) -> str:
        """The command line that shows what the cursor is on; "" for none."""
        return ""

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
        """True if its lists and records are there, and the console is not about to end."""
        return (
            not self.console_app.leaving.is_set()
            and self.is_mounted
            and bool(self.walk_children(RowList) or self.walk_children(DocumentView))
        )

    def on_screen_resume(self, event: ScreenResume) -> None:
        event.refresh_styles = self.console_app.restyles
        self._resumes += 1
        self.call_after_refresh(self._resumed, self._resumes)

    def _resumed(self, number: int) -> None:
        if number == self._resumes:  # Textual says it twice on the first visit
            self.refresh_records()

    def on_resize(self, event: Resize) -> None:
        for touched in self.walk_children(TouchLine):
            touched.display = event.size.width < TOUCHED_BELOW
        self.set_class(event.size.width < TOUCHED_BELOW, "-touched")
        self.show_status()

    def show_status(self) -> None:
        """Write the lines around the screen and the first panel's title anew."""
        if self.composed and self.is_current:
            app = self.console_app
            for tabs in self.walk_children(TabLine):  # none before the screen is composed
                tabs.show(app.needs, app.freshness())
            self.show_title()
            self.show_keys()
            for trouble in self.walk_children(TroubleLine):
                trouble.say(app.trouble or self.waiting_text())

    def waiting_text(self) -> str:
        """The read that this screen waits for, once it takes long; "" for none."""
        return ""

    def show_title(self) -> None:
        """Write the title of the first panel anew."""
        summary = self.summary()
        for panel in self.walk_children(Panel)[: 1 if summary else 0]:
            panel.retitle(f"{self.heading} {summary}")

    def succeeded(self) -> None:
        self.console_app.read_succeeded()

    def failed(self, error: BaseException) -> None:
        trouble = trouble_of(error)
        for rows in self.walk_children(RowList):
            if not rows.listing.keys:
                rows.show((), f"Could not read this.\n\n{trouble}\n\nr tries again.")
        if isinstance(error, StoreError):
            self.console_app.read_failed(trouble)
        else:
            self.app.notify(trouble, title="Not read", severity="error", timeout=8, markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        known = next((declared for declared in ACTIONS if declared.id == action), None)
        return known is None or self.console_app.allows(known)

    def show_inbox(self, groups: Sequence[Group]) -> None:
        """Show what waits now, where that is listed."""

    def tick(self) -> None:
        """Another second is over."""

    def action_refresh(self) -> None:
        """Read what is on screen again, because a person asks for it."""
        self.refresh_records()

    def split(self, first: Panel, second: Panel) -> Split:
        """Two panels at the place where all screens are divided."""
        return Split(first, second, self.console_app.shares)

    def focus_on(self, widget: Widget) -> None:
        """Move the focus, to a panel that is out of view too."""
        for split in self.walk_children(Split):
            split.show_panel_of(widget)
        widget.focus()

    def step_view(self, by: int) -> None:
        """The next view, or the one before, of the panel with the focus, or of the first that has several."""
        panels = [panel for panel in self.walk_children(Panel) if len(panel.views) > 1]
        focused = [panel for panel in panels if self.focused is not None and panel in self.focused.ancestors]
        for panel in (focused or panels)[:1]:
            panel.step(by)

    def action_full(self) -> None:
        for split in self.walk_children(Split):
            split.toggle_full()

    def action_move_split(self, by: int) -> None:
        for split in self.walk_children(Split):
            split.move(by)

    def action_focus_next(self) -> None:
        """The next list, box or record, in the other panel if this one is alone."""
        splits = self.walk_children(Split)
        if splits and splits[0].full:
            splits[0].focus_other()
        else:
            self.focus_next()

    def leave_detail(self) -> bool:
        """Go from a record back to its list, or take all marks away; returns whether there was one."""
        for rows in self.walk_children(RowList):
            if self.query("DocumentView:focus"):
                self.focus_on(rows)
                return True
            if rows.listing.marked:
                rows.listing.marked.clear()
                rows.refresh()
                self.show_status()
                return True
        return False

    def leave_part(self) -> bool:
        """Leave a filter or a full panel; returns whether there was one."""
        return any(split.leave_full() for split in self.walk_children(Split))

    def action_back(self) -> None:
        """Leave what is open on this screen, or go back to the Inbox."""
        if not (self.leave_detail() or self.leave_part()):
            self.console_app.go("inbox")
