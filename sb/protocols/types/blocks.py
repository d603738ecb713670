"""Field blocks shared by many kinds; listed in reverse, so that a kind's own fields come first.

Source: the stack protocol's records; a dataclass takes the fields of its last base first.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sb.base.values.frozen import mutable
from sb.protocols.types.vocabulary import SourceType


@mutable
class Sync:
    """The synchronization state of a record."""

    local_updated_at: datetime | None = None
    cloud_synced_at: datetime | None = None
    version: int = 1
    deleted: bool = False


@mutable
class Meta:
    """Confidence and provenance of a record; `derived_from` holds references `type:id`."""

    confidence: float = 0.8
    source_type: str = SourceType.DIRECT_EXPERIENCE
    source_entity: str | None = None
    source_episodes: list[str] | None = None
    derived_from: list[str] | None = None
    last_verified: datetime | None = None
    verification_count: int = 0
    confidence_history: list[dict[str, Any]] | None = None


@mutable
class Strength:
    """Strength from 1 down to 0 (forgotten), and use."""

    strength: float = 1.0
    times_accessed: int = 0
    last_accessed: datetime | None = None
    is_protected: bool = False


@mutable
class Processed:
    processed: bool = False


@mutable
class Context:
    context: str | None = None
    context_tags: list[str] | None = None


@mutable
class EpochId:
    epoch_id: str | None = None


@mutable
class Subjects:
    """Whom it is about."""

    subject_ids: list[str] | None = None


@mutable
class Privacy(Subjects):
    """Whom it is about, and who was let in."""

    access_grants: list[str] | None = None
    consent_grants: list[str] | None = None


def parse_datetime(text: str | None) -> datetime | None:
    """An ISO 8601 time, aware (UTC where it names no offset); None for nothing.

    Raises:
        ValueError: it is no time.
    """
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time such as 2026-03-04T05:06:07+00:00: {error}") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
