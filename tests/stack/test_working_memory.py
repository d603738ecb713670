"""Working memory: the most important memories that fit; weak, done or replaced ones are left out."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.memory import Brain
from sb.protocols.types import (
    Belief,
    Drive,
    Episode,
    Goal,
    Note,
    Relationship,
    SelfNarrative,
    Summary,
    Value,
)
from sb.stack import SQLiteStack
from sb.stack.working_memory import cut
from sb.store.database import open_database

START = datetime(2026, 3, 1, tzinfo=UTC)
LISTS = (
    "values",
    "beliefs",
    "goals",
    "drives",
    "episodes",
    "notes",
    "relationships",
    "summaries",
    "self_narratives",
)


def summary(uid: str, scope: str, **more: Any) -> Summary:
    return Summary(uid, "mine", scope, "2026-01-01", "2026-12-31", f"what {uid} came to", **more)


@pytest.fixture
def full(stack: SQLiteStack) -> SQLiteStack:
    """One memory of each row of the protocol's table of priorities."""
    stack.save_relationship(Relationship("relationship", "mine", "Ada", notes="likes tea"))
    stack.save_note(Note("note", "mine", "the cache is warm"))
    stack.save_episode(Episode("episode", "mine", "ship it", "shipped", lessons=["small steps"]))
    stack.save_drive(Drive("drive", "mine", "growth", intensity=0.1))
    stack.save_goal(Goal("goal", "mine", "ship the next", "sooner"))
    stack.save_belief(Belief("belief", "mine", "small steps help", confidence=0.5))
    stack.save_summary(summary("year", "year"))
    stack.save_summary(summary("epoch", "epoch"))
    stack.save_self_narrative(SelfNarrative("narrative", "mine", "one who ships"))
    stack.save_value(Value("value", "mine", "calm", "no panic", priority=10))
    stack.save_summary(summary("decade", "decade"))
    return stack


ORDER = (
    "decade", "value", "narrative", "epoch", "year", "belief", "goal", "drive", "episode", "note", "relationship",
)  # fmt: skip


def ids(loaded: dict[str, Any]) -> set[str]:
    return {item["id"] for name in LISTS for item in loaded[name]}


def test_every_kind_has_its_list_even_of_an_empty_stack(stack: SQLiteStack) -> None:
    loaded = stack.load()
    assert {name: loaded[name] for name in LISTS} == {name: [] for name in LISTS}
    assert loaded["_meta"] == {"budget_used": 0, "budget_total": 8000, "excluded_count": 0}


def test_what_is_loaded_says_what_the_protocol_lists_and_is_fit_for_json(full: SQLiteStack) -> None:
    loaded = full.load()
    assert ids(loaded) == set(ORDER)
    assert loaded["values"] == [{"id": "value", "name": "calm", "statement": "no panic", "priority": 10}]
    assert loaded["goals"][0]["description"] == "sooner"
    assert loaded["drives"][0]["intensity"] == 0.1
    assert loaded["episodes"][0]["lessons"] == ["small steps"]
    assert loaded["relationships"][0]["entity_name"] == "Ada"
    assert [item["scope"] for item in loaded["summaries"]] == ["decade", "epoch", "year"]
    assert loaded["_meta"]["excluded_count"] == 0
    assert json.loads(json.dumps(loaded)) == loaded


@pytest.mark.parametrize("number", range(1, len(ORDER)))
def test_a_kind_is_loaded_before_the_next_one_of_the_table(
    tmp_path: Path, clock: SteeredClock, number: int
) -> None:
    """Each fills nearly the least budget, so that one alone has room."""
    first, second = ORDER[number - 1 : number + 1]
    long = ("word " * 75).strip()
    made: dict[str, Any] = {
        "decade": Summary("decade", "mine", "decade", "2020", "2029", long),
        "value": Value("value", "mine", "calm", long, priority=10),
        "narrative": SelfNarrative("narrative", "mine", long),
        "epoch": Summary("epoch", "mine", "epoch", "2020", "2021", long),
        "year": Summary("year", "mine", "year", "2020", "2021", long),
        "belief": Belief("belief", "mine", long, confidence=0.5),
        "goal": Goal("goal", "mine", long),
        "drive": Drive("drive", "mine", "growth", focus_areas=[long], intensity=0.1),
        "episode": Episode("episode", "mine", long, ""),
        "note": Note("note", "mine", long),
        "relationship": Relationship("relationship", "mine", "Ada", notes=long),
    }
    with SQLiteStack("mine", tmp_path / "two.db", components=[], clock=clock) as stack:
        for uid in (second, first):
            kind = {"decade": "summary", "epoch": "summary", "year": "summary", "narrative": "self_narrative"}
            getattr(stack, f"save_{kind.get(uid, uid)}")(made[uid])
        loaded = stack.load(token_budget=130)
        assert (ids(loaded), loaded["_meta"]["excluded_count"]) == ({first}, 1)


def test_a_bonus_comes_first_then_the_newest(stack: SQLiteStack) -> None:
    for number, (confidence, priority) in enumerate(((0.2, 5), (0.9, 90), (0.5, 40))):
        stack.save_belief(Belief(f"b{number}", "mine", f"belief {number}", confidence=confidence))
        stack.save_value(Value(f"v{number}", "mine", f"value {number}", "matters", priority=priority))
        stack.save_note(Note(f"n{number}", "mine", f"note {number}", created_at=START + timedelta(number)))
    loaded = stack.load()
    assert [belief["id"] for belief in loaded["beliefs"]] == ["b1", "b2", "b0"]
    assert [value["id"] for value in loaded["values"]] == ["v1", "v2", "v0"]
    assert [note["id"] for note in loaded["notes"]] == ["n2", "n1", "n0"]


