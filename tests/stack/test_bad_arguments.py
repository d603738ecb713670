"""An argument that cannot be is a ValueError, whatever its type, and nothing is written."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from sb.protocols.types import Belief, Episode, Note, TrustAssessment
from sb.stack import SQLiteStack
from tests.rows import rows

READS: list[Callable[[SQLiteStack], object]] = [
    lambda stack: stack.search("x", limit="many"),  # type: ignore[arg-type]
    lambda stack: stack.search("x", limit=1.5),  # type: ignore[arg-type]
    lambda stack: stack.search("x", limit=-1),
    lambda stack: stack.search("x", min_confidence="sure"),  # type: ignore[arg-type]
    lambda stack: stack.search("x", min_confidence=math.nan),
    lambda stack: stack.search("x", record_types=[["episode"]]),  # type: ignore[list-item]
    lambda stack: stack.get_episodes(limit=2.5),  # type: ignore[arg-type]
    lambda stack: stack.get_episodes(tags="deploy"),  # type: ignore[arg-type]
    lambda stack: stack.get_episodes(tags=[["deploy"]]),  # type: ignore[list-item]
    lambda stack: stack.get_beliefs(belief_type=["fact"]),  # type: ignore[arg-type]
    lambda stack: stack.get_suggestions(max_age_hours="old"),  # type: ignore[arg-type]
    lambda stack: stack.load(token_budget="all"),  # type: ignore[arg-type]
    lambda stack: stack.load(token_budget=math.nan),  # type: ignore[arg-type]
    lambda stack: stack.load(context=5),  # type: ignore[arg-type]
    lambda stack: stack.search(None),  # type: ignore[arg-type]
    lambda stack: stack.get_episodes(context=["shop"]),  # type: ignore[arg-type]
    lambda stack: stack.get_relationship(None),  # type: ignore[arg-type]
    lambda stack: stack.update_memory_meta("episode", "e", tags=5),  # type: ignore[arg-type]
    lambda stack: stack.weaken_memory("episode", "e", math.nan),
]


@rows("number", range(len(READS)))
def test_what_is_asked_for_has_to_make_sense(stack: SQLiteStack, number: int) -> None:
    stack.save_episode(Episode("e", "", "Deploy", "It worked"))
    with pytest.raises(ValueError, match="must be"):
        READS[number](stack)


@pytest.mark.parametrize("sources", [5, True, "episode:e", [1], [None], {"episode": "e"}])
def test_sources_are_a_list_of_references(stack: SQLiteStack, sources: Any) -> None:
    with pytest.raises(ValueError, match="derived_from"):
        stack.save_belief(Belief("b", "", "Deploys work on Fridays", derived_from=sources))
    assert stack.get_memory("belief", "b") is None


def test_a_memory_may_have_any_number_of_sources(stack: SQLiteStack) -> None:
    many = [f"episode:{number}" for number in range(70_000)]
    stack.save_belief(Belief("b", "", "Deploys work on Fridays", derived_from=many))
    assert stack.get_beliefs()[0].derived_from == many


@pytest.mark.parametrize("dimensions", [None, 5, "general", ["general"], {"general": 0.5}, {"general": {}}])
def test_a_trust_assessment_has_a_score_for_each_domain(stack: SQLiteStack, dimensions: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        stack.save_trust_assessment(TrustAssessment("t", "", "bob", dimensions))
    assert stack.get_trust_assessments() == []


def test_what_can_be_no_id_names_no_memory(stack: SQLiteStack) -> None:
    for uid in ("\ud800", "a\0b", "", "'"):
        assert stack.get_memory("episode", uid) is None
        assert stack.forget_memory("episode", uid, "whatever it was") is False
    with pytest.raises(ValueError, match="cannot be stored"):
        stack.save_note(Note("n", "mine", "made from nothing", derived_from=["note:\ud800"]))
    assert stack.get_notes() == []
