"""Salience moves important memories up a little, and can be switched off."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.memory import salience as stage
from sb.memory.salience import WEIGHTS, salience, within
from sb.memory.views import estimated_tokens
from sb.store.records.descriptors import DESCRIPTORS
from tests.memory.agents import DAY, Agents, agents

__all__ = ["agents"]

PLAIN = {"kind": "fact", "created_at": 0.0, "confidence": 0.5, "strength": 0.5, "protected": 0}


def of(row: dict[str, Any] = {}, reads: tuple[int, float] | None = None, **more: Any) -> float:  # noqa: B006
    return salience({**PLAIN, **row}, reads, 100 * DAY, **more).value


def test_each_term_makes_a_memory_matter_more() -> None:
    base = of()
    assert of({"created_at": 99 * DAY}) > base
    assert of(reads=(5, 0.0)) > base
    assert of(reads=(0, 99 * DAY)) > base
    assert of({"confidence": 0.9}) > base > of({"confidence": 0.1})
    assert of({"strength": 1.0}) > base
    assert of({"protected": 1}) > base
    assert of({"importance": 100.0}) > of({"importance": 3.0}) > base
    assert of(relevance=1.0) > base


@pytest.mark.parametrize("kind", ["fact", "decision", "event"])
def test_recency_halves_with_the_half_life_of_the_kind(kind: str) -> None:
    row = {**PLAIN, "kind": kind, "created_at": 100 * DAY}
    then = (100 + DESCRIPTORS[kind].half_life_days) * DAY
    assert salience(row, None, then).terms["recency"][0] == pytest.approx(0.5)


@given(
    age=st.floats(-1e9, 1e9), reads=st.integers(0, 10**9), confidence=st.none() | st.floats(0, 1),
    strength=st.floats(0, 1), relevance=st.floats(0, 1),
)  # fmt: skip
def test_salience_is_the_weighted_mean_of_its_terms(
    age: float, reads: int, confidence: float | None, strength: float, relevance: float
) -> None:
    row = {**PLAIN, "created_at": age, "confidence": confidence, "strength": strength}
    found = salience(row, (reads, age), 0.0, relevance=relevance)
    assert 0 <= found.value <= 1
    assert set(found.terms) == set(WEIGHTS)
    total = sum(value * weight for value, weight in found.terms.values())
    assert found.value == pytest.approx(total / sum(WEIGHTS.values()))


@given(st.integers(0, 200), st.lists(st.text("ab ", max_size=80)))
def test_what_is_kept_fits_in_its_order_and_nothing_more_would(budget: int, lines: list[str]) -> None:
    indices = within(budget, list(enumerate(lines)))
    assert indices == sorted(indices)
    text = "".join(lines[at] + "\n" for at in indices)
    assert estimated_tokens(text) <= budget
    for at, line in enumerate(lines):
        if at not in indices:
            assert estimated_tokens(f"{text}{line}\n") > budget


def test_of_two_memories_that_answer_alike_the_one_that_is_used_comes_first(agents: Agents) -> None:
    text = "this door leads to the cellar"
    first, second = (agents.brain().remember(text, item, force=True) for item in ("project", "lesson"))
    brain = agents.brain()
    asked = "which door leads to the cellar"
    neutral = [hit.id for hit in brain.search(asked, benchmark=True)]
    assert neutral == [first, second]
    brain.search(asked, categories=["lesson"])
    assert [hit.id for hit in brain.search(asked)] == [second, first]
    assert [hit.id for hit in brain.search(asked, benchmark=True)] == neutral


def test_an_explanation_names_the_stage_and_adds_up_to_the_score(agents: Agents) -> None:
    brain = agents.brain()
    for number in range(5):
        brain.remember(f"door {number} leads to cellar {number}")
    for fusion in (False, True):
        for hit in brain.search("cellar door 3", explain=True, fusion=fusion):
            assert hit.explanation is not None
            assert hit.explanation["salience.recency"][0] == pytest.approx(1.0)
            assert sum(value * weight for value, weight in hit.explanation.values()) == pytest.approx(
                hit.score
            )
        for hit in brain.search("cellar door 3", explain=True, fusion=fusion, benchmark=True):
            assert not any(name.startswith("salience") for name in hit.explanation or {})


def test_at_zero_the_stage_changes_no_score(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    brain = agents.brain()
    brain.remember("the door leads to the cellar")
    neutral = brain.search("cellar", benchmark=True)
    monkeypatch.setattr(stage, "SHARE_OF_SEARCH", 0.0)
    assert [(hit.id, hit.score) for hit in brain.search("cellar")] == [(hit.id, hit.score) for hit in neutral]


def test_salience_never_lifts_what_answers_much_worse(agents: Agents) -> None:
    brain = agents.brain()
    poor = brain.remember("a door")
    brain.protect(poor)
    best = brain.remember("the copper key opens the cellar door")
    for _ in range(40):
        brain.search("a door", kinds=["fact"], k=2)
    agents.clock.time += 300 * DAY
    assert brain.search("which copper key opens the cellar")[0].id == best
