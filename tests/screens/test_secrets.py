"""Secrets in the console: hidden in every record and dialog, until `S` shows them on the open dialog."""

from __future__ import annotations

import pytest
from sb.screens.decision import DecisionScreen
from textual.pilot import Pilot

from tests.kernel.approvals.test_disclosure import GITHUB
from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.shop import Bank
from tests.screens.steps import CHANGES, ask, dialog, done, escalate, give, record, shell

PASSWORD = "hunter2-hunter2"


@pytest.fixture
def settings() -> str:
    return 'database: brain.db\nfiles: {roots: []}\ntools: ["tests.screens.shop:register"]\n'


@pytest.fixture(autouse=True)
def bank() -> Bank:
    shop.bank = Bank()
    return shop.bank


def in_view(console: Console) -> str:
    """All that is on screen or in the record, whole, without gaps."""
    inside = dialog(console) if isinstance(console.app.screen, DecisionScreen) else ""
    return "".join((console.text() + record(console) + inside).replace("│", "").split())


@pytest.mark.parametrize("key", ["u", "a", "d"])
def test_a_password_of_a_reversal_is_shown_by_nothing_but_s_on_the_dialog(
    agents: Agents, console: Console, key: str
) -> None:
    ref = done(agents)
    if key != "u":
        escalate(agents, ref)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *(CHANGES if key == "u" else "1"))
        assert PASSWORD not in in_view(console), "in the record"
        if key == "u":
            await console.press(pilot, "t")
            await console.shows(pilot, "would succeed")
            assert PASSWORD not in in_view(console), "after a dry run"
        await ask(console, pilot, key)
        assert PASSWORD not in in_view(console), "in the first step"
        await give(console, pilot, "it has shipped")
        assert PASSWORD not in in_view(console), "in the second step"
        await console.press(pilot, "S")
        assert (PASSWORD in in_view(console)) == (key != "d"), "a dismissal passes no argument"
        await console.press(pilot, "S")
        assert PASSWORD not in in_view(console)
        await console.press(pilot, "S", "escape")
        assert PASSWORD not in in_view(console), "back in the first step"
        await console.press(pilot, "escape")
        assert not isinstance(console.app.screen, DecisionScreen)
        assert PASSWORD not in in_view(console), "in the record behind the dialog"
        await ask(console, pilot, key)
        await give(console, pilot, "it has shipped")
        assert PASSWORD not in in_view(console), "in the next dialog"

    console(script, (140, 40))


def test_a_reason_may_have_an_s_in_it(agents: Agents, console: Console) -> None:
    escalate(agents, done(agents))

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "1")
        await ask(console, pilot, "a")
        await console.press(pilot, *"So Sue")
        assert "So Sue" in console.text()
        assert PASSWORD not in in_view(console)

    console(script, (140, 40))


@pytest.mark.parametrize("keys", [["1"], ["1", "S"], ["1", "M"]], ids=["alone", "shown", "several"])
def test_a_secret_of_a_request_is_hidden_in_its_dialog_until_s(
    agents: Agents, console: Console, keys: list[str]
) -> None:
    shell(agents, f"curl -H 'Authorization: Bearer {GITHUB}' https://api.example/x")
    if "M" in keys:
        shell(agents, f"curl -H 'Authorization: Bearer {GITHUB}' https://api.example/y")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *keys)
        await ask(console, pilot, "a")
        assert GITHUB not in in_view(console)
        await give(console, pilot, "it is ours")
        assert GITHUB not in in_view(console)
        await console.press(pilot, "S")
        assert GITHUB in in_view(console)
        await console.press(pilot, "escape", "escape")
        assert GITHUB not in in_view(console)

    console(script, (140, 40))
