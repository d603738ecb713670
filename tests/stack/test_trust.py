"""Trust is what was said of somebody in a domain, else in general, else half."""

from __future__ import annotations

from typing import Any

import pytest

from sb.protocols.types import TrustAssessment
from sb.stack import SQLiteStack


def assess(stack: SQLiteStack, entity: str, **scores: Any) -> str:
    dimensions = {domain: {"score": score} for domain, score in scores.items()}
    return stack.save_trust_assessment(TrustAssessment("", "mine", entity, dimensions))


def test_a_second_domain_is_added_to_the_first(stack: SQLiteStack) -> None:
    first = assess(stack, "ada", code=0.9)
    assert assess(stack, "ada", general=0.6) == first
    assert assess(stack, "ada", code=0.8) == first
    (assessment,) = stack.get_trust_assessments(entity_id="ada")
    assert assessment.dimensions == {"code": {"score": 0.8}, "general": {"score": 0.6}}


def test_a_domain_filters(stack: SQLiteStack) -> None:
    assess(stack, "ada", code=0.9)
    assess(stack, "bob", cooking=0.4)
    assert [assessment.entity for assessment in stack.get_trust_assessments(domain="code")] == ["ada"]
    assert {assessment.entity for assessment in stack.get_trust_assessments()} == {"ada", "bob"}
    assert stack.get_trust_assessments(entity_id="bob", domain="code") == []


def test_the_source_of_a_score_is_said(stack: SQLiteStack) -> None:
    assess(stack, "ada", code=0.9, general=0.6)
    assess(stack, "bob", cooking=0.4)

    def trust(entity: str, domain: str | None = None) -> tuple[float, str, str]:
        found = stack.compute_trust(entity, domain)
        assert found["entity"] == entity
        return found["score"], found["source"], found["domain"]

    assert trust("ada", "code") == (0.9, "assessment", "code")
    assert trust("ada") == (0.6, "assessment", "general")
    assert trust("ada", "cooking") == (0.6, "general", "cooking")
    assert trust("bob", "code") == (0.5, "default", "code")
    assert trust("nobody") == (0.5, "default", "general")


@pytest.mark.parametrize("score", [1.1, -0.1, "high", None, True, float("nan")])
def test_a_score_is_from_0_to_1(stack: SQLiteStack, score: Any) -> None:
    with pytest.raises(ValueError, match="score"):
        assess(stack, "ada", code=score)
    assert stack.get_trust_assessments() == []
