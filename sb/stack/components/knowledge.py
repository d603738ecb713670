"""Map the topics of the memory, and relate the memories that share them."""

from __future__ import annotations

from typing import Any

from sb.stack.components.component import Component
from sb.stack.relations import MENTIONS, TOPIC
from sb.stack.storage import StackStorage

_STRONG, _WEAK = 0.7, 0.5  # mean confidence of a topic that is well known, and of one that is not
_FEWEST = 2  # memories of a topic that is well known
_SHOWN = 20  # topics of each sort


class KnowledgeComponent(Component):
    """Relates memories, and says which topics they are about."""

    name = "knowledge"

    def _maintain(self, storage: StackStorage) -> dict[str, Any]:
        related = storage.relater.relate()
        domains = storage.relater.domains()
        strong = [
            domain.name for domain in domains if domain.confidence >= _STRONG and domain.memories >= _FEWEST
        ]
        return {
            "domains_found": len(domains),
            "strength_domains": strong[:_SHOWN],
            "weakness_domains": [domain.name for domain in domains if domain.confidence < _WEAK][:_SHOWN],
            "uncertain_areas": [
                domain.name for domain in domains if domain.confidence >= _WEAK > domain.least
            ][:_SHOWN],
            "topics_related": related[TOPIC],
            "mentions_related": related[MENTIONS],
        }
