"""Charts of an agent's calls, and of what they cost, by the hour, drawn by plotext."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.color import Color
from textual_plotext import PlotextPlot

from sb.kernel.review.activity import Tally

AROUND = 5  # cells of axis and frame beside a title, and lines of them around the bars
LINES_OF_TICK = 2  # of an axis, at least
PARTS = {"ran": "accent", "asked": "warn", "refused": "danger"}  # of a bar, each with the token of its colour


class HoursChart(PlotextPlot):
    """Calls of the last 24 hours: what ran, what asked a person, what was refused or denied; beside it their cost."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    HoursChart { display: none; height: 8; background: $panel; }
    .-high HoursChart { display: block; }
    .-beside HoursChart { height: 11; }
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._shown: tuple[str, Sequence[Tally], Sequence[float]] = "", (), ()

    def on_resize(self) -> None:
        if self._shown[1]:
            self.show(*self._shown)

    def show(self, agent: str, hours: Sequence[Tally], cost: Sequence[float] = ()) -> None:
        """Draw these hours of an agent, oldest first; an hour's cost in dollars is left out where none is known."""
        self._shown = agent, hours, cost
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
        amiss = [f"{sum(part)} {name}" for name, part in zip(PARTS, (ran, asked, refused), strict=True)][1:]
        parts = [text for text in amiss if not text.startswith("0 ")]
        title = ", ".join([f"{agent}: calls an hour", *parts])  # a legend would lie over the bars
        room = (width - width // 2 if cost else width) - AROUND
        titles = (title, f"{agent}: calls an hour", "Calls an hour")
        calls.title(
            next((text for text in titles if len(text) <= room), "")
        )  # plotext leaves out a longer one whole
        calls.stacked_bar(x, [ran, asked, refused], color=colors, width=0.8)
        top = max(1, *map(sum, zip(ran, asked, refused, strict=True)))
        calls.ylim(0, top)
        ticks = max((height - AROUND) // LINES_OF_TICK, 1)  # besides 0
        calls.yticks(range(0, top + 1, -(-top // ticks)))
        calls.xticks([-last, -12, -6, 0], [f"{last}h ago", "12h", "6h", "now"])
        if cost:
            calls.plot_size(width - width // 2, height)
            dollars = plot.subplot(1, 2)
            dollars.plot_size(width // 2, height)
            dollars.title("Cost an hour, $")
            dollars.bar(x, list(cost), color=colors[0], width=0.8)
            dollars.ylim(0, max(cost))
            dollars.yticks([0, max(cost)], ["0", f"{max(cost):.2f}"])
            dollars.xticks([-last, -12, 0], [f"{last}h ago", "12h", "now"])
        self.refresh()
