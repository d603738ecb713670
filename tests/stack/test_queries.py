"""Queries of a stack: saved memories come back, as far as they are present and fit; a limit counts returned ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sb.errors import StoreReadOnly
from sb.protocols.types import Belief, Drive, Episode, Goal, Note, RawEntry, Relationship, Value
from sb.stack import SQLiteStack

START = datetime(2026, 3, 1, tzinfo=UTC)


def episode(uid: str, **more: object) -> Episode:
    return Episode(uid, "mine", f"objective {uid}", "done", **more)  # type: ignore[arg-type]


TIERS = {"strong": 0.8, "fading": 0.5, "weak": 0.2, "dormant": 0.19, "forgotten": 0.0}


def test_a_tier_is_read_only_where_it_is_asked_for(stack: SQLiteStack) -> None:
    for name, strength in TIERS.items():
        stack.save_episode(episode(name, strength=strength))
    read = {item.id for item in stack.get_episodes()}
    assert read == {"strong", "fading"}
    assert {item.id for item in stack.get_episodes(include_weak=True)} == {"strong", "fading", "weak"}
    assert {item.id for item in stack.get_episodes(include_forgotten=True)} == set(TIERS)
    assert all(stack.get_memory("episode", name) is not None for name in TIERS)


def test_a_limit_counts_what_is_returned(stack: SQLiteStack) -> None:
    stack.save_episode(episode("old", created_at=START, tags=["kept"]))
    for number in range(5):
        stack.save_episode(episode(f"weak{number}", created_at=START + timedelta(1), strength=0.3))
        stack.save_episode(episode(f"other{number}", created_at=START + timedelta(2), tags=["other"]))
    assert [item.id for item in stack.get_episodes(limit=1, tags=["kept", "none"])] == ["old"]
    assert stack.get_episodes(limit=0) == []
    with pytest.raises(ValueError, match="limit"):
        stack.get_episodes(limit=-1)


def test_each_kind_comes_in_its_order(stack: SQLiteStack) -> None:
    for number, priority in enumerate((10, 90, 50)):
        stack.save_value(Value(f"v{number}", "mine", f"name {number}", "what matters", priority=priority))
        stack.save_goal(Goal(f"g{number}", "mine", f"goal {number}", created_at=START + timedelta(number)))
    assert [value.priority for value in stack.get_values()] == [90, 50, 10]
    assert [goal.id for goal in stack.get_goals()] == ["g2", "g1", "g0"]


def test_every_filter_filters(stack: SQLiteStack) -> None:
    stack.save_goal(Goal("g1", "mine", "ship", status="completed", context="work"))
    stack.save_goal(Goal("g2", "mine", "rest", context="home"))
    stack.save_belief(Belief("b1", "mine", "tea helps", belief_type="preference", confidence=0.6))
    stack.save_belief(Belief("b2", "mine", "rain is wet", confidence=0.9))
    stack.save_belief(Belief("b3", "mine", "the earth is flat", is_active=False))
    stack.save_note(Note("n1", "mine", "said so", note_type="quote"))
    stack.save_relationship(Relationship("r1", "mine", "Ada", "person", "colleague", sentiment=0.6))
    stack.save_relationship(Relationship("r2", "mine", "CI", "service", "tool", sentiment=-0.5))
    stack.save_raw(RawEntry("x1", "mine", "heard it", tags=["t"], captured_at=START, source="core:me"))
    assert [goal.id for goal in stack.get_goals(status="completed")] == ["g1"]
    assert [goal.id for goal in stack.get_goals(context="home")] == ["g2"]
    assert [belief.id for belief in stack.get_beliefs(belief_type="preference")] == ["b1"]
    assert [belief.id for belief in stack.get_beliefs(min_confidence=0.9)] == ["b2"]
    assert {belief.id for belief in stack.get_beliefs(include_forgotten=True)} == {"b1", "b2"}
    assert [note.id for note in stack.get_notes(note_type="quote")] == ["n1"]
    assert [relationship.id for relationship in stack.get_relationships(min_trust=0.8)] == ["r1"]
    assert [relationship.id for relationship in stack.get_relationships(entity_type="service")] == ["r2"]
    assert [relationship.id for relationship in stack.get_relationships(entity_id="Ada")] == ["r1"]
    assert [(raw_entry.id, raw_entry.source) for raw_entry in stack.get_raw(tags=["t"])] == [
        ("x1", "core:me")
    ]
    for wrong in (
        lambda: stack.get_goals(status="lost"),
        lambda: stack.get_notes(note_type="song"),
        lambda: stack.get_beliefs(belief_type="hunch"),
        lambda: stack.get_beliefs(min_confidence=2),
    ):
        with pytest.raises(ValueError, match="must be"):
            wrong()


def test_a_drive_or_relationship_is_found_by_its_key(stack: SQLiteStack) -> None:
    stack.save_drive(Drive("d1", "mine", "curiosity", intensity=0.7))
    again = Drive("", "mine", "curiosity", intensity=0.9)
    assert stack.save_drive(again) == again.id == "d1"
    found = stack.get_drive("curiosity")
    assert found is not None
    assert (found.intensity, found.version) == (0.9, 2)
    assert stack.get_drive("growth") is None
    assert stack.get_relationship("nobody") is None


def test_stacks_of_one_file_do_not_see_each_other(tmp_path: Path) -> None:
    stack, other = (SQLiteStack(name, tmp_path / "both.db", components=[]) for name in ("one", "other"))
    stack.save_episode(Episode("e1", "one", "only here", "yes"))
    assert other.get_episodes() == []
    assert other.get_memory("episode", "e1") is None
    with pytest.raises(ValueError, match="another record"):
        other.save_episode(Episode("e1", "other", "the same id", "no"))
    with pytest.raises(ValueError, match="belongs to"):
        other.save_episode(Episode("e2", "one", "of the other", "no"))


def test_a_file_that_is_only_read_stays_as_it_is(tmp_path: Path, stack: SQLiteStack) -> None:
    stack.save_episode(episode("e1"))
    stack.close()
    path = tmp_path / "stack.db"
    before = path.read_bytes()
    with SQLiteStack("mine", path, components=[], read_only=True) as reading:
        assert [item.id for item in reading.get_episodes()] == ["e1"]
        reading.on_attach("me")
        with pytest.raises(StoreReadOnly):
            reading.save_episode(episode("e2"))
    assert path.read_bytes() == before
