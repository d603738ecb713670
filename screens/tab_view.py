"""Sections that are views of one tab: the title of their list names all of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Generic, TypeVar

from sb.screens.actions import TABS, VIEWS
from sb.screens.document_view import DocumentView
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from sb.screens.section import Section
from textual import on
from textual.widget import Widget

Item = TypeVar("Item")


class TabView(Section):
    """One of the views of a tab; the others are a key away, and keep their place."""

    def views_panel(self, *children: Widget) -> Panel:
        """The panel of the list, with the names of all views."""
        panel = Panel(*children, views=VIEWS[TABS[self.name_]], id="views")
        panel.view = self.name_
        return panel

    def show_title(self) -> None:
        """Write how many records each view has, and on the foot what is marked and filtered."""
        panel = self.query_one("#views", Panel)
        counts = self.console_app.view_counts
        panel.count({view: counts[view] for view in panel.views if view in counts})
        panel.foot(self.summary())

    @on(Panel.Viewed, "#views")
    def _viewed(self, message: Panel.Viewed) -> None:
        message.panel.show_view(self.name_)
        self.console_app.go(message.view)

    def action_view(self, by: int) -> None:
        """Show the next view of the panel with the focus, or the one before."""
        self.step_view(by)

    def action_back(self) -> None:
        """Leave what is open here, then this view for the first of its tab."""
        tab = TABS[self.name_]
        if self.name_ == tab:
            super().action_back()
        elif not (self.leave_detail() or self.leave_part()):
            self.console_app.go(tab)


class ListView(TabView, Generic[Item]):
    """A view that lists few records, which are all read at once; each is known by its reference."""

    gone: ClassVar[str]  # what is said of a reference that is not listed

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, Item] = {}
        self._keys: dict[Hashable, int] = {}  # of what was seen, so that the cursor stays on its own
        self._wanted = ""  # for the cursor, once it is in the list

    @property
    def rows(self) -> RowList:
        return self.query_one(RowList)

    @property
    def current(self) -> Item | None:
        """The item under the cursor."""
        return self.known.get(self.rows.listing.current or 0)

    def keep(self, items: Sequence[Item], references: Sequence[Hashable]) -> None:
        """Know these from now on, each by its reference, and show how many they are."""
        keys = [self._keys.setdefault(reference, len(self._keys) + 1) for reference in references]
        self.known = dict(zip(keys, items, strict=True))
        self.console_app.view_counts[self.name_] = len(items)

    @on(RowList.Opened)
    def _opened(self, message: RowList.Opened) -> None:
        self.focus_on(self.query_one(DocumentView))

    def find(self, reference: str) -> None:
        """Put the cursor on a record."""
        self._wanted = reference
        self.refresh_records()

    def go_to_wanted(self, references: Sequence[str]) -> None:
        """Put the cursor on the record that was asked for; the references are those of the list, in its order."""
        wanted, self._wanted = self._wanted, ""
        if wanted in references:
            self.rows.select(list(self.known)[references.index(wanted)])
        elif wanted:
            self.console_app.say(self.gone)
