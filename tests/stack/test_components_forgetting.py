"""Forgetting: unused memories fade by half-lives, however often the stack is maintained, and can be brought back."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.memory import Brain
from sb.protocols import MaintenanceModeError
from sb.protocols.types import Belief, Episode, Goal, Note, Value
from sb.stack import SQLiteStack
from sb.stack.components import ForgettingComponent
from tests.rounds import rounds
from tests.rows import rows

DAY = 86_400.0
Opened = Callable[..., SQLiteStack]


@pytest.fixture
def opened(tmp_path: Path, clock: SteeredClock) -> Opened:
    """Opens the same stack as often as wanted, with these components."""

    def open_one(*components: ForgettingComponent) -> SQLiteStack:
        return SQLiteStack("mine", tmp_path / "stack.db", components=components, clock=clock)

    return open_one


def strength(stack: SQLiteStack, kind: str, uid: str) -> float:
    memory = stack.get_memory(kind, uid)
    assert memory is not None
    return float(memory.strength)


def test_half_of_a_memorys_strength_is_left_after_the_half_life_of_its_kind(
    opened: Opened, clock: SteeredClock
) -> None:
    stack = opened(ForgettingComponent())
    stack.save_note(Note("n", "", "the cache is warm"))
    stack.save_goal(Goal("g", "", "keep calm", goal_type="aspiration"))
    stack.save_value(Value("v", "", "calm", "no panic"))
    clock.time += 30 * DAY
    done = stack.maintenance()["forgetting"]
    assert strength(stack, "note", "n") == pytest.approx(0.5)
    assert strength(stack, "goal", "g") == pytest.approx(0.5 ** (30 / 180))
    assert strength(stack, "value", "v") == 1
    assert done == {"swept": 2, "decayed": 2, "dormant": 0, "forgotten": 0, "protected": 0}


def test_without_the_component_nothing_fades(opened: Opened, clock: SteeredClock) -> None:
    stack = opened()
    stack.save_note(Note("n", "", "the cache is warm"))
    clock.time += 300 * DAY
    assert stack.maintenance() == {}
    assert strength(stack, "note", "n") == 1


@pytest.mark.prove
@given(
    gaps=st.lists(st.floats(0.01, 40, allow_nan=False), min_size=1, max_size=6),
    strength_then=st.floats(0.3, 1, allow_nan=False),
)
@settings(max_examples=rounds(25))
def test_many_sweeps_come_to_the_same_as_one(gaps: list[float], strength_then: float) -> None:
    left = []
    for steps in (gaps, [sum(gaps)]):
        clock = SteeredClock()
        with SQLiteStack("mine", ":memory:", components=[ForgettingComponent()], clock=clock) as stack:
            stack.save_note(Note("n", "", "the cache is warm", strength=strength_then))
            stack.save_episode(Episode("e", "", "deploy", "worked"))
            for days in steps:
                clock.time += days * DAY
                stack.maintenance()
            left.append([strength(stack, kind, uid) for kind, uid in (("note", "n"), ("episode", "e"))])
    assert left[0] == pytest.approx(left[1], abs=1e-6)


def test_what_came_between_two_sweeps_fades_from_then_on(opened: Opened, clock: SteeredClock) -> None:
    stack = opened(ForgettingComponent())
    stack.save_note(Note("old", "", "the cache is warm"))
    clock.time += 30 * DAY
    stack.save_note(Note("new", "", "the cache is cold"))
    clock.time += 30 * DAY
    stack.maintenance()
    assert strength(stack, "note", "old") == pytest.approx(0.25)
    assert strength(stack, "note", "new") == pytest.approx(0.5)


def test_a_protected_memory_stays_and_a_used_one_lasts_longer(opened: Opened, clock: SteeredClock) -> None:
    stack = opened(ForgettingComponent())
    for uid in ("kept", "used", "left"):
        stack.save_note(Note(uid, "", f"what is {uid}", strength=0.8))
    stack.protect_memory("note", "kept")
    for _ in range(5):
        stack.record_access("note", "used")
    clock.time += 30 * DAY
    assert stack.maintenance()["forgetting"]["protected"] == 1
    protected, used, left = (strength(stack, "note", uid) for uid in ("kept", "used", "left"))
    assert protected == 0.8
    assert used > left


def test_what_fades_away_is_found_no_more_and_comes_back_when_it_is_recovered(
    opened: Opened, clock: SteeredClock
) -> None:
    stack = opened(ForgettingComponent())
    stack.save_note(Note("n", "", "the cache is warm"))
    brain = Brain("me", path=stack.path, stack="mine", clock=clock)
    assert [hit.id for hit in brain.search("warm cache")] == ["n"]
    clock.time += 80 * DAY
    assert stack.maintenance()["forgetting"]["dormant"] == 0  # it was recalled once, and fades more slowly
    clock.time += 40 * DAY
    assert stack.maintenance()["forgetting"]["dormant"] == 1
    assert brain.search("warm cache") == []
    assert 0 < strength(stack, "note", "n") < 0.2
    clock.time += 80 * DAY
    assert stack.maintenance()["forgetting"]["forgotten"] == 1
    assert strength(stack, "note", "n") == 0
    assert [change.reason for change in brain.history("n")][-1] == "it faded away"
    assert stack.recover_memory("note", "n") is True
    assert [hit.id for hit in brain.search("warm cache")] == ["n"]


def test_half_lives_can_be_given_and_kept(opened: Opened, clock: SteeredClock) -> None:
    with opened(ForgettingComponent({"belief": math.inf})) as stack:
        component = stack.get_component("forgetting")
        assert isinstance(component, ForgettingComponent)
        component.set_half_life("note", 10)
        component.set_half_life("belief", 1)
        component.set_half_life("goal", math.inf)
        stack.save_note(Note("n", "", "the cache is warm"))
        stack.save_belief(Belief("b", "", "caches get warm"))
    with opened(ForgettingComponent()) as stack:
        component = stack.get_component("forgetting")
        assert isinstance(component, ForgettingComponent)
        assert component.half_lives == {"note": 10, "belief": 1, "goal": math.inf}
    with opened(ForgettingComponent({"belief": math.inf})) as stack:
        clock.time += 10 * DAY
        stack.maintenance()
        assert strength(stack, "note", "n") == pytest.approx(0.5)
        assert strength(stack, "belief", "b") == 1


@rows("half_lives", [{"value": 3.0}, {"note": 0.0}, {"note": -1.0}, {"note": math.nan}])
def test_a_half_life_that_cannot_be_is_refused(half_lives: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"fade|half-life"):
        ForgettingComponent(half_lives)


def test_what_a_brain_kept_long_ago_does_not_fade_at_once(opened: Opened, clock: SteeredClock) -> None:
    stack = opened(ForgettingComponent())
    brain = Brain("me", path=stack.path, stack="mine", clock=clock)
    fact = brain.remember("the API is versioned")
    clock.time += 400 * DAY
    stack.maintenance()
    assert strength(stack, "belief", fact) == 1
    clock.time += 60 * DAY
    stack.maintenance()
    assert strength(stack, "belief", fact) == pytest.approx(0.5)


def test_two_processes_let_time_pass_once(opened: Opened, clock: SteeredClock) -> None:
    stack, other = opened(ForgettingComponent()), opened(ForgettingComponent())
    stack.save_note(Note("n", "", "the cache is warm"))
    clock.time += 30 * DAY
    other.maintenance()
    stack.maintenance()
    stack.on_attach("me")  # keeps the stack's state, and leaves its settings as they are
    other.maintenance()
    assert strength(stack, "note", "n") == pytest.approx(0.5)


def test_a_clock_that_is_set_back_changes_nothing(opened: Opened, clock: SteeredClock) -> None:
    stack = opened(ForgettingComponent())
    stack.save_note(Note("n", "", "the cache is warm"))
    clock.time += 30 * DAY
    stack.maintenance()
    clock.time -= 20 * DAY
    assert stack.maintenance()["forgetting"]["decayed"] == 0
    clock.time += 20 * DAY
    stack.maintenance()
    assert strength(stack, "note", "n") == pytest.approx(0.5)


def test_a_sweep_that_is_asked_for_forgets_ten_that_matter_least(opened: Opened) -> None:
    stack = opened()
    for at in range(12):
        stack.save_note(Note(f"n{at:02}", "", f"detail {at}", strength=0.25 - at / 100))
    stack.save_note(Note("used", "", "asked for now and then", strength=0.2))
    for _ in range(3):
        stack.record_access("note", "used")
    stack.save_goal(Goal("a", "", "be kind", goal_type="aspiration", strength=0.1))
    stack.save_belief(Belief("self", "", "I am careful", belief_scope="self", strength=0.1))
    stack.save_note(Note("p", "", "protected", strength=0.1, is_protected=True))
    assert stack.apply_forgetting() == {"forgotten": 10, "candidates": 12, "protected": 3}
    left = {note.id for note in stack.get_notes(include_weak=True)}
    assert left == {"n00", "n01", "used"}
    assert stack.recover_memory("note", "n11") is True
    assert stack.apply_forgetting(protect_identity=False)["candidates"] == 5
    assert strength(stack, "goal", "a") == 0
    assert strength(stack, "note", "p") == 0.1


def test_nothing_is_forgotten_while_the_stack_is_maintained(opened: Opened, clock: SteeredClock) -> None:
    stack = opened(ForgettingComponent())
    stack.save_note(Note("n", "", "detail", strength=0.1))
    stack.enter_maintenance()
    clock.time += 30 * DAY
    with pytest.raises(MaintenanceModeError):
        stack.apply_forgetting()
    assert stack.maintenance()["forgetting"]["skipped"] is True
    assert strength(stack, "note", "n") == 0.1


def test_many_that_fall_asleep_at_once_all_leave_the_index(opened: Opened, clock: SteeredClock) -> None:
    stack = opened(ForgettingComponent())
    stack.save_notes_batch([Note("", "", f"the cache {at} is warm") for at in range(450)])
    clock.time += 80 * DAY
    assert stack.maintenance()["forgetting"]["dormant"] == 450
    assert Brain("me", path=stack.path, stack="mine", clock=clock).search("warm cache") == []
    assert stack.maintenance()["forgetting"]["dormant"] == 0


def test_what_is_protected_while_a_sweep_chooses_stays(opened: Opened) -> None:
    stack, other = opened(), opened()
    stack.save_note(Note("n", "", "the cache is warm", strength=0.25))
    with stack._database.write() as execute:  # holds the file, as another process would
        sweeping = threading.Thread(target=other.apply_forgetting)
        sweeping.start()
        time.sleep(0.1)  # it has chosen by now, and waits for the file
        execute("UPDATE records SET protected = 1 WHERE uid = 'n'")
    sweeping.join()
    assert strength(stack, "note", "n") == 0.25
