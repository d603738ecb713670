"""The styles of tones, badges and search hits, and cells painted with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from sb.screens.state.listing import TONES, Cell, Column
from textual.widget import Widget

from sb.fitting import ELLIPSIS, Piece, pieces

BADGES = ("ok", "warn", "danger", "info")
LEVELS = "▁▂▃▄▅▆▇"  # no full block: rows of them would fuse
PARTS = ("hit", "strong", "cursor", "cursor2", *(f"{tone}-badge" for tone in BADGES))
Look = Callable[[str], Style]


class Toned(Widget):
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
    inset = 1 if cell.badge or column.badges else 0
    style = base + look(cell.tone)
    if cell.badge:
        style = base + look(f"{cell.tone if cell.tone in BADGES else 'info'}-badge")
    room = max(width - 2 * inset, 0) if cell.badge else max(width - inset, 0)
    painted = text_segments(cell, pieces(cell.text, room, column.cut, *cell.hits[:1]), style, look)
    free = max(width - inset - sum(segment.cell_length for segment in painted), 0)
    before = " " * min(inset + (free if column.right else 0), width)
    after = " " * (0 if column.right else free)
    padding = [Segment(before, style)] if before else []
    return [*padding, *painted, *([Segment(after, style)] if after else [])]


def text_segments(cell: Cell, parts: list[Piece], style: Style, look: Look) -> list[Segment]:
    """The pieces of a cell's text that fit, with its hits in their colour."""
    painted: list[Segment] = []
    text, place, hit_style = cell.text, 0, style + look("hit") if cell.hits else style
    for start, end in parts:
        if start > place:
            painted.append(Segment(ELLIPSIS, style))
        place = start
        for first, last in cell.hits:
            first, last = max(first, place), min(last, end)
            if first < last:
                painted += [Segment(text[place:first], style), Segment(text[first:last], hit_style)]
                place = last
        painted.append(Segment(text[place:end], style))
        place = end
    if place < len(text) and parts:
        painted.append(Segment(ELLIPSIS, style))
    return [segment for segment in painted if segment.text]


def _trend(cell: Cell, width: int, base: Style, look: Look) -> list[Segment]:
    shown = cell.trend[-width:]
    most = max((number for number, _ in shown), default=0)
    painted = [Segment(" " * (width - len(shown)), base)] if len(shown) < width else []
    for number, alarm in shown:
        level = 0 if not number else 1 + (len(LEVELS) - 2) * number // most
        painted.append(
            Segment(LEVELS[level], base + look("danger" if alarm else "accent" if number else "soft"))
        )
    return painted
