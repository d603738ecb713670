"""Proposals of higher autonomy in the Inbox: shown, signed with a key, frozen; and the level on an agent's page."""

from __future__ import annotations

import pytest
from sb.screens.inbox import InboxScreen
from sb.screens.state.agents import agent_page, read_agents
from sb.screens.state.document import Field
from textual.pilot import Pilot
from textual.widgets import Input

from sb.config import current_config
from sb.kernel.autonomy.proposals import Proposals
from sb.runtime.parts import open_proposals
from tests.screens.conftest import Agents, Console
from tests.screens.steps import give
from tests.screens.test_deciding import PASSPHRASE, enrol
from tests.screens.test_review import stand_on

OBSERVED = "database: brain.db\nfiles: {roots: []}\nautonomy: {mode: observe}\n"
observed = pytest.mark.parametrize("settings", [OBSERVED])


def fallen(agents: Agents) -> Proposals:
    """The proposals of a home in which an agent fell twice."""
    proposals = open_proposals(current_config(), agents.runtime.log)
    for why in ("call_1 was refused by no-send", "call_2 was refused by no-send"):
        with agents.runtime.log.write() as write:
            proposals.levels.fall(write, "clerk", "", "bank.pay", "", why, safety=False)
    return proposals


@observed
def test_proposal_is_signed_in_the_inbox(agents: Agents, console: Console) -> None:
    enrol(agents)
    proposals = fallen(agents)
    (proposed,) = proposals.all()

    async def script(pilot: Pilot[None]) -> None:
        screen = await stand_on(console, pilot, proposed.id)
        assert isinstance(screen, InboxScreen)
        for text in ("proposed", "bank.pay: execute_with_approval"):
            await console.shows(pilot, text)
        await console.press(pilot, "a")
        await give(console, pilot, "the rule was wrong")
        await pilot.press("y")
        await console.asks(pilot)
        console.app.screen.query_one(Input).value = PASSPHRASE
        await pilot.press("enter")
        await console.until(pilot, lambda: proposals.all() == [])

    console(script, size=(140, 40))
    assert str(proposals.levels.current().level("clerk", "bank.pay").mode) == "execute_with_approval"
    assert proposals.levels.statements()[-1].by == "ada"


@observed
def test_frozen_level_is_not_proposed_any_more(agents: Agents, console: Console) -> None:
    enrol(agents)
    proposals = fallen(agents)
    (proposed,) = proposals.all()

    async def script(pilot: Pilot[None]) -> None:
        await stand_on(console, pilot, proposed.id)
        await console.press(pilot, "d")
        await give(console, pilot, "not this month")
        await pilot.press("y")
        await console.asks(pilot)
        console.app.screen.query_one(Input).value = PASSPHRASE
        await pilot.press("enter")
        await console.until(pilot, lambda: proposals.all() == [])

    console(script, size=(140, 40))
    assert proposals.levels.current().frozen == {("clerk", "bank.pay"): "not this month"}


def test_what_is_off_proposes_nothing(agents: Agents, console: Console) -> None:
    fallen(agents)
    assert console.records.inbox() == []


@observed
def test_page_of_an_agent_says_its_level(agents: Agents, console: Console) -> None:
    agents.pay()
    fallen(agents)
    lines = {line.agent: line for line in read_agents(console.records).agents}
    page = agent_page(console.records, lines["clerk"])
    assert Field("Autonomy", "bank.pay recommend (observe)") in page.views["about"]
