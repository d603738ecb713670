"""Trust assessments by entity and domain; the default is 0.5.

Source: the stack protocol, "Trust layer".
"""

from __future__ import annotations

from typing import Any

from sb.memory.gate.trust import GENERAL
from sb.stack.checks import checked_share
from sb.stack.container import Container
from sb.stack.queries import Query, Reader
from sb.stack.saver import Saver
from sb.types import TrustAssessment

_UNKNOWN = 0.5


class Trust:
    """The trust assessments of a stack, one for each entity."""

    def __init__(self, container: Container, reader: Reader, saver: Saver) -> None:
        self._container = container
        self._reader = reader
        self._saver = saver

    def save(self, assessment: TrustAssessment) -> str:
        """Save an assessment, or add its domains to that of the entity; returns its id.

        Raises:
            ValueError: a score is not from 0 to 1. Otherwise as `Saver.save` does.
        """
        dimensions = assessment.dimensions
        if not isinstance(dimensions, dict) or not all(isinstance(one, dict) for one in dimensions.values()):
            raise ValueError(f"dimensions is {dimensions!r}, must be {{domain: {{'score': number}}}}")
        for domain, said in dimensions.items():
            checked_share(f"the score of {domain!r}", said.get("score"))
        return self._saver.save("trust_assessment", [assessment])[0]

    def find(self, *, entity_id: str | None = None, domain: str | None = None) -> list[TrustAssessment]:
        """The assessments of an entity, or those that say something of a domain; the newest first."""
        query = Query().among("r.place", self._container.places())
        query.add("r.kind = 'trust_assessment' AND r.state = 'active'")
        if entity_id is not None:
            query.add("r.key = ?", entity_id)
        if domain is not None:
            query.add("EXISTS (SELECT 1 FROM json_each(r.fields, '$.dimensions') WHERE key = ?)", domain)
        return self._reader.read(query, limit=None)

    def compute(self, entity_id: str, domain: str | None = None) -> dict[str, Any]:
        """Compute the trust in an entity for a domain, by default in general, from 0 to 1.

        Returns:
            `entity`, `domain`, `score`, and as `source` where that is known from: `assessment` of the domain, `general` where
            nothing is known of that, `default` (0.5) where nothing is known at all.
        """
        asked = domain or GENERAL
        said = next((one.dimensions for one in self.find(entity_id=entity_id)), {})
        source = asked if asked in said else GENERAL if GENERAL in said else ""
        return {
            "entity": entity_id,
            "domain": asked,
            "score": float(said[source]["score"]) if source else _UNKNOWN,
            "source": "default" if not source else "assessment" if source == asked else GENERAL,
        }
