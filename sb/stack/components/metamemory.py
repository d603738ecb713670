"""Decay the confidence of beliefs with the time since they were last verified."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sb.stack.components.component import Component
from sb.stack.storage import StackStorage
from sb.store.records.rows import to_moment

_FLOOR = 0.5  # confidence that time alone takes nobody below
_A_MONTH = 0.01  # of confidence
_DAYS = 30.0
_NEWEST = 500  # beliefs that a report is made of
_STALE = 0.05  # of confidence: from so much on that time took, a belief ought to be verified


class MetaMemoryComponent(Component):
    """Says how many beliefs are uncertain, and which ought to be verified."""

    name = "metamemory"

    def confidence(self, memory: Any) -> float:
        """Returns the current confidence of a memory."""
        since = memory.last_verified or memory.created_at
        now = to_moment(self._storage.clock.now()) if self._storage is not None else None
        if now is None or since is None or memory.is_protected:
            return float(memory.confidence)
        return aged(memory.confidence, since, now)

    def on_load(self, context: dict[str, Any]) -> None:
        doubted = self._storage.health().doubted if self._storage is not None else 0
        if doubted:
            context["metamemory"] = {"uncertain_memories": doubted}

    def on_maintenance(self) -> dict[str, Any]:
        return self._maintain(self._storage) if self._storage is not None else super().on_maintenance()

    def _maintain(self, storage: StackStorage) -> dict[str, Any]:
        beliefs = storage.select("belief", limit=_NEWEST)
        now = {belief.id: self.confidence(belief) for belief in beliefs}
        return {
            "uncertain_memories": storage.health().doubted,
            "beliefs_checked": len(beliefs),
            "mean_confidence": round(sum(now.values()) / len(now), 3) if now else None,
            "never_accessed": sum(belief.times_accessed == 0 for belief in beliefs),
            "to_verify": [belief.id for belief in beliefs if belief.confidence - now[belief.id] >= _STALE],
        }


def aged(confidence: float, since: datetime, now: datetime) -> float:
    """Returns a confidence after decay; one below the floor stays."""
    lost = _A_MONTH * max(0.0, (now - since).total_seconds()) / 86_400 / _DAYS
    return min(confidence, max(_FLOOR, confidence - lost))
