"""The port through which components use a stack; never the database itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sb.base.sources import Clock
from sb.protocols.types import StackState
from sb.stack.container import SYSTEM, Container
from sb.stack.queries import NEWEST, StackReader

if TYPE_CHECKING:  # made when a component asks for them: who only reads a stack has no need of them
    from sb.memory.housekeeping import Tidied
    from sb.stack.forgetting import Forgetting
    from sb.stack.health import Health
    from sb.stack.promotion import Promoter
    from sb.stack.relations import Relater
    from sb.stack.saver import Saver
    from sb.stack.strength import Strengths
    from sb.store.embedding.embedder import Embedder


class StackStorage:
    """A stack as its components see it."""

    saver: Saver

    def __init__(self, container: Container, reader: StackReader, strengths: Strengths) -> None:
        self._container = container
        self._reader = reader
        self._strengths = strengths
        self._health: tuple[tuple[int, ...], Health] | None = None

    @property
    def clock(self) -> Clock:
        return self._container.space.clock

    @property
    def writable(self) -> bool:
        """True if memories may be written now: not while the stack is being maintained, or only read."""
        self._container.look_again()
        return not self._container.read_only and self._container.state is not StackState.MAINTENANCE

    def select(
        self,
        kind: str,
        *,
        limit: int | None = None,
        include_weak: bool = True,
        own: bool = False,
        where: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """Memories of a kind, the newest first.

        Args:
            own: leave out what Brains keep and the stack only shows as this kind: it has fewer attributes to amend.
            where: attributes without a column of their own, and what they have to be.
        """
        query = self._reader.query(kind, include_weak=include_weak)
        if own:
            query.among("r.kind", (kind,))
        for field, value in (where or {}).items():
            query.equal(field, value)
        return self._reader.read(query, limit=limit, order=NEWEST)

    def get(self, kind: str, uid: str) -> Any | None:
        """One memory, whatever its strength."""
        return self._reader.get(kind, uid)

    def by_visibility(self, records: Sequence[Any]) -> list[list[Any]]:
        """Memories by who may see them: what is made of several at once is made of one of these lists."""
        by_id = {record.id: record for record in records}
        return [[by_id[uid] for uid in uids] for uids in self._container.by_place(by_id).values()]

    def save(self, kind: str, records: Sequence[Any]) -> list[str]:
        """Saves memories; raises what `Saver.save` does."""
        return self.saver.save(kind, records)

    def amend(self, kind: str, uid: str, changes: dict[str, Any], *, component: str) -> bool:
        """Change some attributes of a memory, which its history attributes to a component; False if there is none."""
        return bool(self.saver.amend(kind, uid, changes, actor=f"{SYSTEM}{component}", operation="component"))

    def setting(self, name: str) -> Any:
        """A setting of the stack; None if it was never set."""
        return self._container.settings.get(name)

    def save_setting(self, name: str, value: Any) -> None:
        """Stores a setting of the stack: any JSON value."""
        self._container.set(name, value)

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of the memory, if there is one; loaded on first use."""
        return self._container.space.usable_embedder

    @property
    def vector_search_disabled_reason(self) -> str:
        """The reason why searches use no vectors; "" if they do."""
        return "" if self.embedder else str(self._container.space.embedder)

    def reindex(self) -> Tidied | None:
        """Make the vectors good that are missing, of another model or of former texts, in the whole file; None if nothing is due."""
        from sb.memory.housekeeping import is_due, tidy

        space = self._container.space
        embedder = space.usable_embedder
        if is_due(space) or (embedder is not None and space.vectors.stale(embedder.model, 1)):
            return tidy(space)
        return None

    @cached_property
    def forgetting(self) -> Forgetting:
        """Lets memories fade."""
        from sb.stack.forgetting import Forgetting

        return Forgetting(self._container, self._strengths)

    @cached_property
    def promoter(self) -> Promoter:
        """Makes beliefs of what several episodes taught."""
        from sb.stack.promotion import Promoter

        return Promoter(self._container, self._reader, self.saver)

    @cached_property
    def relater(self) -> Relater:
        """Relates memories that share a topic or name the same."""
        from sb.stack.relations import Relater

        return Relater(self._container)

    def health(self) -> Health:
        """Returns the stack's health figures, cached until something is written."""
        from sb.stack.health import look

        hour = int(self.clock.now() // 3600)
        seen = (*self._container.space.records.head(), hour, *self._container.places())
        if self._health is None or self._health[0] != seen:
            self._health = (seen, look(self._container))
        return self._health[1]
