"""The console's screens of triggers and lessons, and what it proposes for retirement."""

from __future__ import annotations

from sb.screens.inbox import InboxScreen
from sb.screens.triggers import LessonsScreen, TriggersScreen
from textual.pilot import Pilot
from textual.widgets import Input

from sb.base.sources import SteeredClock
from tests.screens.conftest import Agents, Console


async def answer(console: Console, pilot: Pilot[None], screen: type) -> None:
    console.app.screen.query_one("#reason", Input).value = "not needed"
    await console.press(pilot, "enter", "y")
    await console.until(pilot, lambda: isinstance(console.app.screen, screen))


def test_triggers_look_as_they_did(agents: Agents, clock: SteeredClock, console: Console) -> None:
    with agents.runtime.brain("ada", scope="project:shop") as brain:
        brain.trigger_create("billing schema", "read the backfill runbook first")
        brain.lesson_add("the script is called build", "npm run biuld")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "right_square_bracket")
        await console.shows(pilot, "backfill runbook")
        await console.looks(pilot, "triggers")
        await console.press(pilot, "right_square_bracket")
        await console.shows(pilot, "npm run biuld")
        await console.looks(pilot, "lessons")

    console(script)


def test_trigger_is_snoozed_and_retired_by_keys(agents: Agents, console: Console) -> None:
    with agents.runtime.brain("ada", scope="project:shop") as brain:
        made = brain.trigger_create("billing schema", "read the runbook")

        async def script(pilot: Pilot[None]) -> None:
            await console.press(pilot, "4", "right_square_bracket")
            await console.shows(pilot, "billing schema")
            await console.press(pilot, "w")
            await answer(console, pilot, TriggersScreen)
            await console.until(pilot, lambda: brain.trigger_show(made).status == "snoozed")
            await console.shows(pilot, "Rests until")
            await console.press(pilot, "x")
            await answer(console, pilot, TriggersScreen)
            await console.until(pilot, lambda: brain.trigger_show(made).status == "retired")
            await console.visit(pilot, "decisions")
            for shown in ("retired", "snoozed", "read the runbook", "local:root", "not needed"):
                await console.shows(pilot, shown)
            await console.press(pilot, "slash", *"state:snoozed", "enter")
            await console.shows(pilot, "1 · filter: state:snoozed")

        console(script)


def test_lesson_is_confirmed_and_retired_by_keys(agents: Agents, console: Console) -> None:
    with agents.runtime.brain("ada", scope="project:shop") as brain:
        made = brain.lesson_add("the script is called build", "npm run biuld")
        before = brain.lesson_show(made).credibility

        async def script(pilot: Pilot[None]) -> None:
            await console.press(pilot, "4", "right_square_bracket", "right_square_bracket")
            await console.shows(pilot, "npm run biuld")
            await console.press(pilot, "a")
            await answer(console, pilot, LessonsScreen)
            await console.until(pilot, lambda: brain.lesson_show(made).credibility > before)
            await console.press(pilot, "x")
            await answer(console, pilot, LessonsScreen)
            await console.until(pilot, lambda: brain.lesson_show(made).status == "retired")

        console(script)


def ignore(agents: Agents, clock: SteeredClock) -> str:
    with agents.runtime.brain("ada", scope="project:shop") as brain:
        made = brain.trigger_create({"tool": "Deploy"}, "read the runbook", every_session=True)
    for session in range(3):
        with agents.runtime.brain("bob", scope="project:shop", session=f"s{session}") as brain:
            assert brain.trigger_check(tool="Deploy")
    clock.time += 4_000
    return made


def test_ignored_trigger_is_proposed_in_the_inbox_and_retired(
    agents: Agents, clock: SteeredClock, console: Console
) -> None:
    made = ignore(agents, clock)

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "read the runbook")
        await console.shows(pilot, "none heeded it")
        await console.press(pilot, "a")
        await answer(console, pilot, InboxScreen)
        with agents.runtime.brain("ada", scope="project:shop") as brain:
            await console.until(pilot, lambda: brain.trigger_show(made).status == "retired")

    console(script)


def test_ignored_trigger_that_is_kept_is_counted_anew(
    agents: Agents, clock: SteeredClock, console: Console
) -> None:
    made = ignore(agents, clock)

    async def script(pilot: Pilot[None]) -> None:
        await console.shows(pilot, "none heeded it")
        await console.press(pilot, "d")
        await answer(console, pilot, InboxScreen)
        with agents.runtime.brain("ada", scope="project:shop") as brain:
            await console.until(pilot, lambda: brain.trigger_show(made).ignored == 0)
            assert brain.trigger_show(made).status == "pending"

    console(script)
