"""The console's glyphs for a terminal whose locale is not UTF-8."""

from __future__ import annotations

import locale

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_ASCII = str.maketrans(
    {
        **dict.fromkeys("╭╮╰╯", "+"),
        **dict.fromkeys("─━", "-"),
        "│": "|",
        **dict.fromkeys("▌▎▏", ">"),
        **dict.fromkeys("●↳", "*"),
        "○": "o",
        "▸": ">",
        "▾": "v",
        "…": "~",
        "·": ".",
        **dict(zip("▁▂▃▄▅▆▇", "_.,-=^|", strict=True)),
    }
)


class AsciiGlyphs(LineFilter):
    """Paints each of our glyphs as one character of ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment if segment.text.isascii() else Segment(segment.text.translate(_ASCII), *segment[1:])
            for segment in segments
        ]


def ascii_only() -> bool:
    """True if the locale's encoding has none of our glyphs."""
    try:
        "╭▌●▁…".encode(locale.getencoding())
    except (UnicodeEncodeError, LookupError):
        return True
    return False
