"""Stacks on the console's memory screen: kind, strength, provenance, and suggestions to decide about."""

from __future__ import annotations

import pytest
from sb.screens.memory import MemoryScreen
from textual.pilot import Pilot
from textual.widgets import Input

from sb.base.sources import SteeredClock
from sb.entity import Entity
from sb.protocols.types import MemorySuggestion, RawEntry
from sb.stack import SQLiteStack
from tests.screens.conftest import ACTS, Agents, Console
from tests.screens.steps import give
from tests.screens.test_memory import WORDS_ALONE, screen, tells, type_filter, uid
from tests.screens.test_safety import FORBIDDEN

CACHES = "caches that never expire serve what is not so any more"


@pytest.fixture
def stack(agents: Agents) -> SQLiteStack:
    return agents.runtime.stack("work", components=[])


@pytest.fixture
def ada(agents: Agents, stack: SQLiteStack) -> Entity:
    """A core with that stack."""
    core = Entity("ada", config=agents.runtime.config, clock=agents.clock, ids=agents.ids)
    core.attach_stack(stack)
    return core


def suggest(stack: SQLiteStack, uid: str = "sug_1", statement: str = CACHES) -> str:
    """A belief that is suggested, from what was captured."""
    raw = stack.save_raw(RawEntry(f"raw_{uid}", "work", "the cache lied again"))
    suggestion = MemorySuggestion(uid, "work", "belief", {"statement": statement}, 0.9, [raw])
    return stack.save_suggestion(suggestion)


async def answer(console: Console, pilot: Pilot[None], reason: str) -> None:
    console.app.screen.query_one("#reason", Input).value = reason
    await console.press(pilot, "enter", "y")
    await console.until(pilot, lambda: isinstance(console.app.screen, MemoryScreen))


@WORDS_ALONE
def test_the_screen_looks_as_it_did(
    ada: Entity, stack: SQLiteStack, clock: SteeredClock, console: Console
) -> None:
    episode = ada.episode("deploy to production", "zero downtime", lessons=["blue-green works"])
    belief = ada.belief("blue-green deploys are safe", derived_from=[f"episode:{episode}"])
    stack.weaken_memory("episode", episode, 0.6)
    clock.time += 60
    suggest(stack)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await console.looks(pilot, "stack")
        await console.press(pilot, "a")
        await console.looks(pilot, "stack-accept")
        await console.press(pilot, "escape")
        await type_filter(console, pilot, "kind:belief safe")
        assert screen(console).current["uid"] == belief  # type: ignore[index]
        await console.press(pilot, "enter", "enter", "z")
        await console.looks(pilot, "stack-belief")

    console(script)


def test_the_detail_tells_strength_and_where_it_comes_from(
    ada: Entity, stack: SQLiteStack, console: Console
) -> None:
    episode = ada.episode("deploy to production", "zero downtime")
    belief = ada.belief("blue-green deploys are safe", derived_from=[f"episode:{episode}"])
    stack.weaken_memory("belief", belief, 0.6)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await tells(console, pilot, "State weak, strength 0.40", "Kind belief", "source_entity core:ada")
        await console.press(pilot, "enter", "z")
        await tells(console, pilot, "Stack work", f"Id {belief}")
        await console.press(pilot, "right_square_bracket")
        await tells(console, pilot, f"(episode {episode}, active")

    console(script, (120, 36))


def test_the_palette_opens_what_a_core_kept_and_what_is_suggested(
    ada: Entity, stack: SQLiteStack, console: Console
) -> None:
    note, suggested = ada.note("the cellar is in Trier"), suggest(stack, "sug_6640fae3034f1a0b48eb532d")

    async def script(pilot: Pilot[None]) -> None:
        for known in (note, suggested):
            await console.press(pilot, "colon")
            console.app.screen.query_one(Input).value = known
            await console.until(pilot, lambda: f"open {known}" in console.text())  # noqa: B023
            await console.press(pilot, "enter")
            await console.until(pilot, lambda: isinstance(console.app.screen, MemoryScreen))
            await console.until(pilot, lambda: uid(console) == known)  # noqa: B023

    console(script, (120, 36))


