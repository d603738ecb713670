"""Forget, recover, protect, weaken and verify single memories of the active stack."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from sb.base.text import with_article
from sb.entity.routing import Routing
from sb.errors import UsageError


@runtime_checkable
class _Caring(Protocol):
    """Operations on single memories that `SQLiteStack` adds to the stack protocol."""

    def weaken_memory(self, memory_type: str, memory_id: str, amount: float, *, reason: str = "") -> bool: ...

    def verify_memory(self, memory_type: str, memory_id: str, *, evidence: str = "") -> bool: ...

    def get_memories_derived_from(self, memory_type: str, memory_id: str) -> list[str]: ...

    def get_ungrounded_memories(self) -> list[str]: ...


class Lifecycle(Routing):
    """Care of memories in the active stack.

    Raises:
        NoActiveStackError: no stack is active. UsageError: the active one is of a class without that operation.
    """

    def forget(self, memory_type: str, memory_id: str, reason: str) -> bool:
        """Take a memory out of every search; False if there is none, it is protected, or forgotten already."""
        return self._required_stack().forget_memory(memory_type, memory_id, reason)

    def recover(self, memory_type: str, memory_id: str) -> bool:
        """Bring a forgotten memory back, weak as it is; False if there is none, or it is not forgotten."""
        return self._required_stack().recover_memory(memory_type, memory_id)

    def protect(self, memory_type: str, memory_id: str, protected: bool = True) -> bool:
        """Protect a memory from being forgotten, or no longer; False if there is none."""
        return self._required_stack().protect_memory(memory_type, memory_id, protected)

    def weaken(self, memory_type: str, memory_id: str, amount: float, *, reason: str = "") -> bool:
        """Take some of its strength from a memory; False if there is none, or it is protected."""
        return self._caring_stack().weaken_memory(memory_type, memory_id, amount, reason=reason)

    def verify(self, memory_type: str, memory_id: str, *, evidence: str = "") -> bool:
        """Mark a memory as verified, which strengthens it and its sources; False if there is none."""
        return self._caring_stack().verify_memory(memory_type, memory_id, evidence=evidence)

    def get_memories_derived_from(self, memory_type: str, memory_id: str) -> list[str]:
        """References `type:id` to what was made from a memory, the oldest first."""
        return self._caring_stack().get_memories_derived_from(memory_type, memory_id)

    def get_ungrounded_memories(self) -> list[str]:
        """References to memories all of whose named sources are gone."""
        return self._caring_stack().get_ungrounded_memories()

    def _caring_stack(self) -> _Caring:
        stack = self._required_stack()
        if not isinstance(stack, _Caring):
            raise UsageError(
                f"{with_article(type(stack).__name__)} cannot do that with single memories",
                "make another stack active: SQLiteStack can",
            )
        return stack
