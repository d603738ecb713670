"""A workflow's plain step of unknown outcome in the console's Inbox."""

from __future__ import annotations

import pytest
from sb.screens.choosing import ChoiceScreen
from textual.pilot import Pilot

from sb.kernel.durable_execution import Workflow
from sb.kernel.review.log_verification import verify
from tests.screens.conftest import Agents, Console
from tests.screens.steps import give
from tests.screens.test_recovery import detail, settle


def fail(error: Exception) -> object:
    raise error


def test_a_workflows_step_of_unknown_outcome_stands_beside_calls_and_is_settled(
    agents: Agents, console: Console
) -> None:
    def send(workflow: Workflow) -> object:
        return workflow.step("send the letter", lambda: fail(TimeoutError("no answer")))

    with pytest.raises(TimeoutError):
        agents.runtime.workflows.run("letter", "letter-7", send)

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "send the letter")
        await console.until(pilot, lambda: "letter-7" in detail(console))
        assert "asks its tool" not in detail(console)
        await console.press(pilot, "o", "t")
        assert isinstance(console.app.screen, ChoiceScreen), "a plain function has no probe"
        assert "its tool" not in console.text()
        await console.press(pilot, "escape")
        await settle(console, pilot, 1)
        await give(console, pilot, "the relay knows nothing")
        await console.press(pilot, "y")
        await console.says(pilot, "Recorded as not done by")
        await console.shows(pilot, "Needs you 0")

    console(script)
    assert agents.runtime.workflows.unfinished()[0].in_doubt == ""
    assert verify(agents.runtime.log).ok
