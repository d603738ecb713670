"""Computes whether every line that is painted fits its place."""

from __future__ import annotations

from rich.cells import cell_len
from sb.screens.app import ConsoleApp
from textual._context import visible_screen_stack
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Input

WIDTHS = (60, 72, 80, 99, 100, 116, 120, 160, 200)
WIDE = "\u6f22\u5b57" * 60  # two cells each


def beyond_dialog(app: ConsoleApp) -> list[str]:
    """Parts that are wider than the dialog in view, or cut by it, and the dialog itself where it leaves the screen."""
    wrong = []
    for dialog in app.screen.query(".dialog"):
        inner = dialog.content_region
        if not app.screen.region.contains_region(dialog.region):
            wrong.append(f"{dialog}: {dialog.region}")
        for widget in dialog.walk_children(Widget):
            if widget.display and widget.region and not widget.loading:
                place = widget.virtual_region_with_margin
                wrong += [f"{widget}: {place}"] if place.width > inner.width else []
            if isinstance(widget, Input) and widget.display and widget.region:
                room = widget.content_region.width
                wrong += [widget.placeholder] if cell_len(widget.placeholder) > room else []
    return wrong


def overflowing(app: ConsoleApp) -> list[str]:
    """The lines of widgets and of the whole screen that are wider or narrower than their place."""
    wrong = []
    for widget in app.screen.walk_children(Widget):
        if widget.display and widget.region and widget.is_scrollable and not widget.is_container:
            place = widget.size
            lines = [widget.render_line(y) for y in range(place.height)]
            wrong += [f"{widget}: {line.text!r}" for line in lines if cell_len(line.text) != place.width]
            covered = [line.crop(widget.scrollable_content_region.width).text for line in lines]
            wrong += [f"{widget}, below its scroll bar: {text!r}" for text in covered if text.strip()]
    visible_screen_stack.set(app._background_screens)
    size: Size = app.size
    strips = app.screen._compositor.render_strips()
    wrong += [f"screen: {strip.text!r}" for strip in strips if cell_len(strip.text) != size.width]
    return wrong
