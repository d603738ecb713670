"""A search finds what answers, of the kinds, context and confidence that were asked for, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.memory import Brain
from sb.protocols.types import (
    Belief,
    Drive,
    Episode,
    Goal,
    MemorySuggestion,
    Note,
    Playbook,
    RawEntry,
    Relationship,
    SearchResult,
    SelfNarrative,
    Summary,
    Value,
)
from sb.stack import SQLiteStack


class Rearranging:
    """A component that does with results what it is told."""

    version, required, needs_inference = "1", False, False

    def __init__(self, name: str, rearrange: Any) -> None:
        self.name, self.rearrange = name, rearrange

    def attach(self, stack_id: str, inference: Any = None) -> None: ...

    def detach(self) -> None: ...

    def set_inference(self, inference: Any) -> None: ...

    def on_save(self, memory_type: str, memory_id: str, memory: Any) -> None: ...

    def on_search(self, query: str, results: list[SearchResult]) -> Any:
        return self.rearrange(results)

    def on_load(self, context: dict[str, Any]) -> None: ...

    def on_maintenance(self) -> dict[str, Any]:
        return {}


@pytest.fixture
def stack(stack: SQLiteStack) -> SQLiteStack:
    """One memory of each kind about the same matter, and one about another."""
    stack.save_episode(
        Episode("episode", "mine", "migrate billing", "no downtime", lessons=["dual writes", "x"])
    )
    stack.save_belief(
        Belief("belief", "mine", "billing migrations need dual writes", confidence=0.6, context="project:api")
    )
    stack.save_value(Value("value", "mine", "care", "billing migrations are rehearsed"))
    stack.save_goal(Goal("goal", "mine", "finish the billing migration", "by spring"))
    stack.save_note(Note("note", "mine", "the billing migration starts on Monday", confidence=0.9))
    stack.save_drive(Drive("drive", "mine", "growth", focus_areas=["billing migration"]))
    stack.save_relationship(Relationship("relationship", "mine", "Ada", notes="runs the billing migration"))
    stack.save_raw(RawEntry("raw", "mine", "heard of the billing migration"))
    stack.save_playbook(Playbook("playbook", "mine", "billing migration", "how to", ["now"], [], []))
    stack.save_summary(Summary("summary", "mine", "year", "2026", "2026", "the year of billing migrations"))
    stack.save_self_narrative(SelfNarrative("narrative", "mine", "one who migrates billing"))
    stack.save_note(Note("other", "mine", "the kettle whistles at noon"))
    return stack


def hit_ids(stack: SQLiteStack, query: str = "billing migration", **more: Any) -> set[str]:
    return {result.memory_id for result in stack.search(query, limit=20, **more)}


EVERYTHING = {
    "episode", "belief", "value", "goal", "note", "drive", "relationship", "raw", "playbook", "summary", "narrative",
}  # fmt: skip


def test_all_kinds_are_found_each_with_what_it_says(stack: SQLiteStack) -> None:
    results = {result.memory_id: result for result in stack.search("billing migration", limit=20)}
    assert results.keys() == EVERYTHING
    assert all(result.memory_type in (uid, "self_narrative") for uid, result in results.items())
    assert results["episode"].content == "migrate billing: no downtime"
    assert results["value"].content == "care: billing migrations are rehearsed"
    assert results["goal"].content == "finish the billing migration: by spring"
    assert results["relationship"].content == "Ada: runs the billing migration"
    assert results["belief"].metadata["confidence"] == 0.6
    scores = [result.score for result in stack.search("billing migration", limit=20)]
    assert scores == sorted(scores, reverse=True)


def test_only_what_was_asked_for_is_found_and_a_limit_counts_that(stack: SQLiteStack) -> None:
    assert hit_ids(stack, record_types=["goal", "note"]) == {"goal", "note"}
    assert hit_ids(stack, record_types=[]) == set()
    assert hit_ids(stack, context="project:api") == {"belief"}
    assert hit_ids(stack, min_confidence=0.9) == {"note", "value", "raw"}
    assert hit_ids(stack, min_confidence=0.9, record_types=("note",)) == {"note"}
    (last,) = stack.search("billing migration", limit=1, context="project:api")
    assert last.memory_id == "belief"
    assert stack.search("billing migration", limit=0) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"record_types": ["song"]},
        {"record_types": "note"},
        {"record_types": [1]},
        {"record_types": ["suggestion"]},
        {"min_confidence": 1.5},
        {"limit": -1},
    ],
)
def test_what_cannot_be_asked_for_is_refused(stack: SQLiteStack, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        stack.search("billing", **wrong)


def test_a_question_that_nothing_answers_finds_nothing(stack: SQLiteStack, tmp_path: Path) -> None:
    assert stack.search("recipe for goulash with dumplings") == []
    assert stack.search("   ") == []
    with SQLiteStack("empty", tmp_path / "empty.db", components=[]) as empty:
        assert empty.search("anything") == []


def test_what_is_dormant_replaced_or_only_suggested_is_not_found_but_what_is_weak_is(
    stack: SQLiteStack,
) -> None:
    stack.save_note(Note("weak", "mine", "billing migration, once", strength=0.2))
    stack.save_note(Note("dormant", "mine", "billing migration, long ago", strength=0.19))
    stack.save_belief(Belief("former", "mine", "billing migrations are easy", is_active=False))
    stack.forget_memory("goal", "goal", "done")
    assert hit_ids(stack) == EVERYTHING - {"goal"} | {"weak"}


def test_a_question_in_other_words_is_answered(stack: SQLiteStack) -> None:
    stack.save_note(Note("car", "mine", "the automobile is parked in the garage"))
    assert "car" in hit_ids(stack, "where is my car")


def test_a_brains_memories_are_found_as_the_stacks_kinds(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    brain = Brain("me", path=path)
    fact = brain.remember("the billing API is versioned", project="api")
    decision = brain.decide("bill by the hour", "billing is simple then")
    brain.remember("billing is mine alone", private=True)
    stack = SQLiteStack("default", path, components=[])
    assert {(result.memory_type, result.memory_id) for result in stack.search("billing")} == {
        ("belief", fact),
        ("note", decision),
    }
    assert hit_ids(stack, "billing", record_types=["belief"]) == {fact}
    assert hit_ids(stack, "billing", context="project:api") == {fact}


class TestComponents:
    def test_they_rearrange_in_turn_and_the_limit_comes_last(self, stack: SQLiteStack) -> None:
        stack.add_component(Rearranging("drop", lambda results: results[1:]))
        stack.add_component(Rearranging("turn", lambda results: results[::-1]))
        stack.add_component(Rearranging("silent", lambda results: None))
        results = stack.search("billing migration", limit=3)
        assert len(results) == 3
        scores = [result.score for result in results]
        assert scores == sorted(scores)

    def test_what_one_adds_is_returned(self, stack: SQLiteStack) -> None:
        extra = SearchResult("note", "elsewhere", "of another store", 9.0)
        stack.add_component(Rearranging("more", lambda results: [extra, *results]))
        assert stack.search("billing migration")[0] is extra


def test_what_was_found_counts_as_used(stack: SQLiteStack) -> None:
    (note,) = stack.search("kettle")
    assert note.memory_id == "other"
    assert {item.id: item.times_accessed for item in stack.get_notes()} == {"note": 0, "other": 1}
    assert all(item.version == 1 for item in stack.get_notes())


def test_a_file_that_is_only_read_is_searched_and_stays_as_it_is(stack: SQLiteStack) -> None:
    path = Path(stack.path)
    stack.close()
    before = path.read_bytes()
    with SQLiteStack("mine", path, components=[], read_only=True) as reading:
        assert [result.memory_id for result in reading.search("kettle")] == ["other"]
        assert reading.load()["goals"]
    assert path.read_bytes() == before


def test_a_pending_suggestion_is_no_memory_yet(stack: SQLiteStack) -> None:
    suggestion = MemorySuggestion("s", "mine", "belief", {"statement": "billing migration"}, 0.5, [])
    stack.save_suggestion(suggestion)
    assert hit_ids(stack) == EVERYTHING


def test_of_many_that_match_those_that_were_asked_for_are_found_however_low_they_rank(
    stack: SQLiteStack,
) -> None:
    """More match better than are ranked at first."""
    stack.save_notes_batch([Note(f"n{number}", "mine", "zebra zebra") for number in range(250)])
    text = "a zebra among very many other animals that are to be seen there"
    stack.save_goal(Goal("far", "mine", text, context="zoo"))
    assert hit_ids(stack, "zebra", record_types=["goal"]) == {"far"}
    assert hit_ids(stack, "zebra", context="zoo") == {"far"}
