"""Colours in a real terminal: each text is painted in another one than what is behind it.

Tests with a pilot paint a screen once it is at rest. A terminal gets it while it is styled.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pyte
import pytest
from sb.screens.actions import SECTIONS, VIEWS

from tests.screens.conftest import Agents
from tests.screens.terminal import Terminal, bold, invisible


def in_view(number: int, screen: pyte.Screen) -> bool:
    """True if the tab of this number is the active one."""
    return f" {number} " in f" {bold(screen)} "


def change_theme(terminal: Terminal) -> None:
    surface = terminal.screen.buffer[0][0].bg
    terminal.type("T")
    terminal.rest(lambda screen: screen.buffer[0][0].bg != surface)


@pytest.mark.parametrize(
    ("colours", "columns", "lines"), [("truecolor", 160, 40), ("truecolor", 80, 24), ("", 80, 24)]
)
def test_no_text_has_the_colour_of_what_is_behind_it(
    agents: Agents, home: Path, colours: str, columns: int, lines: int
) -> None:
    agents.clock.time = time.time()  # the console's clock is the machine's
    agents.work(4)
    agents.pay()
    agents.change_contract()
    agents.call("bank.hang", {"text": "x"})
    agents.runtime.brain("clerk").remember("the office is in Bonn")
    terminal = Terminal(home, columns, lines, COLORTERM=colours)
    terminal.rest(lambda screen: "bank.pay" in "\n".join(screen.display))
    hidden = {"start": invisible(terminal.screen)}
    for theme in ("dark", "light"):
        for number, name in enumerate(SECTIONS, 1):
            terminal.type(str(number))
            terminal.rest(partial(in_view, number))
            for view in VIEWS.get(name, [name]):
                hidden[f"{theme}, {view}"] = invisible(terminal.screen)
                terminal.type("]")
                terminal.rest(partial(in_view, number))
        change_theme(terminal)
    terminal.type("q")
    assert terminal.wait() == 0
    assert {place: texts for place, texts in hidden.items() if texts} == {}


def test_text_that_is_painted_on_its_own_colour_is_found() -> None:
    screen = pyte.Screen(40, 2)
    stream = pyte.Stream(screen)
    stream.feed("12 calls \x1b[38;2;225;229;240;48;2;15;17;23m3 denied\x1b[0m\r\n")
    assert invisible(screen) == []
    stream.feed("\x1b[38;2;15;17;23;48;2;15;17;23m12 calls\x1b[38;5;234;48;5;234m, 3 denied\x1b[0m")
    assert invisible(screen) == ["line 1: 12 calls, 3 denied"]
