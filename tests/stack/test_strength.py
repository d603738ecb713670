"""Strength is what a person, a use or a sweep makes it; what is below the weak is found by no search."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.entity import Entity
from sb.protocols import ProvenanceError
from sb.protocols.types import Belief, Episode, Note, Value
from sb.stack import SQLiteStack


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
    assert [item.strength for item in stack.get_notes(include_weak=True)] == [0.2]


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
    (stored,) = stack.get_notes()
    assert (stored.confidence, stored.tags, stored.version) == (0.4, ["cache"], 2)
    assert stack.update_memory_meta("note", note) is False
    assert stack.update_memory_meta("note", "none", tags=[]) is False
    with pytest.raises(ValueError, match="confidence"):
        stack.update_memory_meta("note", note, confidence=1.5)


def test_verifying_says_when_and_how_often_but_brings_back_nothing_that_was_forgotten(
    stack: SQLiteStack, clock: SteeredClock
) -> None:
    stack.save_episode(Episode("e", "", "Deploy", "It worked"))
    assert stack.verify_memory("episode", "e")
    clock.sleep(60)
    assert stack.verify_memory("episode", "e")
    stored = stack.get_memory("episode", "e")
    assert stored is not None
    assert stored.verification_count == 2
    assert stored.last_verified is not None
    assert stored.last_verified.timestamp() == pytest.approx(clock.now())
    assert stack.forget_memory("episode", "e", "done with it")
    assert stack.verify_memory("episode", "e")
    assert stack.recover_memory("episode", "e") is True


def test_what_somebody_else_forgot_meanwhile_stays_forgotten(stack: SQLiteStack, tmp_path: Path) -> None:
    """Another process forgets it between the moment this one is asked and the moment it may write."""
    stack.save_episode(Episode("e", "", "Deploy", "It worked", strength=0.9))
    with SQLiteStack("mine", tmp_path / "stack.db", components=[]) as other:
        asked = threading.Event()

        def use() -> None:
            asked.set()
            other.record_access("episode", "e")
            other.weaken_memory("episode", "e", 0.01)

        with stack._database.write() as execute:  # holds the file, as another process would
            user = threading.Thread(target=use)
            user.start()
            asked.wait()
            time.sleep(0.1)  # it has looked by now, and waits for the file
            execute("UPDATE records SET strength = 0, state = 'forgotten' WHERE uid = 'e'")
        user.join()
        assert [result.memory_id for result in other.search("Deploy")] == []
    stored = stack.get_memory("episode", "e")
    assert stored is not None
    assert stored.strength == 0


@pytest.mark.parametrize("state", ["quarantined", "superseded"])
def test_forgetting_and_recovering_lets_nothing_out_that_was_put_aside(
    stack: SQLiteStack, note: str, state: str
) -> None:
    with stack._database.write() as execute:
        execute("UPDATE records SET state = ? WHERE uid = ?", (state, note))
    stack.forget_memory("note", note, "to get at it")
    stack.recover_memory("note", note)
    stack.verify_memory("note", note)
    stack.update_memory_meta("note", note, confidence=0.9)
    assert [item.id for item in stack.get_notes(include_forgotten=True)] == []
    assert stack.search("cache") == []


def test_what_is_quarantined_is_shown_to_nobody_and_is_no_source(owned: SQLiteStack) -> None:
    owned.save_episode(Episode("e", "", "Deploy", "It worked", source_entity="core:me"))
    with owned._database.write() as execute:
        execute("UPDATE records SET state = 'quarantined' WHERE uid = 'e'")
    assert owned.get_memory("episode", "e") is None
    with pytest.raises(ProvenanceError):
        owned.save_belief(Belief("b", "", "Deploys work on Fridays", derived_from=["episode:e"]))


def test_what_there_is_one_of_is_present_again_once_it_is_said_again(owned: SQLiteStack) -> None:
    with Entity("me") as core:
        core.attach_stack(owned)
        why = [f"episode:{core.episode('asked Ada', 'she agreed')}"]

        def say() -> dict[str, str]:
            return {
                "drive": core.drive("curiosity", derived_from=why),
                "relationship": core.relationship("Ada", derived_from=why),
                "trust_assessment": core.trust_set("Ada", "code", 0.9),
            }

        first = say()
        owned.protect_memory("drive", first["drive"], protected=False)
        for kind, uid in first.items():
            assert owned.forget_memory(kind, uid, "no longer")
        assert owned.search("Ada", record_types=["relationship"]) == []
        assert say() == first
        for kind, uid in first.items():
            assert owned.get_memory(kind, uid) is not None
        assert owned.get_drive("curiosity") is not None
        assert owned.get_relationship("Ada") is not None
        assert [result.memory_id for result in owned.search("Ada", record_types=["relationship"])] == [
            first["relationship"]
        ]
        assert len(core.trust_get("Ada")) == 1
