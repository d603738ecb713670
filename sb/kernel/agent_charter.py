"""Door to `sb.kernel.boundaries` on charters, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.boundaries.charter import GRACE_DAYS, UNSTATED, AgentCharter
from sb.kernel.boundaries.charter_files import CharterFiles
from sb.kernel.boundaries.charters import CharterEntry, Charters, CharterState

__all__ = [
    "GRACE_DAYS",
    "UNSTATED",
    "AgentCharter",
    "CharterEntry",
    "CharterFiles",
    "CharterState",
    "Charters",
]
