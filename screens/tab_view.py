"""Sections that are views of one tab: the title of their list names all of them."""

from __future__ import annotations

from sb.screens.actions import TABS, VIEWS
from sb.screens.panel import Panel
from sb.screens.section import Section
from textual import on
from textual.widget import Widget


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
