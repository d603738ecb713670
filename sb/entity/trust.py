"""Set and list the trust of a core in others, by domain.

Source: the core protocol, "Trust operations".
"""

from __future__ import annotations

import math

from sb.entity.routing import Routing, non_blank, number
from sb.protocols.types import TrustAssessment


class Trust(Routing):
    """Assessments of others in the active stack; raises NoActiveStackError where there is none."""

    def trust_set(self, entity: str, domain: str, score: float, *, evidence: str | None = None) -> str:
        """Set the trust in an entity for one domain; other domains stay. Returns the assessment's id.

        Args:
            score: from 0 to 1. evidence: the id of an episode that speaks for it, added to those before.

        Raises:
            ValueError: a name is empty, or the score is not from 0 to 1.
        """
        stack = self._required_stack()
        for name, value in (("entity", entity), ("domain", domain)):
            non_blank(name, value)
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise ValueError(f"score is {score!r}, must be a number from 0 to 1")
        now = self._now()
        return stack.save_trust_assessment(
            TrustAssessment(
                self._new_id(),
                stack.stack_id,
                entity,
                {domain: {"score": score}},
                evidence_episode_ids=None if evidence is None else [evidence],
                last_updated=now,
                created_at=now,
            )
        )

    def trust_get(self, entity: str, *, domain: str | None = None) -> list[TrustAssessment]:
        """List the assessments of an entity, by domain if one is given."""
        return self._required_stack().get_trust_assessments(entity_id=entity, domain=domain)

    def trust_list(
        self, *, domain: str | None = None, min_score: float | None = None
    ) -> list[TrustAssessment]:
        """List the assessments of all entities.

        Args:
            min_score: only those with at least this score: in the domain, if one is given, else in any.
        """
        found = self._required_stack().get_trust_assessments(domain=domain)
        if min_score is None:
            return found
        least = number("min_score", min_score)
        return [assessment for assessment in found if _best(assessment, domain) >= least]


def _best(assessment: TrustAssessment, domain: str | None) -> float:
    scores = assessment.dimensions
    counted = scores.values() if domain is None else [scores.get(domain, {})]
    return max((item.get("score", -math.inf) for item in counted), default=-math.inf)
