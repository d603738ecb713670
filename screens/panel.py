"""Panels: a titled border around a list or a detail, and two of them that share a screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sb.screens.clicked import Parts
from sb.screens.reading import safe
from sb.screens.row_list import RowList
from textual.app import App
from textual.containers import Container
from textual.content import Content
from textual.events import Click, Resize
from textual.message import Message
from textual.widget import Widget

from sb.base.fitting import count
from sb.base.values.frozen import mutable

WIDE, HIGH = 100, 30  # cells and lines of a terminal from which on panels have borders
BESIDE = 140  # cells from which on two panels stand side by side: a list of half of less cuts most commands
BEFORE_TITLE = 2  # cells of a rule before its title; a border has a corner too
AROUND_TITLE = 6  # cells of a border that no title takes
SHARES = 20  # the cells of a screen are divided by so many parts
FIRST_WIDE, FIRST_HIGH = 11, 10  # of the first panel, beside and above the second
LEAST_SHARE = 5


class Panel(Container):
    """One list or detail below its title; several views of it are named there, the active one underlined.

    Args:
        title: what is in it, where it has one view.
        views: their names by ids, the first active.
    """

    SCOPED_CSS = False
    DEFAULT_CSS = """
    Panel { height: 1fr; background: $panel; border: round $line; border-title-color: $text;
            border-subtitle-color: $soft; border-subtitle-align: left; }
    Panel:focus-within { border: round $accent; border-title-color: $accent; }
    .-narrow Panel, .-low Panel { border: none; border-top: solid $line; }
    .-narrow Panel:focus-within, .-low Panel:focus-within { border: none; border-top: solid $accent;
                                                            border-title-style: reverse; }
    """

    @mutable
    class Viewed(Message):
        """Another view was chosen."""

        panel: Panel
        view: str

        @property
        def control(self) -> Panel:
            return self.panel

    def __init__(
        self,
        *children: Widget,
        title: str = "",
        views: Mapping[str, str] | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(*children, id=id)
        self.views = dict(views or {"": title})
        self.view = next(iter(self.views))
        self._counts: dict[str, int] = {}
        self._foot = ""
        self._written = Content(""), Content("")
        self._parts = Parts[str]()

    def on_click(self, event: Click) -> None:
        """A click on the name of a view shows that one."""
        view = self._parts.at(event.x - (BEFORE_TITLE + has_borders(self.app)))
        if event.widget is self and event.y == 0 and view not in (None, self.view):
            self.show_view(view)
            self.post_message(self.Viewed(self, view))

    def on_mount(self) -> None:
        self._write()

    def on_resize(self, event: Resize) -> None:
        self._write()

    def retitle(self, title: str) -> None:
        """Another title of the active view."""
        self.views[self.view] = title
        self._write()

    def count(self, counts: Mapping[str, int]) -> None:
        """Show the count of each view, by its id."""
        self._counts |= counts
        self._write()

    def foot(self, *parts: str) -> None:
        """Marks, position and filter, on the lower border; a rule has them behind its title."""
        self._foot = " · ".join(filter(None, parts))
        self._write()

    def show_view(self, view: str) -> None:
        """Make a view the active one, without a message."""
        self.view = view
        self._write()

    def step(self, by: int) -> None:
        """The next view, or the one before."""
        names = list(self.views)
        if len(names) > 1:
            self.show_view(names[(names.index(self.view) + by) % len(names)])
            self.post_message(self.Viewed(self, self.view))

    def _write(self) -> None:
        foot = safe(self._foot, one_line=True)
        if has_borders(self.app):
            above, below = self._titles(), foot
        else:
            views = Content.assemble(*(name for name, _ in self._named(list(self.views))))
            left = self.size.width - AROUND_TITLE - 2 - views.cell_length
            foot = foot.truncate(
                max(left, self.size.width // 3, 1), ellipsis=True
            )  # before views are left out
            title = self._titles(foot.cell_length + 2 if self._foot else 0)
            above = Content.assemble(" ", title, "  " if self._foot else "", foot.stylize("$soft"), " ")
            below = Content("")
        if not all(map(Content.is_same, (above, below), self._written)):  # != does not see what is underlined
            self._written = above, below
            self.border_title, self.border_subtitle = above, below

    def _titles(self, beside: int = 0) -> Content:
        """The names of the views; where they do not all fit, of the active one and those beside it.

        Args:
            beside: cells of what stands on the same line.
        """
        names = list(self.views)
        first, last, active = 0, len(names), names.index(self.view)
        self._parts = Parts(self._named(names))
        while self._parts.text.cell_length > self.size.width - AROUND_TITLE - beside and last - first > 1:
            if active - first >= last - active:
                first += 1
            else:
                last -= 1
            left = [("… " if first else "", None), *self._named(names[first:last])]
            self._parts = Parts([*left, (" …" if last < len(names) else "", None)])
        return self._parts.text

    def _named(self, names: Sequence[str]) -> Iterator[tuple[Content | str, str | None]]:
        for place, view in enumerate(names):
            active = len(self.views) > 1 and view == self.view
            title = safe(self.views[view], one_line=True)
            number = f" {count(self._counts[view])}" if view in self._counts else ""
            yield "  " if place else "", None
            yield Content.assemble(title.stylize("bold underline" if active else "bold"), number), view


def has_borders(app: App[object]) -> bool:
    """True if there is room for borders on all sides."""
    return app.size.width >= WIDE and app.size.height >= HIGH


@mutable
class Shares:
    """Where splits are, on all screens: parts of the first panel, of SHARES."""

    wide: int = FIRST_WIDE
    high: int = FIRST_HIGH


class Split(Container):
    """Two panels, side by side from BESIDE cells on, else one above the other: then a short list leaves room.

    Args:
        shares: the console's, which all screens have in common.
    """

    SCOPED_CSS = False
    DEFAULT_CSS = """
    Split { layout: vertical; height: 1fr; }
    .-beside Split { layout: horizontal; }
    .-beside.-high Split > Panel { margin: 0 1; }
    """

    def __init__(self, first: Panel, second: Panel, shares: Shares) -> None:
        super().__init__(first, second)
        self._panels = (first, second)
        self._shares = shares
        self._full: Panel | None = None
        self._empty: Panel | None = None

    def on_mount(self) -> None:
        for rows in self._panels[0].query(RowList):
            self.watch(rows, "virtual_size", self.share_out, init=False)
        self.share_out()

    def on_resize(self, event: Resize) -> None:
        self.share_out()

    def share_out(self) -> None:
        """Give each panel its share; a full one has all."""
        wide = self.app.size.width >= BESIDE
        share = self._shares.wide if wide else self._shares.high
        for panel, parts in zip(self._panels, (share, SHARES - share), strict=True):
            panel.display = self._full in (None, panel) and panel is not self._empty
            panel.styles.width = f"{parts}fr" if wide else "1fr"
            panel.styles.height = "1fr" if wide else f"{parts}fr"
        lines = self._short_list()
        if lines and not wide and not (self._full or self._empty):
            self._panels[0].styles.height = lines

    def _short_list(self) -> int:
        """The lines of the first panel where its list is shorter than its share; 0 where it is not, or was moved."""
        lists = list(self._panels[0].query(RowList))
        rows = lists[0].virtual_size.height if len(lists) == 1 else 0
        others = [it for it in self._panels[0].children if it not in lists]
        if self.app.size.height >= HIGH and any(
            it.styles.height and it.styles.height.value > 1 for it in others
        ):
            return 0  # a chart has what is left
        beside = sum(it.outer_size.height for it in others if it.display)
        lines = rows + beside + (2 if has_borders(self.app) else 1)
        fits = lines < self.size.height * self._shares.high // SHARES
        return lines if rows > 1 and fits and self._shares.high == FIRST_HIGH else 0

    def leave_out(self, panel: Panel, *, empty: bool) -> None:
        """Give the other panel all the room while there is nothing to show in this one."""
        before, self._empty = self._empty, panel if empty else None
        if before is not self._empty:
            self.share_out()

    def move(self, by: int) -> None:
        """Move what is between the panels by so many parts."""
        wide = self.app.size.width >= BESIDE
        name = "wide" if wide else "high"
        share = getattr(self._shares, name) + by
        setattr(self._shares, name, min(max(share, LEAST_SHARE), SHARES - LEAST_SHARE))
        self.share_out()

    def toggle_full(self) -> None:
        """Show the panel with the focus alone, or both again."""
        self._full = None if self._full else self._focused_panel()
        self.share_out()

    @property
    def full(self) -> bool:
        """True if one panel has all the room."""
        return self._full is not None

    def leave_full(self) -> bool:
        """Show both again; returns whether one was alone."""
        was, self._full = self._full, None
        self.share_out()
        return was is not None

    def show_panel_of(self, widget: Widget) -> None:
        """Make room for a widget that gets the focus, where the other panel is alone."""
        if self._full is not None:
            self._full = next(panel for panel in self._panels if panel in widget.ancestors)
            self.share_out()

    def focus_other(self) -> None:
        """The focus goes to the other panel."""
        first, second = self._panels
        other = second if self._focused_panel() is first else first
        target = next(
            widget
            for widget in other.walk_children()
            if isinstance(widget, Widget) and widget.can_focus and widget.display
        )
        self.show_panel_of(target)
        target.focus()

    def _focused_panel(self) -> Panel:
        focused = self.screen.focused
        second = self._panels[1]
        return second if focused is not None and second in focused.ancestors else self._panels[0]