def test_what_is_weak_done_or_replaced_is_left_out_and_what_fades_comes_later(stack: SQLiteStack) -> None:
    stack.save_note(Note("strong", "mine", "a note", strength=0.8, created_at=START))
    stack.save_note(Note("fading", "mine", "a note", strength=0.79, created_at=START + timedelta(1)))
    stack.save_note(Note("weak", "mine", "a note", strength=0.49))
    stack.save_note(Note("dormant", "mine", "a note", strength=0.1))
    stack.save_goal(Goal("done", "mine", "a goal", status="completed"))
    stack.save_belief(Belief("given up", "mine", "a belief", is_active=False))
    stack.save_self_narrative(SelfNarrative("former", "mine", "a narrative", is_active=False))
    stack.save_summary(summary("month", "month"))
    stack.save_summary(summary("quarter", "quarter", supersedes=["month"]))
    loaded = stack.load()
    assert [note["id"] for note in loaded["notes"]] == ["strong", "fading"]
    assert ids(loaded) == {"strong", "fading", "quarter"}


def test_what_belongs_to_the_context_comes_earlier(stack: SQLiteStack) -> None:
    stack.save_episode(Episode("here", "mine", "ship it", "done", context="project:api", created_at=START))
    stack.save_episode(Episode("there", "mine", "ship it", "done", context="project:web"))
    assert [episode["id"] for episode in stack.load()["episodes"]] == ["there", "here"]
    assert [episode["id"] for episode in stack.load(context="project:api")["episodes"]] == ["here", "there"]


def test_a_brains_memories_are_loaded_as_the_stacks_kinds(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    brain = Brain("me", path=path)
    fact = brain.remember("the API is versioned", project="api")
    other = brain.remember("tea is served at four", project="web")
    decision = brain.decide("use SQLite", "one file is enough")
    loaded = SQLiteStack("default", path, components=[]).load(context="project:api")
    assert [belief["id"] for belief in loaded["beliefs"]] == [fact, other]
    assert [note["id"] for note in loaded["notes"]] == [decision]


def test_memories_of_very_many_scopes_are_loaded_in_the_same_order(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    brain = Brain("me", path=path)
    facts = [
        brain.remember(f"fact number {number}", confidence=number / 100, project=f"p{number}")
        for number in range(60)
    ]
    loaded = SQLiteStack("default", path, components=[]).load()
    assert [belief["id"] for belief in loaded["beliefs"]] == facts[::-1]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    budget=st.integers(-5, 600),
    lengths=st.lists(st.integers(1, 900), max_size=30),
)
def test_a_budget_is_kept_and_no_room_is_left_for_what_was_excluded(budget: int, lengths: list[int]) -> None:
    with SQLiteStack("mine", ":memory:", components=[]) as stack:
        stack.save_notes_batch([Note(f"n{i}", "mine", "x" * length) for i, length in enumerate(lengths)])
        loaded = stack.load(token_budget=budget)
        meta, notes = loaded["_meta"], loaded["notes"]
        assert meta["budget_total"] == max(100, budget)
        costs = {f"n{i}": max(1, int(min(length, 500) // 4 * 1.3)) for i, length in enumerate(lengths)}
        assert meta["budget_used"] == sum(costs[note["id"]] for note in notes) <= meta["budget_total"]
        assert meta["excluded_count"] == len(lengths) - len(notes)
        left = meta["budget_total"] - meta["budget_used"]
        assert all(costs[uid] > left for uid in costs.keys() - {note["id"] for note in notes})


def test_more_than_the_most_is_not_loaded(stack: SQLiteStack) -> None:
    assert stack.load(token_budget=1_000_000)["_meta"]["budget_total"] == 50_000


def test_what_is_long_is_cut_between_words() -> None:
    text = "word " * 200
    assert cut(text) == ("word " * 99).strip() + "..."
    assert cut("x" * 600) == "x" * 497 + "..."
    assert cut("x" * 500) == "x" * 500


def test_what_is_loaded_unasked_does_not_count_as_use(full: SQLiteStack) -> None:
    full.load()
    assert all(note.times_accessed == 0 for note in full.get_notes())
    with contextlib.closing(open_database(full.path, read_only=True)) as database:
        ((operation, tokens),) = database.query("SELECT operation, tokens FROM broadcasts")
    assert (operation, tokens > 0) == ("load", True)


def test_components_add_to_what_is_loaded(stack: SQLiteStack) -> None:
    class Mood:
        name, version, required, needs_inference = "mood", "1", False, False

        def attach(self, stack_id: str, inference: Any = None) -> None: ...

        def detach(self) -> None: ...

        def set_inference(self, inference: Any) -> None: ...

        def on_save(self, memory_type: str, memory_id: str, memory: Any) -> None: ...

        def on_search(self, query: str, results: list[Any]) -> list[Any]:
            return results

        def on_load(self, context: dict[str, Any]) -> None:
            context["mood"] = context["_meta"]["budget_total"]

        def on_maintenance(self) -> dict[str, Any]:
            return {}

    stack.add_component(Mood())
    assert stack.load(token_budget=500)["mood"] == 500
