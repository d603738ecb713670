"""The contrast of a style's text to what is behind it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style


def contrast(style: Style) -> float:
    """Of text to what is behind it, as WCAG 2 computes it."""
    assert style.color is not None
    assert style.bgcolor is not None
    dark, light = sorted(_luminance(color.get_truecolor()) for color in (style.color, style.bgcolor))
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Sequence[int]) -> float:
    red, green, blue = (
        part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in color
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
