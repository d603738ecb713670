"""The operator's view of memory: everything that any agent keeps, unless a scope is named.

What an operator looks at reaches no agent's context, so it does not count as read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sb.base.secrets.redaction import one_line
from sb.errors import UsageError
from sb.memory.brain import Brain
from sb.memory.session_writer import SessionWriter
from sb.memory.views import Memory
from sb.store.records.columns import Row

if TYPE_CHECKING:
    from sb.memory.provenance import Dossier

OPERATOR = "operator"


class Everywhere(SessionWriter):
    """Reads everything; a scope that is named is read with what it includes, whoever it is private to."""

    def places(self, scope: str | None = None) -> tuple[int, ...]:
        known = self.space.places.all()
        if scope is None:
            return tuple(known)
        chain = self.space.chain(scope)
        return tuple(number for number, place in known.items() if place.scope in chain)

    def broadcast(
        self,
        operation: str,
        query: str,
        hits: Sequence[tuple[int, float]],
        memories: Sequence[Memory],
        *,
        scope: str | None = None,
    ) -> None:
        """Logs nothing."""

    def note_read(self, operation: str, memories: Iterable[Memory]) -> None:
        """Logs nothing."""


class Overseer(Brain):
    """A Brain that sees all places: those of every agent, stack and scope.

    Args:
        name: who writes. more: the other arguments of `Brain`.
    """

    _writes = Everywhere
    _is_operator = True

    def __init__(self, name: str = OPERATOR, **more: Any) -> None:
        super().__init__(name, **more)
        self.writer.record_writer.is_operator = True

    def show(self, record: str) -> Dossier:
        """Everything that is known of a memory, also who read it and why.

        Raises:
            NotFoundError: there is none. UsageError: several entities have that name.
        """
        from sb.memory.provenance import show

        return show(self.space, self._visible_row(record, states=None), self.writer.places())

    def _entities(self, name: str, places: Sequence[int]) -> list[Row]:
        """The only entity of a name.

        Raises:
            UsageError: several scopes or agents have one.
        """
        found = super()._entities(name, places)
        if len(found) > 1:
            known = ", ".join(f"{row['uid']} in {self.space.memory(row).scope}" for row in found[:5])
            raise UsageError(f"{len(found)} entities are named {one_line(name, 80)!r}", f"use an id: {known}")
        return found
