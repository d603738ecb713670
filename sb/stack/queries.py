"""Read records of a stack by kind, as far as they are present.

Source: the stack protocol, "Read operations" and "Strength-tier filtering". Everything is a condition in SQL, so that a limit
counts what is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sb.protocols.types.vocabulary import FADING, WEAK
from sb.stack.checks import check_text, check_words, checked_limit
from sb.stack.container import Container
from sb.stack.views import VIEWS, kinds_viewed_as
from sb.store.records.descriptors import DESCRIPTORS

NEWEST = "r.happened_at DESC, r.id DESC"


class Query:
    """Conditions over `r`, the table of records, with their values."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> Query:
        """Ask for a condition; it holds no value."""
        self.parts.append(condition)
        self.values += values
        return self

    def among(self, column: str, values: Sequence[Any]) -> Query:
        """Ask that a column holds one of these."""
        return self.add(f"{column} IN ({', '.join('?' * len(values)) or 'NULL'})", *values)

    def equal(self, field: str, value: Any | None) -> Query:
        """Ask that a field without a column of its own is this, unless that is None."""
        return self if value is None else self.add(f"json_extract(r.fields, '$.{field}') = ?", value)

    def within(self, context: str, container: Container) -> Query:
        """Ask that it belongs to a context: says so, or stands in the scope of that name.

        Raises:
            ValueError: the context is no text.
        """
        check_text("context", context)
        places = container.space.places.of_stack(container.stack_id)
        scopes = [number for number, place in places.items() if place.scope == context]
        marks = ", ".join("?" * len(scopes)) or "NULL"
        return self.add(
            f"(json_extract(r.fields, '$.context') = ? OR r.place IN ({marks}))", context, *scopes
        )

    def without(self, condition: str, values: Sequence[Any]) -> Query:
        """Ask that a condition does not hold, unless it is ""."""
        return self.add(f"NOT ({condition})", *values) if condition else self

    def also(self, other: Query) -> Query:
        """Ask for all that another query does."""
        self.parts += other.parts
        self.values += other.values
        return self

    def readable(self, container: Container) -> Query:
        """Ask that everybody attached may read it."""
        return self.without(*container.space.reader.withheld(container.places()))

    def listed(self, container: Container) -> Query:
        """Ask that it may be read, and is trusted as `memory.scopes` asks."""
        return self.without(*container.space.reader.left_out(container.places()))

    def sql(self) -> tuple[str, tuple[Any, ...]]:
        """All of them as one condition, and its parameters."""
        return " AND ".join(self.parts), tuple(self.values)


class StackReader:
    """Reads the memories of a stack."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._space = container.space

    def query(
        self,
        kind: str,
        *,
        include_weak: bool = False,
        include_forgotten: bool = False,
        context: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Query:
        """Returns a query for the present memories of a kind.

        Args:
            include_weak: also what is weak. include_forgotten: everything.
            context: see `Query.within`.
            tags: it has to have one of them.
        """
        query = self._of_kind(kind)
        if include_forgotten:
            query.among("r.state", ("active", "forgotten"))
        else:
            query.add("r.state = 'active' AND r.strength >= ?", WEAK if include_weak else FADING)
        if context is not None:
            query.within(context, self._container)
        if tags is not None:
            check_words("tags", tags)
            marks = ", ".join("?" * len(tags)) or "NULL"
            query.add(f"EXISTS (SELECT 1 FROM json_each(r.tags) WHERE value IN ({marks}))", *tags)
        return query

    def _of_kind(self, kind: str) -> Query:
        query = Query().among("r.place", self._container.places()).among("r.kind", kinds_viewed_as(kind))
        return query.listed(self._container)

    def read(self, query: Query, *, limit: int | None, order: str = NEWEST) -> list[Any]:
        """The records that fit.

        Raises:
            ValueError: the limit is below 0.
        """
        where, values = query.sql()
        rows = self._space.records.select(where, values, order=order, limit=checked_limit(limit))
        return list(self._container.records(list(rows)))

    def get(self, memory_type: str, memory_id: str) -> Any | None:
        """One memory, whatever its strength; None if there is none of that type and id."""
        if memory_type not in DESCRIPTORS or (
            DESCRIPTORS[memory_type].of_a_brain and memory_type not in VIEWS
        ):
            return None  # what a Brain keeps besides, such as a handoff, is not a stack's to show
        row = self._container.find(memory_id, kinds_viewed_as(memory_type))
        if row is None:
            self._container.note_denied()
            return None
        return next(self._container.records([row]))

    def keyed(self, kind: str, key: str) -> Any | None:
        """The memory that a key stands for, such as the drive of a type; forgotten ones do not count."""
        query = self._of_kind(kind)
        normals = {DESCRIPTORS[item].normal(key) for item in kinds_viewed_as(kind)}
        query.among("r.key", sorted(normals)).add("r.state = 'active'")
        found = self.read(query, limit=1, order=f"r.kind = '{kind}' DESC, r.id")
        return found[0] if found else None
