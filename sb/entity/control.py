"""How does a core take care of single memories: forget, recover, protect?

The active stack does it; what it says of who asked is this core.
"""

from __future__ import annotations

from sb.entity.routing import Routing


class Control(Routing):
    """Care of memories in the active stack; raises NoActiveStackError where there is none. Each returns whether it
    was done."""

    def forget(self, memory_type: str, memory_id: str, reason: str) -> bool:
        """Take a memory out of every search; False if there is none, it is protected, or forgotten already."""
        return self._required_stack().forget_memory(memory_type, memory_id, reason)

    def recover(self, memory_type: str, memory_id: str) -> bool:
        """Bring a forgotten memory back, weak as it is; False if there is none, or it is not forgotten."""
        return self._required_stack().recover_memory(memory_type, memory_id)

    def protect(self, memory_type: str, memory_id: str, protected: bool = True) -> bool:
        """Keep a memory from being forgotten, or no longer; False if there is none."""
        return self._required_stack().protect_memory(memory_type, memory_id, protected)
