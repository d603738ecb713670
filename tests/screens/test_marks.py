"""Marks end with the decision that they were for."""

from __future__ import annotations

from textual.pilot import Pilot

from tests.screens.conftest import Agents, Console
from tests.screens.steps import ask, give


def test_no_mark_is_left_after_a_batch(agents: Agents, console: Console) -> None:
    for name in ("ann", "bob"):
        agents.pay(name, agent=name)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "1", "M")
        await console.shows(pilot, "2 marked")
        await ask(console, pilot, "d")
        await give(console, pilot, "no")
        await give(console, pilot, "2", "word")
        await console.says(pilot, "2 decided")
        await console.until(pilot, lambda: "marked" not in console.text())

    console(script, (120, 36))
