"""Memory lists memories first: what is kept up beside them, such as trust scores, follows under a heading."""

from __future__ import annotations

from array import array

import pytest
from sb.screens.state.memory import UPKEEP_HEADING, arranged
from sb.screens.state.search import Found
from textual.pilot import Pilot

from sb.config import current_config
from sb.protocols.types import Note, TrustAssessment
from sb.stack.sqlite_stack import SQLiteStack
from tests.screens.conftest import Agents, Console
from tests.screens.test_memory import lines


@pytest.fixture
def settings() -> str:
    return "database: brain.db\nmemory: {embedder: none}\n"


def fill(agents: Agents) -> None:
    """Two memories, the older of a stack, and the newest record a trust score."""
    stack = SQLiteStack(
        "main",
        database=agents.runtime.log.database,
        config=current_config(),
        clock=agents.clock,
        ids=agents.ids,
    )
    stack.save_note(Note("n1", "main", "the office is in Bonn"))
    agents.runtime.brain("clerk").remember("the cellar is in Trier")
    stack.save_trust_assessment(TrustAssessment("t1", "main", "Bonner", {"general": {"score": 0.74}}))


def test_a_trust_score_stands_below_the_memories_also_of_a_filter(agents: Agents, console: Console) -> None:
    fill(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4")
        await console.until(pilot, lambda: "Bonner" in lines(console))
        places = [lines(console).index(text) for text in ("Trier", "office", "Upkeep", "Bonner")]
        assert places == sorted(places)
        await console.press(pilot, "slash", *"state:active", "enter")
        await console.shows(pilot, "3 of 3")
        assert lines(console).index("Trier") < lines(console).index("Upkeep")

    console(script)


def test_who_names_the_kind_gets_it_without_a_heading(agents: Agents, console: Console) -> None:
    fill(agents)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "4", "slash", *"kind:trust_assessment", "enter")
        await console.until(pilot, lambda: "Trier" not in lines(console))
        assert "Upkeep" not in lines(console)
        assert "Bonner" in lines(console)

    console(script)


def test_memories_alone_are_listed_as_they_were() -> None:
    keys = range(1_000_000, 0, -1)
    assert arranged(Found(keys, 1_000_000, True), None, []) is keys


def test_upkeep_that_does_not_fit_a_filter_is_not_listed() -> None:
    found = Found(array("q", [9, 7, 5, 3]), 9, True)
    assert list(arranged(found, None, [9, 8, 3])) == [7, 5, UPKEEP_HEADING, 9, 3]


def test_a_contradicted_memory_names_its_conflict_and_once_settled_what_superseded_it(
    agents: Agents, console: Console
) -> None:
    older = agents.runtime.brain("ada").remember("The deadline is in May")
    newer = agents.runtime.brain("eve").remember("The deadline is in June")
    (conflict,) = agents.runtime.brain("ada").conflicts()

    async def script(pilot: Pilot[None]) -> None:
        console.app.find_on("memory", older)
        await console.until(pilot, lambda: f"Contested in {conflict.id}" in console.detail())
        console.records.memory("write", "operator").resolve_conflict(conflict.id, newer, "asked the team")
        await console.until(pilot, lambda: f"Superseded by {newer}" in console.detail())

    console(script, (120, 36))
