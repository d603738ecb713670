"""What of a stack may its components use? A narrow port: reading, keeping and strength, never the database itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sb.sources import Clock
from sb.stack.container import Container
from sb.stack.reading import NEWEST, Reader
from sb.stack.strength import Strengths

if TYPE_CHECKING:
    from sb.stack.saving import Saver


class StackStorage:
    """A stack as its components see it."""

    saver: Saver

    def __init__(self, container: Container, reader: Reader, strengths: Strengths) -> None:
        self.container = container
        self.reader = reader
        self.strengths = strengths

    @property
    def clock(self) -> Clock:
        return self.container.space.clock

    def select(self, kind: str, *, limit: int | None = None, include_weak: bool = True) -> list[Any]:
        """Memories of a kind, the newest first."""
        query = self.reader.query(kind, include_weak=include_weak)
        return self.reader.read(query, limit=limit, order=NEWEST)

    def save(self, kind: str, records: Sequence[Any]) -> list[str]:
        """Keep memories; raises what `Saver.save` does."""
        return self.saver.save(kind, records)
