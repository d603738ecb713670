"""Dialogs tell what follows: of dual control, of a run of which a part was undone, of a yes and of a no."""

from __future__ import annotations

import pytest
from sb.screens.decision import DecisionScreen
from textual.pilot import Pilot

from sb.config import current_config
from sb.kernel import RunContext
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Label, Operator
from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.shop import Bank
from tests.screens.steps import CHANGES, ask, dialog, done, escalate, give


@pytest.fixture
def settings() -> str:
    return 'database: brain.db\nfiles: {roots: []}\ntools: ["tests.screens.shop:register"]\n'


@pytest.fixture(autouse=True)
def bank() -> Bank:
    shop.bank = Bank()
    return shop.bank


@pytest.mark.parametrize("key", ["u", "a"])
def test_the_first_of_two_people_reads_that_another_has_to_approve(
    agents: Agents, console: Console, bank: Bank, key: str
) -> None:
    ref = done(agents, "pay.dual_control", order="8")
    if key == "a":
        escalate(agents, ref, "customer_is_known:8")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *(CHANGES if key == "u" else "1"))
        await ask(console, pilot, key)
        await give(console, pilot, "it has shipped")
        assert "1 of 2: another operator has to approve too." in dialog(console)
        assert "runs at once" not in dialog(console)
        await console.press(pilot, "y")
        await console.until(pilot, lambda: not isinstance(console.app.screen, DecisionScreen))

    console(script, (140, 40))
    assert bank.reversed_ == []


def first_of_two(agents: Agents) -> Operator:
    """The first of two enrolled operators."""
    config = current_config()
    keys = KeyFolder(config.home.keys)
    enrolment = Enrolment(Authority(config.operators.file, agents.runtime.log), keys)
    ada = enrolment.init("ada", None)
    assert ada is not None
    enrolment.add("grace", "", ada, "dual control")
    agents.runtime.baselines.approve(agents.contracts(), ada)
    return ada


@pytest.mark.parametrize("agreed", [False, True])
def test_the_one_after_whom_it_runs_reads_that(
    agents: Agents, console: Console, bank: Bank, agreed: bool
) -> None:
    tool_id = "pay.dual_control" if agreed else "pay.human"
    ref = done(agents, tool_id, order="8")
    if agreed:
        agents.runtime.recovery.undo(ref, first_of_two(agents), "it has shipped")

    async def script(pilot: Pilot[None]) -> None:
        if agreed:
            await console.shows(pilot, "Who decides?")
            await console.press(pilot, "down", "enter")
        await console.press(pilot, *("1" if agreed else CHANGES))
        await ask(console, pilot, "a" if agreed else "u")
        await give(console, pilot, "it has shipped")
        assert "The reversal runs at once" in dialog(console)

    console(script, (140, 40))


def test_a_run_counts_what_is_left_to_undo(agents: Agents, console: Console, bank: Bank) -> None:
    ctx = RunContext.create("clerk", clock=agents.clock, ids=agents.ids)
    results = []
    for order in ("1", "2", "3"):
        agents.clock.time += 1
        results.append(agents.runtime.executor.execute(ctx, "pay.human", {"order": order}))
    recovery = agents.runtime.recovery
    recovery.undo(recovery.mutations.get(results[0].mutation_id), Label("ada"), "a mistake")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, *CHANGES)
        await ask(console, pilot, "U")
        assert "Undo all of its run: 2 calls" in console.text()
        assert "1 call reversed before" in dialog(console)
        assert "order=1" not in dialog(console)

    console(script, (140, 40))


def test_a_yes_and_a_no_differ_in_title_colour_and_key(agents: Agents, console: Console) -> None:
    agents.pay()
    looks = {}

    async def script(pilot: Pilot[None]) -> None:
        for key in "ad":
            await ask(console, pilot, key)
            await give(console, pilot, "because")
            body = console.app.screen.query_one(".dialog")
            looks[key] = (
                str(body.border_title),
                body.styles.border_top[1].hex,
                dialog(console).split(" · ")[0],
            )
            await console.press(pilot, "escape", "escape")

    console(script, (140, 40))
    assert looks["a"][0] == "Approve"
    assert looks["d"][0] == "Deny"
    assert looks["a"][1] != looks["d"][1]
    assert looks["a"][2].endswith("y approves")
    assert looks["d"][2].endswith("y denies")
