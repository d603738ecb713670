"""Load working memory: what matters most, within a budget of tokens.

Source: the stack protocol, "Working memory assembly". How much a kind matters is in its descriptor; what fades counts half, and
what belongs to the context comes earlier. Candidates are read in that order, and no further than the budget reaches.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from heapq import merge
from typing import Any, NamedTuple

from sb.memory.views import tokens_of
from sb.protocols.types.vocabulary import FADING, ITEM_CHARACTERS, STRONG
from sb.stack.checks import checked_budget
from sb.stack.container import Container
from sb.stack.queries import Query
from sb.stack.registry import Components
from sb.stack.views import kinds_viewed_as, to_view
from sb.store.records.columns import Row
from sb.store.records.descriptor import Descriptor
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.reads import LOAD
from sb.store.records.rows import content, from_row

_IN_CONTEXT = (
    0.2  # added to the priority of what belongs to the context: an episode of it comes as early as a drive
)
_FADING_SHARE = 0.5  # of the priority of what is no longer strong
_PASSED_OVER = 100  # candidates that do not fit, before no smaller one is looked for
_MOST_BONUS = 0.1  # that any memory has over others of its kind
_PAGE, _GROWTH = (
    512,
    8,
)  # candidates of a kind that are put in order at once, and by how much more each further time
_SLICE = 32  # candidates that are read at once

# Kind to the name of its list, and what of a memory is in it.
PARTS = {
    "value": ("values", ("id", "name", "statement", "priority")),
    "belief": ("beliefs", ("id", "statement", "belief_type", "confidence")),
    "goal": ("goals", ("id", "title", "description", "priority", "status")),
    "drive": ("drives", ("id", "drive_type", "intensity", "focus_areas")),
    "episode": (
        "episodes",
        ("id", "objective", "outcome", "outcome_type", "tags", "lessons", "created_at"),
    ),
    "note": ("notes", ("id", "content", "note_type", "tags", "speaker", "reason", "created_at")),
    "relationship": (
        "relationships",
        ("id", "entity_name", "entity_type", "sentiment", "interaction_count", "last_interaction", "notes"),
    ),
    "summary": ("summaries", ("id", "scope", "content")),
    "self_narrative": (
        "self_narratives",
        ("id", "narrative_type", "content", "key_themes", "unresolved_tensions"),
    ),
}
# The summaries that an active one takes the place of.
_REPLACED = (
    "SELECT j.value FROM records AS s, json_each(s.fields, '$.supersedes') AS j WHERE s.kind = 'summary'"
    " AND s.state = 'active' AND s.place IN ({})"
)


class _Candidate(NamedTuple):
    """A memory that may be loaded; the larger its priority, the earlier.

    Without a record it only says that nothing of its kind comes earlier: until then nothing of that kind is read.
    """

    priority: float
    kind: str
    number: int = 0
    record: Any = None


class Loader:
    """Assembles the working memory of a stack."""

    def __init__(self, container: Container, components: Components) -> None:
        self._container = container
        self._components = components

    def load(self, token_budget: int, context: str | None) -> dict[str, Any]:
        """The most important memories; see `SQLiteStack.load`."""
        budget = checked_budget(token_budget)
        taken, used = self._within(budget, context)
        loaded: dict[str, Any] = {name: [] for name, _ in PARTS.values()}
        for candidate in taken:
            name, attributes = PARTS[candidate.kind]
            loaded[name].append({each: _item(getattr(candidate.record, each)) for each in attributes})
        loaded["_meta"] = {
            "budget_used": used,
            "budget_total": budget,
            "excluded_count": self._present() - len(taken),
        }
        self._container.log_reads(LOAD, "", [(item.number, item.priority) for item in taken], used)
        self._components.on_load(loaded)
        return loaded

    def _within(self, budget: int, context: str | None) -> tuple[list[_Candidate], int]:
        """Returns what fits the budget, and its tokens."""
        taken: dict[int, _Candidate] = {}
        used = passed_over = 0
        for candidate in self._candidates(context):
            if candidate.record is None or candidate.number in taken:  # what is of the context came already
                continue
            tokens = max(1, tokens_of(len(cut(content(candidate.record)))))
            if used + tokens <= budget:
                taken[candidate.number] = candidate
                used += tokens
            else:
                passed_over += 1
            if used == budget or passed_over == _PASSED_OVER:
                break
        return list(taken.values()), used

    def _candidates(self, context: str | None) -> Iterator[_Candidate]:
        """All candidates, the most important first, then by kind and the newest first; those of the context come twice."""
        streams = []
        listed = Query().listed(self._container)  # once for all: it may look at every record
        for kind in PARTS:
            for of_context in (True, False) if context is not None else (False,):
                strong = self._query(kind, listed).add("r.strength >= ?", STRONG)
                fading = self._query(kind, listed).add("r.strength >= ? AND r.strength < ?", FADING, STRONG)
                for query, share in ((strong, 1.0), (fading, _FADING_SHARE)):
                    if of_context and context is not None:
                        query.within(context, self._container)
                    streams.append(self._stream(kind, query, share, _IN_CONTEXT if of_context else 0.0))
        return merge(*streams, key=lambda candidate: -candidate.priority)

    def _query(self, kind: str, listed: Query) -> Query:
        query = Query().also(listed)
        if kind == "goal":
            query.equal("status", "active")
        if kind == "summary":
            places = self._container.places()
            marks = ", ".join("?" * len(places)) or "NULL"
            query.add(f"r.uid NOT IN ({_REPLACED.format(marks)})", *places)
        return query

    def _stream(self, kind: str, query: Query, share: float, more: float) -> Iterator[_Candidate]:
        """The candidates of one kind, the most important first; read as far as somebody asks for them."""
        about = DESCRIPTORS[kind]
        most = max((*about.priorities.values(), about.priority)) + (_MOST_BONUS if about.bonus else 0.0)
        yield _Candidate((most + more) * share, kind)
        for row, record in self._in_order(about, query):
            yield _Candidate((about.priority_of(record) + more) * share, kind, row["id"], record)

    def _in_order(self, about: Descriptor, query: Query) -> Iterator[tuple[Row, Any]]:
        """Rows and records, without how often they were read."""
        container, places = self._container, self._container.space.places
        here, kinds = container.places(), kinds_viewed_as(about.kind)
        where, values = query.sql()
        skip, page, numbers = 0, _PAGE, [0]
        while here and numbers:
            numbers = container.space.records.leading(
                here, kinds, where, values, by=_importance(about), skip=skip, limit=page
            )
            for start in range(0, len(numbers), _SLICE):
                part = numbers[start : start + _SLICE]
                rows = {row["id"]: row for row in container.space.records.rows(part)}
                for row in (rows[number] for number in part if number in rows):
                    record = to_view(from_row(row, places.numbered(row["place"])))
                    yield row, container.masks.copy(record)
            skip, page = skip + page, page * _GROWTH

    def _present(self) -> int:
        """Counts the present memories of these kinds, weak ones too."""
        kinds = [own for kind in PARTS for own in kinds_viewed_as(kind)]
        query = Query().among("r.place", self._container.places()).among("r.kind", kinds)
        query.add("r.state = 'active'").listed(self._container)
        return self._container.space.records.number_of(*query.sql())


def _importance(about: Descriptor) -> str:
    """Returns the SQL order of a kind by what `Descriptor.priority_of` depends on; "" if nothing."""
    if about.bonus:
        name = about.bonus[0]
        return (
            f"r.{about.column_of[name]}" if name in about.column_of else f"json_extract(r.fields, '$.{name}')"
        )
    cases = " ".join(f"WHEN '{word}' THEN {value}" for word, value in about.priorities.items())
    return f"CASE r.category {cases} ELSE {about.priority} END" if cases else ""


def _item(value: Any) -> Any:
    """An attribute as it is loaded: what JSON can hold, and no longer than a text may be."""
    if isinstance(value, datetime):
        return value.isoformat()
    return cut(value) if isinstance(value, str) else value


def cut(text: str) -> str:
    """At most `ITEM_CHARACTERS` of a text, cut between words where that loses less than half."""
    if len(text) <= ITEM_CHARACTERS:
        return text
    head = text[: ITEM_CHARACTERS - 3]
    space = head.rfind(" ")
    return (head[:space] if space > len(head) // 2 else head) + "..."
