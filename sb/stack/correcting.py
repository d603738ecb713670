"""Correct memories of a stack and revert corrections, by the rules of a Brain."""

from __future__ import annotations

from sb.memory.beliefs.collapses import Collapse, Reverted, collapses, revert
from sb.memory.beliefs.operations import successor
from sb.memory.beliefs.revision import Revision, check_correctable, not_active, replace
from sb.memory.record_writer import RecordWriter
from sb.stack.container import Container
from sb.stack.provenance import check_writable
from sb.stack.saver import Saver
from sb.stack.views import kinds_viewed_as, to_view
from sb.store.records.columns import ACTIVE
from sb.store.records.descriptors import KIND_OF


class Corrections:
    """The revisions of one stack."""

    def __init__(self, container: Container, saver: Saver) -> None:
        self._container, self._saver = container, saver

    def correct_memory(self, memory_type: str, memory_id: str, new: str, reason: str = "") -> str | None:
        """Let a memory take the place of another one; returns its id, or None if there is none of that type and id.

        Args:
            new: the text that is true instead, or the id of a memory in view that says it.

        Raises:
            As `sb.memory.beliefs.operations.Beliefs.correct`; MaintenanceModeError, StoreReadOnly: nothing may be written now.
        """
        container, space = self._container, self._container.space
        check_writable(container)
        row = container.find(memory_id, kinds_viewed_as(memory_type))
        if row is None:
            container.note_denied()
            return None
        if row["state"] != ACTIVE:
            raise not_active(space, row)
        check_correctable(row)
        keeper = self._keeper()
        keeper.check_right(row["place"])
        place = space.places.numbered(row["place"])
        reason = space.screening.text(reason, place.scope)
        other = space.records.find(new)
        if other is not None and other["place"] in container.places() and space.reader.allows(other):
            replace(keeper, row, other, reason)
            return new
        record = successor(to_view(space.record(row)), new, reason)
        revision = Revision(keeper, row, reason)
        return self._saver.save(KIND_OF[type(record)], [record], revision=revision, place=place)[0]

    def get_collapses(self, *, limit: int = -1) -> list[Collapse]:
        """Corrections of which both sides are in view, the newest first; -1 for all."""
        return collapses(self._container.space, self._container.places(), limit)

    def revert_collapse(self, collapse: str, reason: str = "") -> Reverted:
        """Take a correction back; see `sb.memory.beliefs.operations.Beliefs.revert`."""
        check_writable(self._container)
        return revert(self._keeper(), collapse, self._container.places(), reason)

    def _keeper(self) -> RecordWriter:
        keeper = RecordWriter(self._container.space, self._container.reader)
        keeper.is_operator = self._container.is_operators
        return keeper
