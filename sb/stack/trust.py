"""Trust assessments by entity and domain; the default is 0.5.

Source: the stack protocol, "Trust layer". What operators assessed stands before what cores did; see `sb.memory.trust`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from sb.memory.trust.authority import with_authority
from sb.memory.trust.scores import GENERAL
from sb.memory.trust.store import place_of_operators
from sb.protocols.types import TrustAssessment
from sb.stack.checks import checked_share
from sb.stack.container import Container
from sb.stack.queries import NEWEST, Query, StackReader
from sb.stack.saver import Saver

_UNKNOWN = 0.5


class Trust:
    """The trust assessments of a stack, one for each entity."""

    def __init__(self, container: Container, reader: StackReader, saver: Saver) -> None:
        self._container = container
        self._reader = reader
        self._saver = saver

    def save(self, assessment: TrustAssessment) -> str:
        """Save an assessment, or add its domains to that of the entity; returns its id.

        Raises:
            ValueError: a score is not from 0 to 1. Otherwise as `Saver.save` does.
        """
        dimensions = assessment.dimensions
        if not isinstance(dimensions, dict) or not all(
            isinstance(item, dict) for item in dimensions.values()
        ):
            raise ValueError(f"dimensions is {dimensions!r}, must be {{domain: {{'score': number}}}}")
        for domain, dimension in dimensions.items():
            checked_share(f"the score of {domain!r}", dimension.get("score"))
        if by := self._container.reader:
            self._sign(assessment, by)
        return self._saver.save("trust_assessment", [assessment])[0]

    def _sign(self, assessment: TrustAssessment, by: str) -> None:
        """Name the attached core as who gave these scores, whoever they name."""
        space = self._container.space
        place = space.places.find(self._container.place)
        former = None if place is None else space.records.keyed(place, "trust_assessment", assessment.entity)
        others = orjson.loads(former["fields"]).get("authority") if former is not None else None
        now = space.clock.now()
        origins = {domain: {"domain": domain, "by": by, "at": now} for domain in assessment.dimensions}
        assessment.authority = with_authority(others, origins)

    def find(self, *, entity_id: str | None = None, domain: str | None = None) -> list[TrustAssessment]:
        """The assessments of an entity, or those that say something of a domain, one of each entity; the newest first."""
        query = Query().among("r.place", (*self._container.places(), *self._operators()))
        query.add("r.kind = 'trust_assessment' AND r.state = 'active'")
        if entity_id is not None:
            query.add("r.key = ?", entity_id)
        # An operator's come last, so that what they say replaces what cores say of the same domain.
        order = f"r.place IN ({', '.join(map(str, self._operators())) or 'NULL'}), {NEWEST}"
        found: dict[str, TrustAssessment] = {}
        for item in self._reader.read(query, limit=None, order=order):
            found[item.entity] = _joined(found[item.entity], item) if item.entity in found else item
        return [
            assessment for assessment in found.values() if domain is None or domain in assessment.dimensions
        ]

    def _operators(self) -> tuple[int, ...]:
        """The place of what operators assessed, if they assessed anybody."""
        number = self._container.space.places.find(place_of_operators(self._container.stack_id))
        return () if number is None else (number,)

    def compute(self, entity_id: str, domain: str | None = None) -> dict[str, Any]:
        """Compute the trust in an entity for a domain, by default in general, from 0 to 1.

        Returns:
            `entity`, `domain`, `score`, and as `source` where that is known from: `assessment` of the domain, `general` where
            nothing is known of that, `default` (0.5) where nothing is known at all.
        """
        asked = domain or GENERAL
        dimensions = next((item.dimensions for item in self.find(entity_id=entity_id)), {})
        source = asked if asked in dimensions else GENERAL if GENERAL in dimensions else ""
        return {
            "entity": entity_id,
            "domain": asked,
            "score": float(dimensions[source]["score"]) if source else _UNKNOWN,
            "source": "default" if not source else "assessment" if source == asked else GENERAL,
        }


def _joined(cores: TrustAssessment, operators: TrustAssessment) -> TrustAssessment:
    """The joint assessment of an entity by cores and operators."""
    origins = {entry["domain"]: entry for entry in operators.authority or () if "domain" in entry}
    return replace(
        cores,
        dimensions={**cores.dimensions, **operators.dimensions},
        authority=with_authority(cores.authority, origins),
        evidence_episode_ids=list(
            dict.fromkeys([*(cores.evidence_episode_ids or ()), *(operators.evidence_episode_ids or ())])
        ),
        last_updated=operators.last_updated,
    )
