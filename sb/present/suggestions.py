"""Suggested memories: the cells of their lines, and all of one by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sb.present.kind import Field, Kind, time_cell
from sb.present.times import minute

if TYPE_CHECKING:
    from sb.protocols.types import MemorySuggestion

_NO_OUTCOME = "unknown"  # of an episode whose text does not say how it ended


SUGGESTION = Kind["MemorySuggestion"](
    Field("suggestion", lambda it, now: it.id),
    Field("kind", lambda it, now: it.memory_type),
    Field("status", lambda it, now: it.status),
    Field("sure", lambda it, now: f"{it.confidence:.2f}"),
    Field("at", lambda it, now: time_cell(minute(it.created_at), it.created_at)),
    Field("what", lambda it, now: suggested_text(it.content)),
    faces={"table": "suggestion,kind,status,sure,at,what", "heading": "suggestion,kind,status,at"},
    json={"+": "suggestion"},
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
