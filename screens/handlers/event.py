"""The handler of rows of the log: the event or its call in full, its undo, and an approval taken back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sb.screens.deciding import Deciding
from sb.screens.handlers.handler import Handler
from sb.screens.handlers.recovery import RecoveryHandler
from sb.screens.handlers.request import RequestHandler
from sb.screens.state.document import Document
from sb.screens.state.events import event_record

from sb.base.values.frozen import frozen
from sb.log.search import events_at

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

OF_RECOVERY = ("undo", "undo_run", "try_out", "settle")


@frozen
class ReadEvent:
    """A row of the log in full.

    Args:
        call_id: of the call that it is about. approval_id: of the request that it decides, or "".
    """

    document: Document
    call_id: str = ""
    approval_id: str = ""


class EventHandler(Handler[ReadEvent]):
    """Undoes the call that a row is about, or takes the approval back that it records; a reference is a row's number."""

    title = "Event"

    def __init__(self, screen: Deciding, changed: Callable[[], None]) -> None:
        super().__init__(screen, changed)
        self._recovery = RecoveryHandler(screen, changed, read="recovery of an event")
        self._request = RequestHandler(screen, changed, read="request of an event")

    def load(self, reference: str) -> ReadEvent | None:
        log, seq = self.records.log("detail"), int(reference)
        document = event_record(log, seq)
        event = events_at(log, [seq]).get(seq)
        name = event.subject.call_id if event else ""  # of a decision that of its request
        return ReadEvent(document, "", name) if name.startswith("apr_") else ReadEvent(document, name)

    def was_read(self) -> None:
        if self.item is not None:
            self._recovery.point_at(self.item.call_id)
            self._request.point_at(self.item.approval_id)

    def document(self) -> Document:
        if self.item is None:
            return []
        return (self.item.approval_id and self._request.document()) or self.item.document

    @property
    def labels(self) -> Mapping[str, str]:
        return {"take_away": "revoke"}

    def possible(self, action: str) -> bool:
        if action in OF_RECOVERY:
            return self._recovery.possible(action)
        return action == "take_away" and self._request.possible(action)

    def open(self) -> None:
        """Lead from a request that waits to where it is decided, from a decision to its memory."""
        if self.item is not None and self._request.possible("deny"):
            self.console.find_on("inbox", self.item.approval_id)
        elif self.item is not None and self.item.call_id.startswith("mem_"):
            self.console.open_reference(self.item.call_id)

    def pointed_at(self) -> Pointed:
        return int(self.reference) if self.reference else None

    def undo(self, references: Sequence[str] = ()) -> None:
        self._recovery.undo()

    def undo_run(self, references: Sequence[str] = ()) -> None:
        self._recovery.undo_run()

    def try_out(self, references: Sequence[str] = ()) -> None:
        self._recovery.try_out()

    def settle(self, references: Sequence[str] = ()) -> None:
        self._recovery.settle()

    def take_away(self, references: Sequence[str] = ()) -> None:
        self._request.take_away()
