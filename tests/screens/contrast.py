"""The contrast of text to what is behind it: of a style, and of all that is on screen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.color import ColorSystem
from rich.style import Style
from sb.screens.app import ConsoleApp
from textual._context import visible_screen_stack

LEAST = 4.5
LINES = " ─│╭╮╰╯━▁▂▃▄▅▆▇▌"  # say nothing that no text says


def contrast(style: Style) -> float:
    """Of text to what is behind it, as WCAG 2 computes it."""
    assert style.color is not None
    assert style.bgcolor is not None
    dark, light = sorted(_luminance(color.get_truecolor()) for color in (style.color, style.bgcolor))
    return (light + 0.05) / (dark + 0.05)


def unreadable(app: ConsoleApp) -> list[str]:
    """Each text on screen with less contrast than it needs, as a terminal of this many colours paints it.

    Below a dialog everything is dimmed: then the dialog alone is looked at.
    """
    visible_screen_stack.set(app._background_screens)
    system = ColorSystem.EIGHT_BIT if app.console.color_system != "truecolor" else ColorSystem.TRUECOLOR
    wrong = []
    strips = app.screen._compositor.render_strips()
    for dialog in app.screen.query(".dialog"):
        place = dialog.region
        strips = [strip.crop(place.x, place.right) for strip in strips[place.y : place.bottom]]
    for strip in strips:
        for text, style, _ in strip:
            if text.strip(LINES):
                assert style is not None
                ratio = _painted_contrast(style, system)
                wrong += [f"{text!r} {style}: {ratio:.1f}"] if ratio < LEAST else []
    return wrong


@lru_cache(None)  # a screen has few styles, and many texts in each
def _painted_contrast(style: Style, system: ColorSystem) -> float:
    return contrast(_as_painted(style, system))


def _as_painted(style: Style, system: ColorSystem) -> Style:
    assert style.color is not None
    assert style.bgcolor is not None
    return Style(color=style.color.downgrade(system), bgcolor=style.bgcolor.downgrade(system))


def _luminance(color: Sequence[int]) -> float:
    red, green, blue = (
        part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in color
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
