"""Saved filters in the console: saved, applied and deleted by a dialog; the last filter is there after a restart."""

from __future__ import annotations

import pytest
from sb.screens.changes import ALL
from textual.pilot import Pilot
from textual.widgets import Input

from sb.operator.saved_filters import SavedFilter, SavedFilters
from tests.screens.conftest import Agents, Console


@pytest.fixture
def saved(console: Console) -> SavedFilters:
    return SavedFilters(console.records.config.home)


async def type_filter(console: Console, pilot: Pilot[None], text: str) -> None:
    await console.press(pilot, "slash")
    console.app.screen.query_one("#filter", Input).value = text
    await console.shows(pilot, f"filter: {text}")
    await console.press(pilot, "enter")


def test_a_filter_is_saved_under_a_name_and_applied_in_another_place(
    agents: Agents, console: Console, saved: SavedFilters
) -> None:
    agents.pay("eve", agent="courier")
    agents.pay("bob")

    async def script(pilot: Pilot[None]) -> None:
        await type_filter(console, pilot, "agent:courier")
        await console.press(pilot, "F", "enter")
        await console.shows(pilot, "type a name first")
        await console.press(pilot, *"mine", "enter")
        await console.says(pilot, "saved mine")
        await console.press(pilot, "escape", "3", "F")
        await console.shows(pilot, "mine")
        await console.press(pilot, "enter")
        await console.shows(pilot, "filter: agent:courier")
        assert "to=bob" not in console.text()
        assert "to=eve" in console.text()

    console(script)
    assert saved.all() == {"mine": SavedFilter("agent:courier")}


def test_a_taken_name_and_a_deletion_are_asked_about(
    agents: Agents, console: Console, saved: SavedFilters
) -> None:
    agents.pay()
    saved.save("mine", "agent:x")

    async def script(pilot: Pilot[None]) -> None:
        await type_filter(console, pilot, "agent:clerk")
        await console.press(pilot, "F", *"mine", "enter")
        await console.shows(pilot, "Replace agent:x")
        await console.press(pilot, "enter")  # keeps it
        assert saved.all() == {"mine": SavedFilter("agent:x")}
        await console.press(pilot, "enter", "down", "enter")
        await console.says(pilot, "saved mine")
        assert saved.all() == {"mine": SavedFilter("agent:clerk")}
        await console.press(pilot, "F", "delete", "down", "enter")
        await console.says(pilot, "deleted mine")
        await console.shows(pilot, "type a name to save")
        assert saved.all() == {}

    console(script)


def test_what_cannot_be_applied_here_says_why_and_is_not(
    agents: Agents, console: Console, saved: SavedFilters
) -> None:
    agents.pay()
    saved.save("hers", "by:ada")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "F", "enter")
        await console.shows(pilot, "by: does not apply to the inbox")
        await console.press(pilot, *"nobody")
        await console.shows(pilot, "none of this name")
        await console.press(pilot, "escape")
        assert "to=bob" in console.text()

    console(script)


def test_filter_and_order_of_a_place_are_there_after_a_restart(
    agents: Agents, console: Console, saved: SavedFilters
) -> None:
    agents.pay()
    agents.pay(agent="courier")

    async def script(pilot: Pilot[None]) -> None:
        await type_filter(console, pilot, "agent:clerk")
        assert "Needs you 1" in console.text()
        assert "the filter hides 1 of what needs you: esc shows all" in console.text()
        await console.visit(pilot, "agents")
        await console.press(pilot, "s")
        await console.visit(pilot, "changes")
        await console.press(pilot, "h")
        places = {"inbox": SavedFilter("agent:clerk"), "agents": SavedFilter("", "most refused")}
        assert saved.places() == places | {"log": SavedFilter("", ALL)}

    console(script)

    async def again(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "the filter hides 1 of what needs you: esc shows all")
        await console.visit(pilot, "agents")
        await console.shows(pilot, "most refused")

    console(again, read_only=True)


def test_the_last_filters_hold_at_the_next_start(
    agents: Agents, console: Console, saved: SavedFilters
) -> None:
    agents.pay()
    agents.pay("eve", agent="courier")
    agents.call("notes.append", {"text": "no way back from here"})
    saved.keep_place("inbox", SavedFilter("agent:clerk"))
    saved.keep_place("log", SavedFilter("-agent:courier", ALL))
    saved.keep_place("runs", SavedFilter("colour:red"))

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "the filter hides 1 of what needs you: esc shows all")
        assert "to=eve" not in console.text()
        await console.visit(pilot, "changes")
        await console.shows(pilot, "filter: -agent:courier · all")
        await console.shows(pilot, "filtered since the last start: esc shows all")
        assert "no way back from here" in console.text()
        await console.visit(pilot, "runs")
        await console.shows(pilot, "no key 'colour'")
        await console.press(pilot, "escape")
        await console.until(pilot, lambda: "no key" not in console.text())
        await console.visit(pilot, "inbox")
        await console.press(pilot, "escape")
        await console.shows(pilot, "Needs you 2")
        assert "hides" not in console.text()
        await console.visit(pilot, "changes")
        await console.press(pilot, "escape")
        await console.until(pilot, lambda: "since the last start" not in console.text())
        await type_filter(console, pilot, "eve")
        assert "since the last start" not in console.text()

    console(script)
    assert saved.places()["inbox"] == saved.places()["runs"] == SavedFilter()


def test_a_home_that_cannot_be_written_is_said_once_and_stops_nothing(
    agents: Agents, console: Console, saved: SavedFilters
) -> None:
    agents.pay()
    file = console.records.config.home.folder / "filters.json"
    file.write_text("[", encoding="utf-8")

    async def script(pilot: Pilot[None]) -> None:
        await type_filter(console, pilot, "agent:clerk")
        await console.says(pilot, "filters.json is damaged")
        await console.press(pilot, "F", *"mine", "enter")
        await console.shows(pilot, "is damaged")
        await console.press(pilot, "escape", "escape")
        assert "to=bob" in console.text()

    console(script)
    assert file.read_text(encoding="utf-8") == "["


def test_the_theme_is_there_after_a_restart(console: Console, saved: SavedFilters) -> None:
    async def script(pilot: Pilot[None]) -> None:
        assert console.app.current_theme.dark
        await console.press(pilot, "T")
        assert not console.app.current_theme.dark
        await console.until(pilot, lambda: saved.theme() == console.app.theme)

    async def again(pilot: Pilot[None]) -> None:
        assert not console.app.current_theme.dark

    console(script)
    console(again)
