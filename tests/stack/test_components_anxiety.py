"""State of a loaded stack: its loader learns how many of its beliefs are uncertain."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sb.base.sources import SteeredClock
from sb.protocols.types import Belief, Episode, Epoch, RawEntry, Value
from sb.stack import SQLiteStack
from sb.stack.components import AnxietyComponent, MetaMemoryComponent
from sb.stack.components.anxiety import level, scores
from sb.stack.health import Health
from sb.store.records.places import Place
from sb.store.records.rows import to_moment
from tests.rows import rows

DAY = 86_400.0
CALM = Health(0, 0, None, 0, (), 0)


def test_what_is_loaded_says_how_the_stack_stands(full: SQLiteStack) -> None:
    assert full.load()["anxiety"] == {
        "level": "calm",
        "dimensions": dict.fromkeys(
            (
                "consolidation_debt",
                "raw_aging",
                "identity_coherence",
                "memory_uncertainty",
                "epoch_staleness",
            ),
            0.0,
        ),
        "overall_score": 0.0,
        "overall_level": "calm",
    }
    full.remove_component("anxiety")
    assert "anxiety" not in full.load()


def test_each_measure_sees_its_own(full: SQLiteStack, clock: SteeredClock) -> None:
    began = to_moment(clock.now() - 200 * DAY)
    full.save_epoch(Epoch("x", "", 1, "the first", started_at=began))
    for at in range(5):
        full.save_episode(Episode(f"e{at}", "", f"step {at}", "done"))
    full.save_episode(Episode("learned", "", "step", "done", lessons=["ask"]))
    full.save_episode(Episode("checkpoint", "", "step", "done", tags=["checkpoint"]))
    full.save_belief(Belief("b", "", "caches are warm", confidence=0.4))
    full.save_value(Value("v", "", "calm", "no panic", confidence=1.0))
    full.save_raw(RawEntry("r", "", "x" * 300))
    assert full.load()["anxiety"]["dimensions"] == {
        "consolidation_debt": 41.0,
        "raw_aging": 3.0,
        "identity_coherence": 30.0,
        "memory_uncertainty": 15.0,
        "epoch_staleness": 33.8,
    }
    clock.time += 2 * DAY
    assert full.load()["anxiety"]["dimensions"]["raw_aging"] == 40.0


def test_another_process_is_seen(full: SQLiteStack) -> None:
    assert full.load()["anxiety"]["dimensions"]["consolidation_debt"] == 0
    with SQLiteStack("mine", full.path, components=[]) as other:
        other.save_episode(Episode("e", "", "step", "done"))
    assert full.load()["anxiety"]["dimensions"]["consolidation_debt"] == 7


@rows(
    "measure, health, expected",
    [
        ("consolidation_debt", {"unreflected": 3}, 21),
        ("consolidation_debt", {"unreflected": 7}, 61),
        ("consolidation_debt", {"unreflected": 15}, 93),
        ("consolidation_debt", {"unreflected": 100}, 100),
        ("memory_uncertainty", {"doubted": 2}, 30),
        ("memory_uncertainty", {"doubted": 5}, 75),
        ("memory_uncertainty", {"doubted": 99}, 100),
        ("identity_coherence", {"mean_confidence": 0.25}, 75),
        ("epoch_staleness", {"epoch_months": 6}, 30),
        ("epoch_staleness", {"epoch_months": 18}, 94),
        ("raw_aging", {"raw_waiting": 20}, 30),
        ("raw_aging", {"raw_waiting": 3, "raw_aged": (5, 50, 500)}, 50),
        ("raw_aging", {"raw_waiting": 9, "raw_aged": (500,) * 9}, 94),
    ],
)
def test_measures_are_from_0_to_100(measure: str, health: dict[str, Any], expected: float) -> None:
    assert scores(CALM._replace(**health))[measure] == expected


@rows("field", ["unreflected", "doubted", "epoch_months", "raw_aged"])
def test_more_to_do_never_counts_less(field: str) -> None:
    more: list[Any] = [(500,) * at for at in range(60)] if field == "raw_aged" else list(range(60))
    found = [max(scores(CALM._replace(**{field: item})).values()) for item in more]
    assert found == sorted(found)


def test_a_level_is_left_later_than_it_was_entered() -> None:
    assert level(34, "calm") == "calm"
    assert level(36, "calm") == "aware"
    assert level(30, "aware") == "aware"
    assert level(24, "aware") == "calm"
    assert level(95, "calm") == "critical"
    assert level(0, "critical") == "calm"


def test_uncertain_beliefs_are_counted_only_if_there_are_any(full: SQLiteStack) -> None:
    assert "metamemory" not in full.load()
    full.save_belief(Belief("a", "", "caches are warm", confidence=0.4))
    full.save_belief(Belief("b", "", "caches are cold", confidence=0.9))
    assert full.load()["metamemory"] == {"uncertain_memories": 1}
    full.remove_component("metamemory")
    assert "metamemory" not in full.load()


def test_a_belief_is_a_little_less_certain_each_month_until_it_is_verified(
    full: SQLiteStack, clock: SteeredClock
) -> None:
    full.save_belief(Belief("a", "", "caches are warm", confidence=0.8))
    full.save_belief(Belief("low", "", "caches are cold", confidence=0.3))
    full.save_belief(Belief("kept", "", "caches are", confidence=0.8, is_protected=True))
    component = full.get_component("metamemory")
    assert isinstance(component, MetaMemoryComponent)
    full.remove_component("forgetting")
    clock.time += 300 * DAY
    now = {item.id: component.confidence(item) for item in full.get_beliefs()}
    assert now == {"a": pytest.approx(0.7), "low": 0.3, "kept": 0.8}
    done = full.maintenance()["metamemory"]
    assert (done["to_verify"], done["uncertain_memories"], done["beliefs_checked"]) == (["a"], 1, 3)
    belief = full.get_memory("belief", "a")
    assert belief is not None
    belief.last_verified = to_moment(clock.now())
    full.save_belief(belief)
    assert full.maintenance()["metamemory"]["to_verify"] == []
    belief.last_verified -= timedelta(days=3000)
    assert component.confidence(belief) == 0.5


def test_the_component_says_what_it_measured_last(full: SQLiteStack) -> None:
    component = full.get_component("anxiety")
    assert isinstance(component, AnxietyComponent)
    for at in range(3):
        full.save_episode(Episode(f"e{at}", "", f"step {at}", "done"))
    for at in range(40):
        full.save_belief(Belief(f"b{at}", "", f"cache {at} is warm", confidence=0.1))
    full.maintenance()
    assert component.current_level == "aware"
    assert component.dimension_scores["memory_uncertainty"] == 100


def test_a_stack_with_many_projects_is_looked_at_too(full: SQLiteStack) -> None:
    full.save_belief(Belief("b", "", "caches are warm", confidence=0.4))
    with full._database.write() as execute:
        for number in range(600):
            full._container.space.places.make(execute, Place("mine", f"project:p{number}"))
    loaded = full.load()
    assert loaded["anxiety"]["dimensions"]["memory_uncertainty"] == 15
    assert loaded["metamemory"] == {"uncertain_memories": 1}
