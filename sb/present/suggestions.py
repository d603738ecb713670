"""Suggested memories: the cells of their lines, and all of one by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sb.base.values.frozen import frozen
from sb.present.times import minute

if TYPE_CHECKING:
    from sb.protocols.types import MemorySuggestion

_NO_OUTCOME = "unknown"  # of an episode whose text does not say how it ended


@frozen
class SuggestionLine:
    """One suggestion, cell by cell."""

    id: str
    kind: str
    status: str
    confidence: str
    made: str
    text: str


def suggestion_line(found: MemorySuggestion) -> SuggestionLine:
    """A suggestion as lists show it."""
    return SuggestionLine(
        found.id,
        found.memory_type,
        found.status,
        f"{found.confidence:.2f}",
        minute(found.created_at),
        suggested_text(found.content),
    )


def suggested_text(content: Any) -> str:
    """The text a suggestion would save, without repeats; "" where there is nothing to read.

    Args:
        content: the fields of the memory by name.
    """
    values = content.values() if isinstance(content, dict) else ()
    return " · ".join(dict.fromkeys(str(value) for value in values if value not in ("", None, _NO_OUTCOME)))


def suggestion_fields(found: MemorySuggestion) -> Iterator[tuple[str, str]]:
    """All of a suggestion by name: the fields of the memory, then where it comes from and what became of it."""
    yield from ((name, str(value)) for name, value in found.content.items())
    yield "confidence", f"{found.confidence:.2f}"
    named = (
        ("derived from", ", ".join(found.source_raw_ids)),
        ("became", found.promoted_to),
        ("reason", found.resolution_reason),
    )
    yield from ((name, text) for name, text in named if text)
