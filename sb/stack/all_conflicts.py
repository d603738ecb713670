"""The one list of conflicts: of memories, of the kernel's ledger, and between copies of stacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

from sb.errors import NotFoundError
from sb.memory.beliefs.conflicts import Conflict
from sb.store.records.claims import CONTRADICTION_PREFIX, OPEN

if TYPE_CHECKING:
    from sb.memory.brain import Brain
    from sb.stack import SQLiteStack
    from sb.stack.sync.conflicts import Keep


class AllConflicts:
    """Conflicts of every kind, as far as who asks sees them.

    Args:
        brain: whose memories and rights count.
        open_stack: gives a stack by its name, as they see it.
        stacks: the names of those whose copies are looked at; None for all.
    """

    def __init__(
        self, brain: Brain, open_stack: Callable[[str], SQLiteStack], stacks: tuple[str, ...] | None = None
    ) -> None:
        self._brain, self._open_stack, self._stacks = brain, open_stack, stacks

    def listed(self, status: str = OPEN) -> list[Conflict]:
        """The conflicts of a status, those of memories first; of copies only the open ones are known."""
        found = self._brain.conflicts(status)
        return [*found, *(item for _, item in self._of_copies())] if status == OPEN else found

    def get(self, uid: str) -> Conflict:
        """One conflict; raises NotFoundError if none is in view."""
        return self._brain.conflict(uid) if uid.startswith(CONTRADICTION_PREFIX) else self._copy(uid)[1]

    def resolve(self, uid: str, winner: str, reason: str, actor: Callable[[], str]) -> Conflict | None:
        """Let one side hold; returns the conflict as it is then, None of one between copies, which is gone.

        Args:
            winner: the id of a side, or `both`. actor: names who chooses between copies.

        Raises:
            NotFoundError: none is in view. ValueError: no such side, or no reason. DeniedError, CheckFailed: as
                `Brain.resolve_conflict` says.
        """
        if uid.startswith(CONTRADICTION_PREFIX):
            return self._brain.resolve_conflict(uid, winner, reason)
        self._copy(uid)[0].resolve_conflict(uid, cast("Keep", winner), reason, actor=actor())
        return None

    def _copy(self, uid: str) -> tuple[SQLiteStack, Conflict]:
        found = next((pair for pair in self._of_copies() if pair[1].id == uid), None)
        if found is None:
            raise NotFoundError(f"no conflict {uid!r}, or not visible to you", "sb memory conflicts list")
        return found

    def _of_copies(self) -> Iterator[tuple[SQLiteStack, Conflict]]:
        from sb.stack.sync.conflicts import as_conflict, conflicting_stacks  # with what reads other copies

        for name in conflicting_stacks(self._brain.database):
            if self._stacks is None or name in self._stacks:
                stack = self._open_stack(name)
                yield from ((stack, as_conflict(item)) for item in stack.conflicts())
