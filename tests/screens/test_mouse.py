"""Mouse and touch: tabs, views, keys, rows and the keys of dialogs do on a click what their keys do."""

from __future__ import annotations

import pytest
from sb.screens.app import ConsoleApp
from sb.screens.chrome import KeyLine, TabLine, TouchLine
from sb.screens.clicked import KeyHint, Parts
from sb.screens.decision import DecisionScreen
from sb.screens.panel import Panel
from sb.screens.row_list import RowList
from textual.events import Click
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

from tests.screens.conftest import Agents, Console
from tests.screens.test_deciding import state


async def click(console: Console, pilot: Pilot[None], widget: type[Widget] | str, text: str) -> None:
    """Click the first place of a widget that has this text."""
    found = console.app.screen.query(widget).first()
    place = found.region
    lines = console.text().split("\n")[place.y : place.bottom]
    [(row, line), *_] = [(row, line) for row, line in enumerate(lines) if text in line[place.x : place.right]]
    await pilot.click(found, offset=(line.index(text, place.x) - place.x, row))
    await console.until(pilot, lambda: True)


def test_a_click_on_a_tab_shows_its_place(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        for text, view in (
            ("Activity", "log"),
            ("4 M", "memory"),
            ("Rules", "contracts"),
            ("Inbox", "inbox"),
        ):
            await click(console, pilot, TabLine, text)
            assert console.at(view)
        await click(console, pilot, TabLine, "live")
        assert console.at("inbox")

    console(script)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
def test_a_click_on_the_name_of_a_view_shows_it(
    agents: Agents, console: Console, size: tuple[int, int]
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3")
        for text, view in (("Decisions", "decisions"), ("Changes", "changes"), ("Log", "log")):
            await click(console, pilot, Panel, text)
            assert console.at(view)

    console(script, size)


def test_a_click_on_a_key_below_does_what_the_key_does(agents: Agents, console: Console) -> None:
    approval_id = agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        await click(console, pilot, KeyLine, "a approve")
        assert isinstance(console.app.screen, DecisionScreen)
        await console.press(pilot, *"fine")
        await click(console, pilot, KeyHint, "enter goes on")
        await click(console, pilot, KeyHint, "esc goes back")
        assert "1 of 2" in console.text()
        await console.press(pilot, "enter")
        await click(console, pilot, KeyHint, "y approves")
        await console.until(pilot, lambda: state(agents, approval_id) == "approved")

    console(script)


def test_a_double_click_decides_nothing(agents: Agents, console: Console) -> None:
    approval_id = agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a", *"fine")
        [hint] = console.app.screen.query(KeyHint)
        await pilot.click(hint, offset=(1, 0), times=2)
        await console.shows(pilot, "2 of 2")
        hint.post_message(Click(hint, 1, 0, 0, 0, 1, False, False, False, chain=2))
        await console.until(pilot, lambda: True)
        assert "2 of 2" in console.text()

    console(script)
    assert state(agents, approval_id) == "waiting"


def test_a_click_moves_to_a_row_and_another_one_opens_it(agents: Agents, console: Console) -> None:
    agents.pay("bob")
    agents.pay("eve")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "bank.pay · 2")
        await console.press(pilot, "enter")
        await click(console, pilot, RowList, "to=eve")
        assert 'to = "eve"' in console.detail() or "to=eve" in console.detail()
        assert isinstance(console.app.focused, RowList)
        await click(console, pilot, RowList, "to=eve")
        assert not isinstance(console.app.focused, RowList)

    console(script)


def test_below_60_columns_there_are_keys_for_a_finger(agents: Agents, console: Console) -> None:
    first, second = agents.pay("bob"), agents.pay("eve", agent="scribe")

    async def script(pilot: Pilot[None]) -> None:
        app: ConsoleApp = console.app
        handled = app.section
        await console.shows(pilot, "approve")
        for text, reference in (("down", second), ("up", first)):
            await click(console, pilot, TouchLine, text)
            await console.until(pilot, lambda wanted=reference: handled.handler.reference == wanted)  # type: ignore[misc,union-attr]
        await click(console, pilot, TouchLine, "deny")
        assert isinstance(app.screen, DecisionScreen)
        await console.press(pilot, "escape")
        await click(console, pilot, TouchLine, "filter")
        assert isinstance(app.focused, Input)
        await console.press(pilot, *"bob")
        await click(console, pilot, TouchLine, "down")
        assert isinstance(app.focused, RowList)
        await click(console, pilot, TouchLine, "back")
        await console.until(pilot, lambda: "filter: bob" not in console.text())
        await click(console, pilot, TouchLine, "open")
        assert not isinstance(app.focused, RowList)
        for width in (40, 48, 59):
            await console.resize(width, 40)
            line = app.screen.query(TouchLine).first()
            assert "back" in console.text().split("\n")[line.region.y + 1]
            assert line.region.height == 3
        await console.resize(60, 24)
        assert not app.screen.query(TouchLine).first().display

    console(script, (48, 24))


def test_a_key_for_a_finger_that_does_nothing_says_so(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await click(console, pilot, TouchLine, "approve")
        await console.says(pilot, "nothing to approve here")
        await console.press(pilot, "3")
        assert "approve" not in console.text().split("\n")[-2]
        assert "filter" in console.text().split("\n")[-2]

    console(script, (50, 24))


def test_parts_know_what_stands_in_a_cell_of_wide_characters() -> None:
    parts = Parts([("日本", "first"), (" ", None), ("x", "last")])
    assert [parts.at(cell) for cell in (0, 3, 4, 5, 6)] == ["first", "first", None, "last", None]
