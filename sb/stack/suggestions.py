"""Accept or dismiss suggested memories.

Source: the stack protocol, "Suggestion lifecycle". The memory and what became of the suggestion are one transaction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from sb.base.text import with_article
from sb.memory.access import PROMOTE
from sb.protocols.types import MemorySuggestion
from sb.protocols.types.vocabulary import SUGGESTION_MEMORY_TYPES, SUGGESTION_STATUSES
from sb.stack.checks import check_word, checked_number, checked_share
from sb.stack.container import SYSTEM, Container
from sb.stack.lint import objection
from sb.stack.provenance import check_writable
from sb.stack.queries import Query, StackReader
from sb.stack.saver import Saver
from sb.store.records.consent import inherited
from sb.store.records.descriptors import DESCRIPTORS
from sb.store.records.places import Execute
from sb.store.records.rows import to_moment

PROMOTED = f"{SYSTEM}suggestion-promotion"  # where a memory came from that was suggested
PENDING = "pending"
_KIND = ("suggestion",)
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "episode": {"outcome": "", "outcome_type": "unknown", "tags": ["auto-suggested"]},
    "belief": {"confidence": 0.7},
    "relationship": {"entity_type": "unknown"},
}
_OURS = frozenset(
    {"id", "stack_id", "version", "source_entity", "source_type", "derived_from", "created_at", "strength"}
)  # of the memory: no suggestion says them


class _Settled(Exception):
    """Somebody else settled the suggestion meanwhile."""


class Suggestions:
    """The suggestions of a stack."""

    def __init__(self, container: Container, reader: StackReader, saver: Saver) -> None:
        self._container = container
        self._reader = reader
        self._saver = saver

    def get(self, suggestion_id: str) -> MemorySuggestion | None:
        """The suggestion of an id, whatever became of it."""
        found: MemorySuggestion | None = self._reader.get("suggestion", suggestion_id)
        return found

    def find(
        self,
        *,
        status: str | None = None,
        memory_type: str | None = None,
        limit: int | None = 100,
        min_confidence: float | None = None,
        max_age_hours: float | None = None,
        source_raw_id: str | None = None,
    ) -> list[MemorySuggestion]:
        """Suggestions, the newest first.

        Args:
            status: pending, promoted, modified, rejected, dismissed or expired; any by default.
            memory_type: what they would become. min_confidence: from 0 to 1. max_age_hours: since they were made.
            source_raw_id: what they were made from.

        Raises:
            ValueError: a value that cannot be.
        """
        query = self._query()
        if status is not None:
            check_word("status", status, SUGGESTION_STATUSES)
            query.add("r.category = ?", status)
        if memory_type is not None:
            check_word("memory_type", memory_type, SUGGESTION_MEMORY_TYPES)
            query.equal("memory_type", memory_type)
        if min_confidence is not None:
            query.add("r.confidence >= ?", checked_share("min_confidence", min_confidence))
        if max_age_hours is not None:
            query.add("r.happened_at >= ?", self._before(max_age_hours))
        if source_raw_id is not None:
            query.add(
                "EXISTS (SELECT 1 FROM json_each(r.fields, '$.source_raw_ids') WHERE value IN (?, ?))",
                source_raw_id,
                _reference(source_raw_id),
            )
        return self._reader.read(query, limit=limit)

    def accept(
        self,
        suggestion_id: str,
        modifications: Mapping[str, Any] | None = None,
        *,
        actor: str = "",
        reason: str = "",
    ) -> str | None:
        """Make the memory that is suggested, and return its id; None if it is not pending, or is worded so that it cannot be kept.

        Args:
            modifications: attributes of the memory that are to be other than suggested.
            actor: who accepts it, by default the core that is attached. reason: why.

        Raises:
            ValueError: no such memory can be made; the suggestion stays pending.
        """
        check_writable(self._container)
        suggestion = self.get(suggestion_id)
        if suggestion is None or suggestion.status != PENDING:
            return None
        kind = suggestion.memory_type
        for place in self._container.by_place([suggestion_id]):
            self._container.check_right(PROMOTE, place.scope)
        memory = self._memory(suggestion, modifications or {})
        if objection(self._container, memory):
            return None

        def settle(execute: Execute, ids: Sequence[str]) -> None:
            self._mark_sources(execute, memory.derived_from, f"{kind}:{ids[0]}")
            changed = f"with other {', '.join(sorted(modifications))}" if modifications else ""
            why = "; ".join(filter(None, (reason, changed))) or None
            self._settle(execute, suggestion_id, "promoted", why, actor, promoted_to=f"{kind}:{ids[0]}")

        try:
            return self._saver.save(kind, [memory], also=settle, beside=[suggestion_id])[0]
        except _Settled:
            return None

    def dismiss(self, suggestion_id: str, reason: str | None = None, *, actor: str = "") -> bool:
        """Settle a suggestion without making the memory; False unless it was pending.

        Args:
            actor: who dismisses it, by default the core that is attached.
        """
        check_writable(self._container)
        try:
            with self._container.space.database.write() as execute:
                self._settle(execute, suggestion_id, "dismissed", reason, actor)
        except _Settled:
            return False
        return True

    def expire(self, max_age_hours: float = 168) -> list[str]:
        """Settle the suggestions that have been pending for longer; returns their ids."""
        check_writable(self._container)
        query = self._query().add("r.category = ?", PENDING)
        query.add("r.happened_at < ?", self._before(max_age_hours))
        with self._container.space.database.write() as execute:
            found = self._reader.read(query, limit=None)
            for item in found:
                self._settle(execute, item.id, "expired", f"pending for more than {max_age_hours:g} hours")
        return [entry.id for entry in found]

    def _query(self) -> Query:
        """Returns a query for suggestions, pending and settled."""
        query = Query().among("r.place", self._container.places()).add("r.kind = 'suggestion'")
        return query.among("r.state", ("active", "superseded")).readable(self._container)

    def _before(self, hours: float) -> float:
        if checked_number("max_age_hours", hours) < 0:
            raise ValueError(f"max_age_hours is {hours}, must be at least 0")
        return self._container.space.clock.now() - hours * 3600

    def _memory(self, suggestion: MemorySuggestion, modifications: Mapping[str, Any]) -> Any:
        kind = suggestion.memory_type
        if kind not in SUGGESTION_MEMORY_TYPES:
            raise ValueError(f"Unsupported memory type: {kind!r} cannot be suggested")
        about = DESCRIPTORS[kind]
        sayable = set(about.attributes) - _OURS
        for name in modifications.keys() - sayable:
            raise ValueError(f"modifications has {name!r}, which cannot be set for {with_article(kind)}")
        content = {name: value for name, value in suggestion.content.items() if name in sayable}
        sources = [item.rpartition(":")[2] for item in suggestion.source_raw_ids]
        people = inherited(self._container.space.records.known(sources).values())
        own = {name: people[name] for name in people if name in sayable}
        values = {**_DEFAULTS.get(kind, {}), **content, **own, **modifications}
        for field in dataclasses.fields(about.type):
            if field.default is dataclasses.MISSING and field.name in sayable - values.keys():
                raise ValueError(f"suggestion {suggestion.id} has no {field.name}: give it in modifications")
        return about.type(
            id="",
            stack_id=self._container.stack_id,
            created_at=to_moment(self._container.space.clock.now()),
            source_type="processing",
            source_entity=PROMOTED,
            derived_from=list(dict.fromkeys(map(_reference, suggestion.source_raw_ids))),
            **values,
        )

    def _mark_sources(self, execute: Execute, references: Sequence[str], made: str) -> None:
        """Say of what was captured what it became."""
        for reference in references:
            kind, _, uid = reference.partition(":")
            row = self._container.find(uid, ("raw",)) if kind == "raw" else None
            if row is not None:
                raw = self._container.space.record(row)
                into = list(dict.fromkeys([*(raw.processed_into or ()), made]))
                changed = dataclasses.replace(raw, processed=True, processed_into=into)
                self._saver.change(execute, row, changed, actor=PROMOTED, operation="processed")

    def _settle(
        self,
        execute: Execute,
        uid: str,
        status: str,
        reason: str | None,
        actor: str = "",
        promoted_to: str | None = None,
    ) -> None:
        row = self._container.find(uid, _KIND)
        if row is None or row["category"] != PENDING:
            raise _Settled
        changed = dataclasses.replace(
            self._container.space.record(row),
            status=status,
            resolution_reason=reason,
            promoted_to=promoted_to,
            resolved_at=to_moment(self._container.space.clock.now()),
        )
        self._saver.change(execute, row, changed, actor=actor or self._container.reader, operation=status)


def _reference(source: str) -> str:
    """Returns a source as a reference `type:id`; a plain id is that of a raw entry."""
    return source if ":" in source else f"raw:{source}"
