"""Promotions pass the gate: what a memory says becomes its evidence, another value a belief of its own."""

from __future__ import annotations

from typing import Any

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.config.scopes import scopes_of
from sb.errors import DeniedError
from sb.memory.access import Rights
from sb.memory.brain import Brain
from sb.memory.consent import about
from sb.memory.operator_view import Overseer
from sb.protocols.types import Episode, TrustAssessment
from sb.stack import SQLiteStack

RULE = "Deploys go out on Tuesdays, after the tests have passed."


def learn(stack: SQLiteStack, lesson: str, number: int = 3, agent: str = "") -> None:
    source = f"core:{agent}" if agent else None
    start = len(stack.get_episodes(limit=100))
    for at in range(start, start + number):
        stack.save_episode(
            Episode(f"e{at}", "", f"step {at}", "done", lessons=[lesson], source_entity=source)
        )


@pytest.fixture
def brain(stack: SQLiteStack, clock: SteeredClock, ids: CountingIds) -> Brain:
    return Brain("ada", database=stack._database, stack="mine", clock=clock, ids=ids)


def test_what_a_memory_says_becomes_its_evidence_once(stack: SQLiteStack, brain: Brain) -> None:
    fact = brain.remember(RULE)
    before = brain.get(fact).confidence
    learn(stack, "After the tests have passed, deploys go out on Tuesdays.")
    for _ in range(3):
        assert stack.promote()["beliefs_created"] == 0
    row = brain.space.records.find(fact)
    assert row is not None
    (evidence,) = brain.space.evidence.of(row["id"])
    assert (evidence.agent, evidence.source_type, evidence.kind) == (
        "sb:consolidation",
        "consolidation",
        "restated",
    )
    assert evidence.weight > 0
    assert before is not None
    assert row["confidence"] > before
    assert row["text"] == RULE


def test_another_value_is_a_belief_of_its_own(stack: SQLiteStack, brain: Brain) -> None:
    brain.remember(RULE)
    learn(stack, "Deploys go out on Mondays, after the tests have passed.")
    (made,) = stack.promote()["belief_ids"]
    assert stack.promote()["belief_ids"] == []
    belief = stack.get_memory("belief", made)
    assert belief is not None
    assert belief.statement.startswith("Deploys go out on Mondays")


def test_what_a_user_wrote_is_not_made_surer_by_a_promotion(
    stack: SQLiteStack, brain: Brain, clock: SteeredClock, ids: CountingIds
) -> None:
    person = Overseer(database=stack._database, stack="mine", clock=clock, ids=ids)
    fact = person.remember(RULE, source_type="user-written")
    learn(stack, RULE)
    stack.promote()
    row = brain.space.records.find(fact)
    assert row is not None
    assert row["confidence"] == 0.75
    assert [evidence.weight for evidence in brain.space.evidence.of(row["id"])] == [0.0]


def test_no_belief_is_made_of_what_somebody_who_is_not_trusted_recorded(stack: SQLiteStack) -> None:
    stack.save_trust_assessment(TrustAssessment("", "mine", "eve", {"general": {"score": 0.2}}))
    learn(stack, RULE, agent="eve")
    assert stack.promote()["beliefs_created"] == 0
    learn(stack, "Small pull requests get reviewed faster.", agent="ada")
    assert stack.promote()["beliefs_created"] == 1


def test_who_may_not_promote_makes_no_belief(stack: SQLiteStack) -> None:
    learn(stack, RULE)
    rule = {"read": ("*",), "write": ("*",), "promote": ("ada",)}
    stack._container.space.rights = Rights(scopes_of({"*": rule}))
    stack.on_attach("eve")
    with pytest.raises(DeniedError, match="eve may not promote in global"):
        stack.promote()
    stack.on_detach("eve")
    stack.on_attach("ada")
    assert stack.promote()["beliefs_created"] == 1


def test_a_belief_is_about_whom_its_episodes_are_about_and_for_those_who_may_read_all_of_them(
    stack: SQLiteStack, brain: Brain
) -> None:
    named: list[dict[str, Any]] = [
        {"subject_ids": ["grace"], "access_grants": ["hr", "it"], "consent_grants": ["grace"]},
        {"subject_ids": ["hal", "grace"], "access_grants": ["hr"], "consent_grants": ["grace"]},
        {"subject_ids": ["ivy"], "consent_grants": ["ivy"]},
        {},
    ]
    for at, people in enumerate(named):
        stack.save_episode(Episode(f"e{at}", "", f"step {at}", "done", lessons=[RULE], **people))
    (made,) = stack.promote()["belief_ids"]
    row = brain.space.records.find(made)
    assert row is not None
    belief = brain.space.record(row)
    assert set(belief.subject_ids) == {"grace", "hal", "ivy"}
    assert belief.access_grants == ["hr"]
    assert set(belief.consent_grants) == {"grace", "ivy"}
    assert made not in [hit.id for hit in brain.search("deploys on Tuesdays")]
    assert made in about(brain.database, "grace")
