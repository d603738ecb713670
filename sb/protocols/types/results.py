"""The results of a stack that are no memories: search hits, queued changes, sync conflicts.

Source: the stack protocol, "Search pipeline" and "Sync".
"""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Any

from sb.base.values.frozen import mutable


@mutable
class SearchResult:
    """A memory that a search found; `score` is the larger the better."""

    memory_type: str
    memory_id: str
    content: str
    score: float
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def record_type(self) -> str:
        """The older name of `memory_type`."""
        return self.memory_type


@mutable
class QueuedChange:
    """A change that other copies have not seen yet."""

    id: int
    table_name: str
    record_id: str
    operation: str
    payload: str | None = None
    queued_at: datetime | None = None
    retry_count: int = 0
    last_error: str | None = None
    last_attempt_at: datetime | None = None


@mutable
class SyncConflict:
    """Two copies of a record that were changed apart, and which of them was kept.

    Args:
        resolution: local, remote or both; "" while nobody has chosen. source: the database that the other copy is from.
        differing: what the two say differently.
    """

    id: str
    table: str
    record_id: str
    local_version: dict[str, Any]
    cloud_version: dict[str, Any]
    resolution: str
    resolved_at: datetime | None
    local_summary: str | None = None
    cloud_summary: str | None = None
    source: str | None = None
    diff_hash: str | None = None
    policy_decision: str | None = None
    differing: list[str] = field(default_factory=list)
