"""Lines of keys: a key is named only while it does something."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from sb.kernel.authority.signing import Label
from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.shop import Bank
from tests.screens.steps import done, escalate
from tests.screens.test_recovery import detail, stand_on

ALWAYS = "K stop : find ? keys"


@pytest.fixture
def settings() -> str:
    shop.bank = Bank()
    return 'database: brain.db\nfiles: {roots: []}\ntools: ["tests.screens.shop:register"]\n'


def keys(console: Console) -> str:
    """The last line of the screen."""
    return " ".join(console.text().split("\n")[-1].split())


# By the views of all places.
LINES = {
    "inbox": "/ filter F saved",
    "agents": "] view s sort",
    "runs": "/ filter F saved ] view",
    "log": "enter open / filter F saved ] view v verify",
    "calls": "/ filter F saved ] view",
    "changes": "/ filter F saved h all ] view",
    "decisions": "enter open / filter F saved ] view",
    "memory": "/ filter F saved ] view",
    "checkpoints": "] view",
    "contracts": "enter open ] view",
    "reversals": "enter open ] view",
    "grants": "] view",
    "evals": "/ filter F saved ] view",
    "eval_runs": "/ filter F saved ] view",
}


def test_where_nothing_waits_no_key_decides(agents: Agents, console: Console) -> None:
    async def script(pilot: Pilot[None]) -> None:
        for name, line in LINES.items():
            console.app.go(name)
            await console.settle(pilot)
            assert keys(console) == f"{line} │ {ALWAYS}", name

    console(script, (120, 30))


def test_an_approval_is_revoked_in_decisions_while_it_is_unused(agents: Agents, console: Console) -> None:
    approved, _ = agents.pay("bob"), agents.pay("eve", agent="scribe")

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "Needs you 2")
        assert keys(console).startswith("a approve d deny space mark │")
        agents.runtime.approvals.approve(approved, Label("ada"), "the bill is right")
        await console.shows(pilot, "Needs you 1")
        await console.press(pilot, "3", "left_square_bracket")
        await console.shows(pilot, "bob")
        assert keys(console).startswith("x revoke │")
        await console.press(pilot, "j")
        assert "revoke" not in keys(console)
        await console.press(pilot, "k")
        agents.runtime.approvals.revoke(approved, Label("grace"), "it was paid by hand")
        await console.until(pilot, lambda: "revoke │" not in keys(console))

    console(script, (120, 30))


def test_the_line_says_what_the_record_takes_by_its_kind(agents: Agents, console: Console) -> None:
    ref = done(agents)
    agents.call("notes.append", {"text": "x"})
    shop.bank.silent = True
    agents.call("pay.human", {"order": "7"})
    shop.bank.silent = False
    escalation = escalate(agents, done(agents, order="8"))

    async def script(pilot: Pilot[None]) -> None:
        unknown = agents.runtime.executor.in_doubt()[0].call_id
        await stand_on(console, pilot, unknown)
        assert keys(console).startswith("o settle t try │")
        await stand_on(console, pilot, escalation)
        assert keys(console).startswith("a undo it d dismiss t try │")
        console.app.open_reference(ref.mutation_id)
        await console.until(pilot, lambda: ref.mutation_id in detail(console))
        assert keys(console).startswith("u undo t try │")
        await console.press(pilot, "escape", "h", "g", "j")
        await console.shows(pilot, "no undo")
        await console.until(pilot, lambda: "notes.append" in detail(console))
        assert keys(console) == f"enter open / filter F saved h all ] view │ {ALWAYS}"

    console(script, (120, 36))


def test_a_call_without_an_undo_record_offers_no_undo(agents: Agents, console: Console) -> None:
    done(agents)
    agents.call("pay.find", {"key": "k"}, intent="only look")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "3", "right_square_bracket", "g")
        await console.settle(pilot)
        assert keys(console) == f"enter open / filter F saved ] view │ {ALWAYS}"
        await console.press(pilot, "u")
        await console.says(pilot, "no undo record here")
        await console.press(pilot, "j")
        await console.settle(pilot)
        assert keys(console).startswith("u undo t try │")

    console(script, (120, 30))
