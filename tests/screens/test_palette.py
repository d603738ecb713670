"""The console's palette: what is possible now, screens, records with state and age, commands for a terminal."""

from __future__ import annotations

import re

from sb.screens.palette import PaletteScreen
from sb.screens.section import Section
from textual.pilot import Pilot

from tests.screens.conftest import Agents, Console


def test_it_lists_what_is_possible_here_with_its_key_and_does_it(agents: Agents, console: Console) -> None:
    approval_id = agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", "colon", *"deny")
        assert "Here" not in console.text(), "nothing is denied among the rules"
        await console.press(pilot, "escape", "1", "colon", *"deny")
        lines = console.text().splitlines()
        line = lines[next(number for number, line in enumerate(lines) if "Here" in line) + 1]
        assert line.split("│")[1].split() == ["deny", "d"]
        await console.press(pilot, "enter")
        assert "1 of 2" in console.text()
        assert approval_id in console.text()

    console(script)


def test_without_a_request_nothing_can_be_decided_from_it(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "colon", *"approve")
        assert "Here" not in console.text()

    console(script)


def test_records_are_found_by_words_with_their_state_and_age(agents: Agents, console: Console) -> None:
    agents.pay("landlord")
    agents.session("claude-code", "/data/ada/land")
    agents.runtime.brain("clerk").remember("the landlord lives in Bonn")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "colon", *"land")
        await console.shows(pilot, "strong")
        shown = console.text()
        assert re.search(r"landlord.* waiting now", shown)
        assert re.search(r"claude-code land .* agent now", shown)
        assert "search the log for land" in shown
        await console.press(pilot, "enter")
        await console.until(pilot, lambda: console.at("inbox"))

    console(script)


def test_a_command_for_a_terminal_is_copied(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "colon", *"doctor")
        assert "For a terminal" in console.text()
        await console.press(pilot, "up", "enter")
        await console.says(pilot, "copied sb doctor")
        assert console.app.clipboard == "sb doctor"

    console(script)


def test_the_choice_stays_when_the_search_for_records_finds_none(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "colon", *"doctor", "up")
        palette = console.app.screen
        assert isinstance(palette, PaletteScreen)
        palette._find()
        await console.press(pilot, "enter")
        await console.says(pilot, "copied sb doctor")

    console(script)


def test_what_is_typed_in_one_burst_with_its_key_is_looked_for_and_escape_does_nothing(
    agents: Agents, console: Console
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        for key in ("colon", *"Kq"):
            console.app.simulate_key(key)
        await console.until(pilot, lambda: isinstance(console.app.screen, PaletteScreen))
        assert "search the log for Kq" in console.text()
        await console.press(pilot, "escape")
        assert isinstance(console.app.screen, Section)

    console(script)
