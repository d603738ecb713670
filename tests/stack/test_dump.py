"""Dumps of a stack: all that it is told to show, which comes back as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.errors import StoreError
from sb.memory import Brain
from sb.protocols.types import (
    Belief,
    Drive,
    Episode,
    Goal,
    MemorySuggestion,
    Note,
    RawEntry,
    Relationship,
    Value,
)
from sb.stack import SQLiteStack
from sb.stack.dump import LISTS
from tests.store.records.shelf import full_record, records_of

DAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def full(stack: SQLiteStack) -> SQLiteStack:
    stack.save_value(Value("v1", "mine", "calm", "no panic", priority=10))
    stack.save_value(Value("v2", "mine", "care", "measure twice", priority=90))
    stack.save_belief(Belief("b1", "mine", "small steps help", confidence=0.8))
    stack.save_belief(Belief("b2", "mine", "the earth is flat", is_active=False))
    stack.save_goal(Goal("g1", "mine", "ship", status="completed", priority="high"))
    stack.save_goal(Goal("g2", "mine", "rest", status="paused"))
    stack.save_goal(Goal("g3", "mine", "learn"))
    stack.save_episode(Episode("e1", "mine", "ship it", "shipped", lessons=["rest first"], created_at=DAY))
    stack.save_note(Note("n1", "mine", "one line\n# and no heading", note_type="quote"))
    stack.save_drive(Drive("d1", "mine", "growth", focus_areas=["tests"]))
    stack.save_relationship(Relationship("r1", "mine", "Ada", notes="likes tea"))
    stack.save_raw(RawEntry("x1", "mine", "heard it", processed=True))
    stack.save_raw(RawEntry("x2", "mine", "and that"))
    stack.save_note(Note("gone", "mine", "a forgotten note", strength=0.0))
    return stack


def test_stats_count_what_there_is_of_each_kind(full: SQLiteStack) -> None:
    full.save_suggestion(MemorySuggestion("s1", "mine", "note", {"content": "x"}, 0.5, []))
    full.save_suggestion(MemorySuggestion("s2", "mine", "note", {"content": "y"}, 0.5, []))
    full.dismiss_suggestion("s2")
    assert full.get_stats() == {
        "values": 2, "beliefs": 2, "goals": 3, "episodes": 1, "notes": 2, "drives": 1, "relationships": 1,
        "raw": 2, "playbooks": 0, "suggestions": 2, "pending_suggestions": 1,
    }  # fmt: skip


def test_stats_of_an_empty_stack_are_all_0(stack: SQLiteStack) -> None:
    assert set(stack.get_stats().values()) == {0}


def test_a_person_reads_it_as_a_document(full: SQLiteStack) -> None:
    text = full.dump()
    assert text == (
        "# Memory Dump for mine\n\nExported at 2027-01-15T08:00:00.000Z\n"
        "\n## Values\n\n- **care** (priority 90): measure twice\n- **calm** (priority 10): no panic\n"
        "\n## Beliefs\n\n- [80%] small steps help\n"
        "\n## Goals\n\n- o [medium] learn\n- - [medium] rest\n- + [high] ship\n"
        "\n## Drives\n\n- **growth** (intensity 0.5): tests\n"
        "\n## Episodes\n\n### ship it\n\n*2026-03-01* | shipped\n  - rest first\n\n"
        "\n## Notes\n\n- [quote] one line\n  \\# and no heading\n"
        "\n## Relationships\n\n- **Ada** (person): likes tea\n"
        "\n## Raw Entries\n\n- [pending] and that\n- [done] heard it\n"
    )


def test_what_is_left_out_is_what_was_asked_for(full: SQLiteStack) -> None:
    assert "heard it" not in full.dump(include_raw=False)
    assert "raw_entries" not in json.loads(full.dump(format="json", include_raw=False))
    assert "forgotten note" not in full.dump(format="json")
    whole = full.dump(include_forgotten=True)
    assert "forgotten note" in whole
    assert "the earth is flat" in whole
    with pytest.raises(ValueError, match="format"):
        full.dump(format="pdf")


def test_more_than_a_hundred_of_a_kind_are_all_there(stack: SQLiteStack) -> None:
    stack.save_notes_batch([Note(f"n{number}", "mine", f"note {number}") for number in range(1200)])
    assert len(json.loads(stack.dump(format="json"))["notes"]) == 1200


def lists(text: str) -> dict[str, Any]:
    """The lists of a dump, without the name of the stack and the time."""
    whole = json.loads(text)
    return {name: [{**item, "stack_id": None} for item in whole.get(name, ())] for name in LISTS.values()}


def again(text: str) -> str:
    with SQLiteStack("copy", ":memory:", components=[]) as copy:
        copy.load_dump(text)
        return copy.dump(format="json", include_forgotten=True)


def test_every_field_of_every_kind_comes_back(stack: SQLiteStack) -> None:
    records = [replace(full_record(kind), stack_id="mine", id=f"{kind}-1") for kind in LISTS]
    stack._saver.restore(records)
    text = stack.dump(format="json", include_forgotten=True)
    assert {name: len(found) for name, found in lists(text).items()} == dict.fromkeys(LISTS.values(), 1)
    assert lists(again(text)) == lists(text)


@settings(max_examples=8)
@given(data=st.data())
def test_whatever_is_kept_comes_back(data: st.DataObject) -> None:
    drawn = {kind: data.draw(records_of(kind)) for kind in LISTS}
    with SQLiteStack("mine", ":memory:", components=[]) as stack:
        stack._saver.restore([replace(entry, stack_id="mine", id=kind) for kind, entry in drawn.items()])
        text = stack.dump(format="json", include_forgotten=True)
    came_back = lists(again(text))
    for name, (item,) in lists(text).items():
        assert came_back[name] == [item]


def test_where_it_came_from_comes_back_too(stack: SQLiteStack, tmp_path: Path) -> None:
    stack.save_episode(Episode("e", "mine", "deploy", "broke", strength=0.5))
    stack.save_belief(Belief("b", "mine", "deploys break", derived_from=["episode:e"], strength=0.5))
    with SQLiteStack("copy", tmp_path / "copy.db", components=[]) as copy:
        assert copy.load_dump(stack.dump(format="json")) == {"episodes": 1, "beliefs": 1}
        copy.verify_memory("belief", "b")
        assert copy.get_episodes()[0].strength > 0.5


@pytest.mark.parametrize(
    "text",
    [
        '{"stack_id": "x", "notes": 5}',
        '{"stack_id": "x", "notes": null}',
        '{"stack_id": "x", "notes": [{"id": "n", "content": "c", "created_at": 5}]}',
        "no JSON",
        "[]",
        '{"notes": []}',
        '{"stack_id": "x", "notes": [{"id": "n", "stack_id": "x"}]}',
        '{"stack_id": "x", "notes": [{"id": "n", "stack_id": "x", "content": "c", "colour": "red"}]}',
        '{"stack_id": "x", "notes": [{"id": "n", "stack_id": "x", "content": "c", "created_at": "once"}]}',
        '{"stack_id": "x", "notes": [{"id": "m", "stack_id": "x", "content": "c"}, {"id": "n", "stack_id": "x", "content": ""}]}',
    ],
)
def test_what_is_no_whole_dump_is_refused_and_nothing_of_it_kept(stack: SQLiteStack, text: str) -> None:
    with pytest.raises(ValueError, match=r"dump|once|empty"):
        stack.load_dump(text)
    assert stack.get_notes() == []


def test_a_stack_that_belongs_to_a_core_takes_no_dump(owned: SQLiteStack) -> None:
    with pytest.raises(ValueError, match="belongs to a core"):
        owned.load_dump(owned.dump(format="json"))


def test_a_file_is_written_whole_into_a_folder_that_is_made(full: SQLiteStack, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "stack.json"
    full.export(path)
    assert (
        path.read_text(encoding="utf-8") == full.dump()
    )  # the format is what was asked for, whatever the name
    full.export(path, format="json")
    assert [note["id"] for note in json.loads(path.read_text(encoding="utf-8"))["notes"]] == ["n1"]
    assert [item.name for item in path.parent.iterdir()] == ["stack.json"]
    with pytest.raises(StoreError, match="cannot write"):
        full.export(path / "below")
    with pytest.raises(StoreError, match="cannot write"):
        full.export(path.parent)
    assert [item.name for item in path.parent.iterdir()] == ["stack.json"]


def test_a_brains_memories_are_dumped_as_the_stacks_kinds_without_what_is_private(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    brain = Brain("me", path=path)
    fact = brain.remember("the API is versioned")
    brain.remember("mine alone", private=True)
    whole = json.loads(SQLiteStack("default", path, components=[]).dump(format="json"))
    assert [belief["id"] for belief in whole["beliefs"]] == [fact]
    assert whole["stack_id"] == "default"
