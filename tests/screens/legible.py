"""Checks that a screen can be read at every width and in both themes."""

from __future__ import annotations

from sb.screens.theme import DARK, LIGHT
from textual.pilot import Pilot

from tests.screens.conftest import Console
from tests.screens.contrast import unreadable
from tests.screens.overflow import WIDTHS, overflowing


async def check_legible(console: Console, pilot: Pilot[None]) -> None:
    """Resize the terminal, then change the theme and back; fails for a line that overflows and for faint text."""
    for width in WIDTHS:
        await console.resize(width, 24 if width < 100 else 36)
        assert not overflowing(console.app), width
    for _ in (DARK, LIGHT):
        assert not unreadable(console.app), console.app.theme
        await console.press(pilot, "T")
