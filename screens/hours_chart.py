"""A chart of an agent's calls by the hour, drawn by plotext."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.color import Color
from textual_plotext import PlotextPlot

from sb.kernel.review.activity import Tally

PARTS = {"ran": "accent", "asked": "warn", "refused": "danger"}  # of a bar, each with the token of its colour


class HoursChart(PlotextPlot):
    """Calls of the last 24 hours: what ran, what asked a person, and what was refused or denied."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    HoursChart { display: none; height: 11; background: $panel; }
    .-high HoursChart { display: block; }
    """

    def show(self, hours: Sequence[Tally]) -> None:
        """Draw these hours, oldest first."""
        refused = [tally.refused + tally.denied for tally in hours]
        asked = [tally.asked for tally in hours]
        ran = [max(tally.calls - tally.refused - tally.asked, 0) for tally in hours]
        last = len(hours) - 1
        tokens = self.app.get_css_variables()
        colors = [tuple(Color.parse(tokens[token]).rgb) for token in PARTS.values()]
        plot: Any = self.plt  # the annotations of textual-plotext lag behind plotext's own
        plot.clear_figure()
        plot.title("Calls an hour")
        bars = [ran, asked, refused]
        plot.stacked_bar(list(range(-last, 1)), bars, labels=list(PARTS), color=colors, width=0.8)
        plot.xticks([-last, -12, -6, 0], [f"{last}h ago", "12h", "6h", "now"])
        self.refresh()