def test_a_filter_names_a_stack_and_what_became_of_suggestions(
    agents: Agents, ada: Entity, stack: SQLiteStack, console: Console
) -> None:
    agents.runtime.brain("clerk").remember("the office is in Bonn")
    ada.note("the cellar is in Trier")
    suggest(stack)
    stack.dismiss_suggestion(suggest(stack, "sug_2"), "no")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "slash")
        for text, count in (
            ("stack:work", 5),
            ("stack:default", 1),
            ("state:pending", 1),
            ("state:dismissed", 1),
        ):
            console.app.screen.query_one(Input).value = text
            await console.until(pilot, lambda: screen(console).search.text == text)  # noqa: B023
            await console.shows(pilot, f"{count} of 6 · filter: ")

    console(script)


def test_a_person_accepts_and_dismisses_with_a_reason(
    stack: SQLiteStack, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "eve")
    first, second = suggest(stack), suggest(stack, "sug_2", "alarms at night wake nobody up")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await console.shows(pilot, "Inbox·2")
        await console.until(pilot, lambda: uid(console) == second)
        await console.press(pilot, "d")
        assert "Dismiss ─" in console.text()
        await answer(console, pilot, "it woke me up")
        await tells(console, pilot, "State dismissed")
        await console.press(pilot, "a")
        await console.says(pilot, "nothing to accept here")
        await type_filter(console, pilot, "state:pending caches")
        await console.press(pilot, "enter", "a")
        await answer(console, pilot, "seen twice")
        await console.says(pilot, "saved as belief:")

    console(script)
    (belief,) = stack.get_beliefs()
    assert (belief.statement, belief.source_entity) == (CACHES, "sb:suggestion-promotion")
    accepted, dismissed = stack.get_suggestion(first), stack.get_suggestion(second)
    assert accepted is not None
    assert dismissed is not None
    assert (accepted.status, accepted.resolution_reason) == ("promoted", "seen twice")
    assert (dismissed.status, dismissed.resolution_reason) == ("dismissed", "it woke me up")
    space = stack._container.space
    history = space.records.history(space.records.find(first)["id"])  # type: ignore[index]
    assert [(item["operation"], item["actor"]) for item in history] == [("promoted", "local:eve")]


def test_several_are_accepted_once_their_number_is_typed(stack: SQLiteStack, console: Console) -> None:
    for number in range(3):
        suggest(stack, f"sug_{number}", f"in region {number} the caches never expire")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "space", "space", "space", "space", "a")
        assert "Accept 2 memories" in console.text(), "what was captured is left out"
        await give(console, pilot, "seen in both")
        await give(console, pilot, "2", "word")
        await console.says(pilot, "2 decided")

    console(script)
    assert len(stack.get_beliefs()) == 2
    assert [suggestion.id for suggestion in stack.get_suggestions(status="pending")] == ["sug_0"]


def test_what_can_be_no_memory_stays_and_says_why(ada: Entity, stack: SQLiteStack, console: Console) -> None:
    uid = suggest(stack, "sug_1", "todo")

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "a")
        await answer(console, pilot, "why not")
        await console.says(pilot, f"{uid} makes no belief")
        await tells(console, pilot, "State pending")

    console(script, (120, 36))
    assert stack.get_beliefs() == []


def test_what_somebody_else_decided_meanwhile_is_said(stack: SQLiteStack, console: Console) -> None:
    uid = suggest(stack)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "a")
        stack.dismiss_suggestion(uid, "no")
        await answer(console, pilot, "seen twice")
        await console.says(pilot, f"{uid} was dismissed already")

    console(script)
    assert stack.get_beliefs() == []


def test_read_only_decides_nothing(stack: SQLiteStack, console: Console) -> None:
    suggest(stack)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "a", "d")
        assert isinstance(console.app.screen, MemoryScreen)
        await tells(console, pilot, "State pending")

    console(script, read_only=True)


def test_hostile_suggestions_are_shown_and_do_nothing(stack: SQLiteStack, console: Console) -> None:
    hostile = ACTS
    stack.save_suggestion(MemorySuggestion("sug_1", "work", "belief", {hostile: hostile}, 0.9, [hostile]))

    async def script(pilot: Pilot[None]) -> None:
        for keys in (["4"], ["a"], ["escape"], ["d"], ["escape"], ["enter"], ["z"]):
            await console.press(pilot, *keys)
            assert not FORBIDDEN.search(console.text().replace("\n", ""))
        assert console.app.is_running

    console(script, (120, 36))
