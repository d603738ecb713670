"""The handler of runs: a session, a turn or a call of the tree, and its undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sb.screens.deciding import Deciding
from sb.screens.handlers.handler import Handler
from sb.screens.handlers.recovery import RecoveryHandler
from sb.screens.state.document import Document
from sb.screens.state.runs import CALL, SESSION, Node, Tree, document, node_of, undone_of

from sb.base.values.frozen import frozen

if TYPE_CHECKING:
    from sb.screens.state.kills import Pointed

OF_RECOVERY = ("undo", "undo_run", "try_out", "settle")
TITLES = ("Session", "Turn", "Call")


@frozen
class ReadNode:
    """A line of the tree in full.

    Args:
        run_id: of a session, where it changed something. call_id: of a call.
    """

    document: Document
    agent: str = ""
    run_id: str = ""
    call_id: str = ""


class RunHandler(Handler[ReadNode]):
    """Undoes a call, or all that a session did; a reference is the key of a line.

    Args:
        tree: the sessions on screen.
    """

    title = "Session"

    def __init__(self, screen: Deciding, changed: Callable[[], None], tree: Callable[[], Tree]) -> None:
        super().__init__(screen, changed)
        self._tree = tree
        self._recovery = RecoveryHandler(screen, changed, read="recovery of a run")

    @property
    def node(self) -> Node | None:
        """The line under the cursor."""
        return node_of(int(self.reference)) if self.reference else None

    def load(self, reference: str) -> ReadNode | None:
        node = node_of(int(reference))
        shown = document(self.records, self._tree(), node)
        return ReadNode(shown, *undone_of(self.records.log("run"), node))

    def was_read(self) -> None:
        if self.node is not None:
            self.title = TITLES[self.node.kind]
        self._recovery.point_at(self.item.call_id if self.item else "")

    def document(self) -> Document:
        return self.item.document if self.item else []

    def possible(self, action: str) -> bool:
        if self.node is not None and self.node.kind == CALL:
            return action in OF_RECOVERY and self._recovery.possible(action)
        session = self.node is not None and self.node.kind == SESSION
        return session and action in ("undo", "undo_run") and bool(self.item and self.item.run_id)

    def pointed_at(self) -> Pointed:
        return self.node.first if self.node else None

    def undo(self, references: Sequence[str] = ()) -> None:
        if self.node is not None and self.node.kind == CALL:
            self._recovery.undo()
        elif self.item is not None and self.item.run_id:
            self._recovery.undo_all_of(self.item.run_id, self.item.agent)
        else:
            self.say("nothing to undo: no undo records here")

    def undo_run(self, references: Sequence[str] = ()) -> None:
        if self.item is not None and self.item.run_id:
            self._recovery.undo_all_of(self.item.run_id, self.item.agent)
        else:
            self._recovery.undo_run()

    def try_out(self, references: Sequence[str] = ()) -> None:
        self._recovery.try_out()

    def settle(self, references: Sequence[str] = ()) -> None:
        self._recovery.settle()
