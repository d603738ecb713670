"""The styles of tones, badges and search hits, and cells painted with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from sb.screens.state.document import DIFF
from sb.screens.state.listing import TONES
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sb.base.fitting import Cut, Fitted, cell_width, fit_hits, fit_keeping
from sb.present.kind import Cell, Column

BADGES = ("ok", "warn", "danger", "info")
LEVELS = "▁▂▃▄▅▆▇"  # no full block: rows of them would fuse
LEAST_FOR_HITS = 8  # cells; fewer cannot show a hit between two ellipses
# Tokens of the theme for text and background, "" for none, and whether it is bold.
LOOKS: dict[str, tuple[str, str, bool]] = {
    **{tone: (tone, "", False) for tone in TONES},
    **{f"{tone}-badge": (tone, f"{tone}_bg", True) for tone in BADGES},
    "hit": ("hit", "hit_bg", False),
    "strong": ("", "", True),
    **{name: ("", name, False) for name in ("cursor", "cursor2")},
    **{name: ("", name.replace("-", "_"), name.endswith("word")) for name in DIFF},
}
Look = Callable[[str], Style]


class Toned(ScrollView):
    """A widget that paints its lines itself, in the tones of the theme.

    They are no component classes: Textual matches each of those with all rules whenever the focus moves.
    """

    _painting = False
    _base: Style | None = None

    def render_lines(self, crop: Region) -> list[Strip]:
        self._painting, self._base = True, None
        try:
            return super().render_lines(crop)
        finally:
            self._painting, self._base = False, None

    @property
    def base_style(self) -> Style:
        """The style of a line without a tone; it is the same for all lines of one painting, and dear to compute."""
        base = self._base or self.rich_style
        if self._painting:
            self._base = base
        return base

    def look(self, name: str) -> Style:
        """The style of a tone or part, "" for the plain one."""
        if not name:
            return Style.null()
        text, background, bold = LOOKS[name]
        colours = self.app.theme_variables
        return _style(colours[text] if text else None, colours[background] if background else None, bold)


@lru_cache
def _style(text: str | None, background: str | None, bold: bool) -> Style:
    return Style(color=text, bgcolor=background, bold=bold or None)


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
