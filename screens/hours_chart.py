"""Charts of an agent's calls, and of what they cost, by the hour, drawn by plotext."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.color import Color
from textual_plotext import PlotextPlot

from sb.kernel.review.activity import Tally

AROUND = 5  # cells of axis and frame beside a title, and lines of them around the bars
BOTH = 60  # cells from which on there is room for two
LINES_OF_TICK = 2  # of an axis, at least
PARTS = {"ran": "accent", "asked": "warn", "refused": "danger"}  # of a bar, each with the token of its colour


class HoursChart(PlotextPlot):
    """Calls of the last 24 hours: what ran, what asked a person, what was refused; beside it their cost."""

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
        asked, refused = [tally.asked for tally in hours], [tally.refused for tally in hours]
        ran = [max(tally.calls - tally.refused - tally.asked, 0) for tally in hours]
        last = len(hours) - 1
        tokens = self.app.get_css_variables()
        colors = [tuple(Color.parse(tokens[token]).rgb) for token in PARTS.values()]
        plot: Any = self.plt  # the annotations of textual-plotext lag behind plotext's own
        plot.clear_figure()
        width, height = self.size
        cost = cost if width >= BOTH else ()
        if cost:
            plot.subplots(1, 2)
        calls, x = plot.subplot(1, 1) if cost else plot, list(range(-last, 1))
        denied = sum(tally.denied for tally in hours)  # of those that asked, now or a day ago
        sums = {"asked": sum(asked), "denied": denied, "refused": sum(refused)}
        parts = [f"{total} {name}" for name, total in sums.items() if total]
        title = ", ".join([f"{agent}: calls an hour", *parts])  # a legend would lie over the bars
        room = (width - width // 2 if cost else width) - AROUND
        titles = (title, f"{agent}: calls an hour", "Calls an hour")
        calls.title(
            next((text for text in titles if len(text) <= room), "")
        )  # plotext leaves out a longer one whole
        top = max(1, *map(sum, zip(ran, asked, refused, strict=True)))
        line = top / max(height - AROUND, 1)  # a part of less would lie below the others
        bars = [ran, *([max(it, line) if it else 0 for it in part] for part in (asked, refused))]
        calls.stacked_bar(x, bars, color=colors, width=0.8)
        calls.ylim(0, max(top, *map(sum, zip(*bars, strict=True))))
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
