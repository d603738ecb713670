"""Decay of a Brain's memories: slower after recall, marked for review before they fade, and found all the same."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.memory.decay import REVIEW, fading, stability
from sb.protocols.types.vocabulary import WEAK
from sb.stack import SQLiteStack
from sb.stack.components import ForgettingComponent
from sb.store.records.descriptors import DESCRIPTORS
from tests.memory.agents import DAY, Agents, agents

__all__ = ["agents"]

KINDS = sorted(kind for kind, about in DESCRIPTORS.items() if about.half_life_days != inf)
ROW = {
    "kind": "fact",
    "category": "project",
    "strength": 1.0,
    "protected": 0,
    "created_at": 0.0,
    "updated_at": 0.0,
}


@given(
    kind=st.sampled_from(KINDS), strength=st.floats(WEAK, 1), recalls=st.integers(0, 10_000), days=st.floats(0, 5_000)
)  # fmt: skip
def test_a_memory_is_marked_before_it_fades_and_never_becomes_too_weak_to_be_found(
    kind: str, strength: float, recalls: int, days: float
) -> None:
    row = {**ROW, "kind": kind, "category": None, "strength": strength}
    now = days * DAY
    course = fading(row, (recalls, 0.0), now)
    assert WEAK <= course.strength <= strength
    assert 0 <= course.review_at <= course.fades_at
    at_mark, faded = (
        fading(row, (recalls, 0.0), moment).strength for moment in (course.review_at, course.fades_at)
    )
    assert at_mark == pytest.approx(min(strength, REVIEW))
    assert faded == pytest.approx(WEAK)
    more = fading(row, (recalls + 1, 0.0), now)
    assert more.strength >= course.strength
    assert more.fades_at >= course.fades_at
    again = fading(row, (recalls, now), now)
    assert again.strength == strength


@given(st.sampled_from(KINDS), st.floats(0, 1), st.floats(0, 5_000))
def test_what_is_protected_does_not_fade(kind: str, strength: float, days: float) -> None:
    row = {**ROW, "kind": kind, "strength": strength, "protected": 1}
    assert fading(row, None, days * DAY) == (strength, 0.0, 0.0)


def test_recalls_make_a_memory_last_longer() -> None:
    assert [stability(60, times) for times in (0, 1, 3, 31)] == [60, 90, 120, 210]


def test_a_memory_shows_its_strength_and_when_it_fades_and_recall_gives_it_back(agents: Agents) -> None:
    written = agents.brain().remember("the billing worker has a queue of its own")
    rule = agents.brain().remember("never deploy on Fridays", category="convention")
    agents.brain().protect(rule, reason="house rule")
    agents.clock.time += 60 * DAY
    shown = agents.person().show(written).memory
    assert shown.strength == pytest.approx(0.5, abs=0.01)
    assert agents.clock.time < shown.review_at < shown.fades_at
    assert agents.brain().fading() == []
    agents.clock.time += 60 * DAY
    (marked,) = agents.brain().fading()
    assert marked.id == written
    assert marked.strength == pytest.approx(0.25, abs=0.01)
    assert agents.person().show(rule).memory.as_json().keys().isdisjoint({"review_at", "fades_at"})
    agents.clock.time += 3_600 * DAY
    assert agents.rows("SELECT state, strength FROM records WHERE uid = ?", written) == [("active", 1.0)]
    hits = agents.brain().search("billing worker queue")
    assert [hit.id for hit in hits][:1] == [written]
    assert hits[0].strength == WEAK
    assert agents.brain().fading() == []
    agents.clock.time += 60 * DAY
    assert agents.person().show(written).memory.strength == pytest.approx(0.5 ** (60 / 90), abs=0.01)


def test_a_faded_memory_comes_after_one_that_was_recalled(agents: Agents) -> None:
    first, second = (
        agents.brain().remember(f"the {name} worker has a queue", force=True) for name in ("mail", "sale")
    )
    agents.clock.time += 50 * DAY
    agents.brain().get(first)
    agents.clock.time += DAY
    assert [hit.id for hit in agents.brain().search("which worker has a queue")] == [first, second]
    rows = {row["uid"]: row for row in agents.brain().space.records.known([first, second]).values()}
    left = agents.person().space.aged(rows.values(), {})
    assert all(left[row["id"]]["strength"] < row["strength"] for row in rows.values())


def test_what_a_sweep_of_the_stack_took_off_is_not_taken_off_again(agents: Agents) -> None:
    database = agents.database
    with SQLiteStack(
        "default", database=database, components=[ForgettingComponent()], clock=agents.clock
    ) as stack:
        stack.maintenance()  # decay begins
        written = agents.brain().remember("the billing worker has a queue of its own")
        agents.clock.time += 60 * DAY
        stack.maintenance()
    stored = agents.rows("SELECT strength FROM records WHERE uid = ?", written)[0][0]
    assert stored == pytest.approx(0.5, abs=0.01)
    assert agents.person().show(written).memory.strength == pytest.approx(stored, abs=0.001)
