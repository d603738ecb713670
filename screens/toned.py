"""The styles of tones, badges and search hits, and cells painted with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from sb.screens.state.listing import TONES, Cell, Column
from textual.scroll_view import ScrollView

from sb.fitting import Cut, Fitted, cell_width, fit_hits, fit_keeping

BADGES = ("ok", "warn", "danger", "info")
LEVELS = "▁▂▃▄▅▆▇"  # no full block: rows of them would fuse
LEAST_FOR_HITS = 8  # cells; fewer cannot show a hit between two ellipses
PARTS = ("hit", "strong", "cursor", "cursor2", *(f"{tone}-badge" for tone in BADGES))
Look = Callable[[str], Style]


class Toned(ScrollView):
    """A widget that paints its lines itself, in the tones of the theme."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tone--{name}" for name in (*TONES, *PARTS)}
    DEFAULT_CSS = "\n".join(
        [
            *(f"Toned .tone--{tone} {{ color: ${tone}; }}" for tone in TONES),
            *(
                f"Toned .tone--{tone}-badge {{ color: ${tone}; background: ${tone}_bg; text-style: bold; }}"
                for tone in BADGES
            ),
            "Toned .tone--hit { color: $hit; background: $hit_bg; }",
            "Toned .tone--strong { text-style: bold; }",
            "Toned .tone--cursor { background: $cursor; }",
            "Toned .tone--cursor2 { background: $cursor2; }",
        ]
    )

    def look(self, name: str) -> Style:
        """The style of a tone or part, "" for the plain one."""
        return self.get_component_rich_style(f"tone--{name}", partial=True) if name else Style()


def cell_segments(cell: Cell, column: Column, width: int, base: Style, look: Look) -> list[Segment]:
    """A cell in exactly so many cells of a terminal."""
    if cell.trend:
        return _trend(cell, width, base, look)
    inset = min(1 if cell.badge or column.badges else 0, width)
    style = base + look(cell.tone)
    if cell.badge:
        style = base + look(f"{cell.tone if cell.tone in BADGES else 'info'}-badge")
    room = max(width - inset * (2 if cell.badge else 1), 0)
    fitted = _fitted(cell, column, room)
    free = " " * (width - inset - cell_width(fitted.text))
    before, after = " " * inset + (free if column.right else ""), "" if column.right else free
    painted = [Segment(before, style), *text_segments(fitted, style, look), Segment(after, style)]
    return [segment for segment in painted if segment.text]


def _fitted(cell: Cell, column: Column, room: int) -> Fitted:
    if cell.keeps and column.cut is Cut.MIDDLE:
        return Fitted(fit_keeping(cell.text, room, cell.keeps))
    return fit_hits(cell.text, room, column.cut, cell.hits if room >= LEAST_FOR_HITS else ())


def text_segments(fitted: Fitted, style: Style, look: Look) -> list[Segment]:
    """A text with its hits in their colour."""
    painted, place = [], 0
    for start, end in fitted.hits:
        hit = Segment(fitted.text[start:end], style + look("hit"))
        painted += [Segment(fitted.text[place:start], style), hit]
        place = end
    return [*painted, Segment(fitted.text[place:], style)]


def _trend(cell: Cell, width: int, base: Style, look: Look) -> list[Segment]:
    shown = cell.trend[-width:]
    painted = [Segment(" " * (width - len(shown)), base)] if len(shown) < width else []
    return painted + [Segment(bar, base + look(tone)) for bar, tone in bars(shown)]


def bars(trend: Sequence[tuple[int, bool]]) -> list[tuple[str, str]]:
    """A sparkline: a bar for each number, with its tone."""
    most = max((number for number, _ in trend), default=0)
    painted = []
    for number, alarm in trend:
        level = 0 if not number else 1 + (len(LEVELS) - 2) * number // most
        painted.append((LEVELS[level], "danger" if alarm else "accent" if number else "soft"))
    return painted
