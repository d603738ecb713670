"""Memories, suggestions and checkpoints read the same in commands and on the console."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from sb.memory import Brain
from sb.present.memories import memory_heading
from sb.present.suggestions import (
    SUGGESTION,
    suggestion_fields,
)
from sb.protocols.types import MemorySuggestion

MADE = datetime(2026, 11, 22, 9, 30, 15, tzinfo=UTC)
SUGGESTED = MemorySuggestion(
    "sug_5d10", "default", "belief", {"statement": "staging is shared", "type": ""}, 0.7, ["raw_1"],
    created_at=MADE,
)  # fmt: skip


def test_suggestion_line_has_its_text_once_and_its_time_to_the_minute() -> None:
    doubled = replace(SUGGESTED, content={"title": "ship it", "description": "ship it"})
    cells = [cell.text for cell in SUGGESTION.cells(doubled, 0)]
    assert cells[1:] == ["belief", "pending", "0.70", "2026-11-22 09:30", "ship it"]


def test_suggestion_names_its_source_and_what_became_of_it() -> None:
    promoted = replace(SUGGESTED, status="promoted", promoted_to="belief:b1")
    fields = dict(suggestion_fields(promoted))
    assert (fields["derived from"], fields["became"]) == ("raw_1", "belief:b1")
    assert "reason" not in fields


def test_private_memory_is_marked_before_its_scope() -> None:
    with Brain("ada") as brain:
        brain.remember("the staging database is shared", "environment", private=True)
        (found,) = brain.search("staging database")
    heading = memory_heading(found, found.happened_at + 120)
    assert heading.endswith("fact environment  private, global  2 min ago  by ada")
