"""The console: nothing is approved of which a line was never on the screen, or that an older version asked."""

from __future__ import annotations

import pytest
from sb.screens.decision import DecisionScreen
from textual.pilot import Pilot
from textual.widgets import Input

from tests.screens import shop
from tests.screens.conftest import Agents, Console
from tests.screens.shop import Bank
from tests.screens.steps import done, escalate, give
from tests.screens.test_recovery import escalation_state


async def fill(console: Console, pilot: Pilot[None], count: int) -> None:
    """Give the reason, unless it is given, then the number of requests, or say yes."""
    if not console.app.screen.query_one("#word" if count > 1 else "#confirm").has_focus:
        await give(console, pilot, "fine")
    if count > 1:
        await give(console, pilot, str(count), "word")
    else:
        await console.press(pilot, "y")


def test_a_batch_that_does_not_fit_is_scrolled_through_before_it_is_approved(
    agents: Agents, console: Console
) -> None:
    ids = [agents.pay(f"bob {number} {'x ' * 330}") for number in range(4)]

    def states() -> set[str]:
        return {str(agents.runtime.approvals.get(item).state) for item in ids}

    async def script(pilot: Pilot[None]) -> None:
        await console.mark(pilot, *ids)
        await console.press(pilot, "a")
        count = len(ids)
        assert console.app.screen.query_one("#word", Input).placeholder == "type 4 to confirm"
        await fill(console, pilot, count)
        assert isinstance(console.app.screen, DecisionScreen), "the middle was never on the screen"
        assert "not on the screen: pgdn, pgup" in str(console.app.screen.query_one(".wrong").render())
        assert states() == {"waiting"}
        await console.press(pilot, *["pageup"] * 8, *["pagedown"] * 12)
        await fill(console, pilot, count)
        await console.until(pilot, lambda: "approved" in states())

    console(script, (80, 24))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_request_that_fits_needs_no_scrolling(
    agents: Agents, console: Console, size: tuple[int, int]
) -> None:
    approval_id = agents.pay("bob " + "x " * 120)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a")
        await fill(console, pilot, 1)
        await console.until(pilot, lambda: agents.runtime.approvals.get(approval_id).state == "approved")

    console(script, size)


def test_a_request_is_read_again_when_the_screen_becomes_smaller(agents: Agents, console: Console) -> None:
    approval_id = agents.pay("bob " + "x " * 300)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "a")
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        for _ in range(2):  # the two steps
            await fill(console, pilot, 1)
            assert "not on the screen" in str(console.app.screen.query_one(".wrong").render())
            await console.press(pilot, *["pageup"] * 8, *["pagedown"] * 12)
        await fill(console, pilot, 1)
        await console.until(pilot, lambda: agents.runtime.approvals.get(approval_id).state == "approved")

    console(script, (120, 40))


class TestReversals:
    @pytest.fixture
    def settings(self) -> str:
        shop.bank = Bank()
        return 'database: brain.db\nfiles: {roots: []}\ntools: ["tests.screens.shop:register"]\n'

    def test_one_that_an_older_version_asked_about_is_approved_in_the_inbox(
        self, agents: Agents, console: Console
    ) -> None:
        escalation = escalate(agents, done(agents))
        with agents.runtime.database.write() as execute:
            for (trigger,) in execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                execute(f"DROP TRIGGER {trigger}")
            execute("UPDATE events SET payload = json_remove(payload, '$.shown')")

        async def script(pilot: Pilot[None]) -> None:
            await console.point(pilot, escalation)
            await console.press(pilot, "a")
            await console.until(pilot, lambda: isinstance(console.app.screen, DecisionScreen))
            await fill(console, pilot, 1)
            await console.until(pilot, lambda: escalation_state(agents, escalation) == "reversed")

        console(script)
