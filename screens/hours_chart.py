"""Charts of an agent's calls, and of what they cost, by the hour, drawn by plotext."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.color import Color
from textual_plotext import PlotextPlot

from sb.kernel.review.activity import Tally

PARTS = {"ran": "accent", "asked": "warn", "refused": "danger"}  # of a bar, each with the token of its colour


class HoursChart(PlotextPlot):
    """Calls of the last 24 hours: what ran, what asked a person, what was refused or denied; beside it their cost."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    HoursChart { display: none; height: 11; background: $panel; }
    .-high HoursChart { display: block; }
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._shown: tuple[Sequence[Tally], Sequence[float]] = (), ()

    def on_resize(self) -> None:
        if self._shown[0]:
            self.show(*self._shown)

    def show(self, hours: Sequence[Tally], cost: Sequence[float] = ()) -> None:
        """Draw these hours, oldest first; an hour's cost in dollars is left out where none is known."""
        self._shown = hours, cost
        refused = [tally.refused + tally.denied for tally in hours]
        asked = [tally.asked for tally in hours]
        ran = [max(tally.calls - tally.refused - tally.asked, 0) for tally in hours]
        last = len(hours) - 1
        tokens = self.app.get_css_variables()
        colors = [tuple(Color.parse(tokens[token]).rgb) for token in PARTS.values()]
        plot: Any = self.plt  # the annotations of textual-plotext lag behind plotext's own
        plot.clear_figure()
        if cost:
            plot.subplots(1, 2)
        width, height = self.size
        calls, x = plot.subplot(1, 1) if cost else plot, list(range(-last, 1))
        calls.title("Calls an hour")
        calls.stacked_bar(x, [ran, asked, refused], labels=list(PARTS), color=colors, width=0.8)
        calls.xticks([-last, -12, -6, 0], [f"{last}h ago", "12h", "6h", "now"])
        if cost:
            calls.plot_size(width - width // 2, height)
            dollars = plot.subplot(1, 2)
            dollars.plot_size(width // 2, height)
            dollars.title("Cost an hour, $")
            dollars.bar(x, list(cost), color=colors[0], width=0.8)
            dollars.xticks([-last, -12, 0], [f"{last}h ago", "12h", "now"])
        self.refresh()
