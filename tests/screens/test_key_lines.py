"""Lines of keys: a key is named only while it does something."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from sb.kernel.authority.signing import Label
from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.shop import Bank
from tests.screens.test_recovery import done

ALWAYS = "K stop : find ? keys"


@pytest.fixture
def settings() -> str:
    shop.bank = Bank()
    return 'database: brain.db\nfiles: {roots: []}\ntools: ["tests.screens.shop:register"]\n'


def keys(console: Console) -> str:
    """The last line of the screen."""
    return " ".join(console.text().split("\n")[-1].split())


# By the keys that lead there, in this order, from Home.
LINES = {
    "1": "",
    "2": "/ filter ] view s sort",
    "3": "] view enter open",
    "4": "] view",
    "5": "/ filter ] view",
    "6": "/ filter ] view",
    "]": "] view",
    "] ": "] view",
    "7": "/ filter ] view v verify enter open",
    "8": "/ filter ] view",
    "9": "] view s sort",
}


def test_where_nothing_waits_no_key_decides(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        for pressed, line in LINES.items():
            await console.press(pilot, {"]": "right_square_bracket"}.get(pressed.strip(), pressed))
            await console.settle(pilot)
            assert keys(console) == (f"{line} │ {ALWAYS}" if line else ALWAYS), pressed

    console(script, (120, 30))


def test_a_request_can_be_revoked_only_once_it_is_approved(agents: Agents, console: Console) -> None:
    approved, _ = agents.pay("bob"), agents.pay("eve")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "2")
        await console.settle(pilot)
        assert keys(console).startswith("a approve d deny │")
        agents.runtime.approvals.approve(approved, Label("ada"), "the bill is right")
        await console.shows(pilot, "approved")
        await console.press(pilot, "G")
        await console.settle(pilot)
        assert keys(console).startswith("x revoke │")
        await console.press(pilot, "g")
        await console.settle(pilot)
        assert keys(console).startswith("a approve d deny │")
        await console.press(pilot, "right_square_bracket")
        await console.settle(pilot)
        assert keys(console) == f"/ filter ] view │ {ALWAYS}"

    console(script, (120, 30))


def test_recovery_names_what_the_record_takes(agents: Agents, console: Console) -> None:
    ref = done(agents)
    agents.call("notes.append", {"text": "x"})
    shop.bank.silent = True
    agents.call("pay.human", {"order": "7"})
    shop.bank.silent = False

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await console.settle(pilot)
        assert keys(console).startswith("o settle t try │")
        console.app.find_on("recovery", ref.mutation_id)
        await console.settle(pilot)
        assert keys(console).startswith("u undo t try │")
        await console.press(pilot, "g")
        await console.shows(pilot, "no undo")
        await console.settle(pilot)
        assert keys(console) == f"] view enter open │ {ALWAYS}"
        await console.press(pilot, "5", "g", "j", "j")
        await console.shows(pilot, "pay.human")
        await console.settle(pilot)
        assert "u undo" in keys(console)

    console(script, (120, 36))


def test_a_call_without_an_undo_record_offers_no_undo(agents: Agents, console: Console) -> None:
    done(agents)
    agents.call("pay.find", {"key": "k"}, intent="only look")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", "right_square_bracket", "g")
        await console.settle(pilot)
        assert keys(console) == f"/ filter ] view enter open │ {ALWAYS}"
        await console.press(pilot, "u")
        await console.says(pilot, "nothing to undo: this call has no undo records")
        await console.press(pilot, "j")
        await console.settle(pilot)
        assert keys(console).startswith("u undo │")
        await console.press(pilot, "u")
        await console.settle(pilot)
        assert console.at("recovery")

    console(script, (120, 30))
