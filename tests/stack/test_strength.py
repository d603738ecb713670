"""Strength is what a person, a use or a sweep makes it; what is below the weak is found by no search."""

from __future__ import annotations

import pytest

from sb.stack import SQLiteStack
from sb.types import Belief, Episode, Note, Value


@pytest.fixture
def note(stack: SQLiteStack) -> str:
    return stack.save_note(Note("n", "mine", "the cache is warm", strength=0.6))


def test_using_a_memory_shows_in_the_next_read(stack: SQLiteStack, note: str) -> None:
    assert stack.record_access("note", note) is True
    first = stack.get_notes()[0]
    assert (first.times_accessed, round(first.strength, 3), first.version) == (1, 0.62, 1)
    assert first.last_accessed is not None
    stack.record_access("note", note)
    assert round(stack.get_notes()[0].strength, 4) == round(0.62 + 0.02 / 1.1, 4)
    assert stack.record_access("note", "missing") is False
    assert stack.record_access("goal", note) is False


def test_what_is_forgotten_is_recovered_weak(stack: SQLiteStack, note: str) -> None:
    assert stack.recover_memory("note", note) is False
    assert stack.forget_memory("note", note, "cold again") is True
    assert stack.forget_memory("note", note, "again") is False
    assert stack.get_memory("note", note).strength == 0  # type: ignore[union-attr]
    assert stack.record_access("note", note) is True
    assert stack.get_notes(include_weak=True) == []
    assert stack.recover_memory("note", note) is True
    assert [one.strength for one in stack.get_notes(include_weak=True)] == [0.2]


def test_what_is_protected_stays(stack: SQLiteStack) -> None:
    stack.save_value(Value("v", "mine", "calm", "no panic"))
    assert stack.forget_memory("value", "v", "no") is False
    assert stack.weaken_memory("value", "v", 0.5) is False
    assert stack.protect_memory("value", "v", False) is True
    assert stack.forget_memory("value", "v", "now") is True
    assert stack.protect_memory("value", "none") is False


def test_weakening_goes_down_to_nothing(stack: SQLiteStack, note: str) -> None:
    assert stack.weaken_memory("note", note, 0.45) is True
    dormant = stack.get_memory("note", note)
    assert dormant is not None
    assert 0 < dormant.strength < 0.2
    assert stack.get_notes(include_weak=True) == []
    stack.weaken_memory("note", note, -5)
    assert stack.get_memory("note", note).strength == 0  # type: ignore[union-attr]


def test_verifying_strengthens_what_it_was_made_from_too(stack: SQLiteStack) -> None:
    stack.save_episode(Episode("e", "mine", "deploy", "broke", strength=0.5))
    stack.save_belief(Belief("b", "mine", "deploys break", derived_from=["episode:e"], strength=0.5))
    assert stack.verify_memory("belief", "b") is True
    assert stack.get_memory("belief", "b").strength == pytest.approx(0.6)  # type: ignore[union-attr]
    assert stack.get_memory("episode", "e").strength == pytest.approx(0.52)  # type: ignore[union-attr]


def test_metadata_can_be_corrected(stack: SQLiteStack, note: str) -> None:
    assert stack.update_memory_meta("note", note, confidence=0.4, tags=["cache"]) is True
    (kept,) = stack.get_notes()
    assert (kept.confidence, kept.tags, kept.version) == (0.4, ["cache"], 2)
    assert stack.update_memory_meta("note", note) is False
    assert stack.update_memory_meta("note", "none", tags=[]) is False
    with pytest.raises(ValueError, match="confidence"):
        stack.update_memory_meta("note", note, confidence=1.5)
