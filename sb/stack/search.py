"""Search a stack: the hits a Brain would find, as the kinds of a stack.

Source: the stack protocol, "Search" and "Search pipeline". What a hit must be is a condition in SQL: a limit counts what is
returned. What shares no word with the question and is not near in meaning is no hit (docs/reference/retrieval.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sb.base.text import storable
from sb.memory.ranking.rank import Ranked
from sb.memory.search import Searcher
from sb.memory.views import tokens_of
from sb.protocols.types import SearchResult
from sb.stack.checks import check_text, checked_limit, checked_share
from sb.stack.container import Container
from sb.stack.queries import Query
from sb.stack.registry import Components
from sb.stack.views import kinds_viewed_as, to_view
from sb.store.records.columns import Row
from sb.store.records.descriptors import DESCRIPTORS, KIND_OF
from sb.store.records.rows import content, from_row

SEARCHED = tuple(
    kind for kind, descriptor in DESCRIPTORS.items() if not descriptor.of_a_brain and not descriptor.aside
)
_TOLD = ("confidence", "strength", "context", "tags", "source_type", "source_entity", "created_at")
_SPARE = 2  # times as many as wanted are shown to components, so that they may leave some out


class StackSearch:
    """Searches one stack."""

    def __init__(self, container: Container, components: Components) -> None:
        self._container = container
        self._components = components
        self._searcher = Searcher(container.space)

    def search(
        self,
        query: str,
        limit: int,
        record_types: Sequence[str] | None,
        context: str | None,
        min_confidence: float | None,
    ) -> list[SearchResult]:
        """The best hits, the best first; see `SQLiteStack.search`."""
        check_text("query", query)
        limit = checked_limit(limit)
        condition = self._condition(record_types, context, min_confidence)
        places = self._container.places()
        query = storable(query)
        if not limit or not places or not query.strip():
            return []
        reach = limit * _SPARE if self._components.searching() else limit
        best = self._searcher.first(self._searcher.find(query, places, filters=condition), reach)
        numbers = {row["uid"]: ranked.id for ranked, row in best}
        results = self._components.on_search(query, [self._result(ranked, row) for ranked, row in best])[
            :limit
        ]
        hits = [
            (numbers[result.memory_id], result.score) for result in results if result.memory_id in numbers
        ]
        tokens = sum(tokens_of(len(result.content)) for result in results)
        self._container.log_reads("search", query, hits, tokens)
        return results

    def _condition(
        self, types: Sequence[str] | None, context: str | None, min_confidence: float | None
    ) -> Query:
        if types is None:
            types = SEARCHED
        if not isinstance(types, list | tuple) or not all(
            isinstance(item, str) and item in SEARCHED for item in types
        ):
            raise ValueError(f"record_types is {types!r}, must be a list of {', '.join(SEARCHED)}")
        condition = Query().among("r.kind", [own for item in types for own in kinds_viewed_as(item)])
        if context is not None:
            condition.within(context, self._container)
        if min_confidence is not None:
            condition.add("r.confidence >= ?", checked_share("min_confidence", min_confidence))
        return condition

    def _result(self, hit: Ranked, row: Row) -> SearchResult:
        record = to_view(from_row(row, self._container.space.places.numbered(row["place"])))
        record = self._container.masks.copy(record)
        metadata: dict[str, Any] = {name: getattr(record, name) for name in _TOLD if hasattr(record, name)}
        if metadata.get("created_at") is not None:
            metadata["created_at"] = metadata["created_at"].isoformat()
        return SearchResult(KIND_OF[type(record)], row["uid"], content(record), hit.score, metadata)
