"""Descriptors of kinds: texts to search by, fields, decay, and time of loading."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sb.protocols.types import (
    Belief,
    Decision,
    Drive,
    EntityRecord,
    Episode,
    Goal,
    MemorySuggestion,
    MemoryType,
    Note,
    Relationship,
    Summary,
    Value,
)
from sb.stack.dump import LISTS
from sb.store.records.descriptors import DESCRIPTORS, KIND_OF
from sb.store.records.rows import content, to_row
from tests.rows import rows


def test_every_type_of_a_stack_and_of_a_brain_is_a_kind() -> None:
    of_brains = {"event", "fact", "decision", "entity", "affect", "trigger", "lesson", "handoff"}
    assert set(DESCRIPTORS) == {*map(str, MemoryType), *of_brains, "relationship_history"}
    assert set(LISTS) == set(DESCRIPTORS) - of_brains  # or a dump of the stack would leave some out
    assert all(DESCRIPTORS[kind].type is type_ for type_, kind in KIND_OF.items())


@rows(
    "record, said",
    [
        (Episode("i", "s", "Deploy", "It worked", lessons=["Ask first"]), "Deploy: It worked"),
        (Belief("i", "s", "It rains"), "It rains"),
        (Value("i", "s", "care", "Care for data"), "care: Care for data"),
        (Goal("i", "s", "Ship", "By May"), "Ship: By May"),
        (Goal("i", "s", "Ship"), "Ship"),
        (Note("i", "s", "As it was said"), "As it was said"),
        (Drive("i", "s", "growth", focus_areas=["art", "work"]), "growth: art; work"),
        (Relationship("i", "s", "Ada", notes="kind"), "Ada: kind"),
        (Decision("Use queues", "They last"), "Use queues: They last"),
        (EntityRecord("Ada", "person", ["plays"], {"city": "Paris"}), "Ada: plays: city Paris"),
        (MemorySuggestion("i", "s", "note", {"content": "tea", "n": 1}, 0.5, []), "content tea; n 1"),
    ],
)
def test_what_a_record_says_is_one_text(record: Any, said: str) -> None:
    assert content(record) == said


def test_an_episode_is_found_by_its_lessons_too() -> None:
    episode = Episode("i", "s", "Deploy", "It worked", lessons=["Ask first", "Wait"])
    assert to_row(episode)["text"] == "Deploy: It worked: Ask first; Wait"


def test_a_text_that_stands_in_its_column_is_not_kept_twice() -> None:
    row = to_row(Note("i", "s", "once only"))
    assert row["text"] == "once only"
    assert "once only" not in row["fields"]


@rows(
    "kind, category, days",
    [
        ("episode", None, 30),
        ("goal", "task", 30),
        ("goal", "aspiration", 180),
        ("goal", "commitment", 365),
        ("fact", "environment", 30),
        ("fact", "integration", 60),
        ("fact", "identity", 365),
        ("value", None, math.inf),
        ("drive", "growth", math.inf),
        ("summary", "month", math.inf),
    ],
)
def test_a_half_life_depends_on_kind_and_category(kind: str, category: str | None, days: float) -> None:
    assert DESCRIPTORS[kind].half_life(category) == days


def test_of_a_stacks_kinds_five_fade() -> None:
    fading = {kind for kind in map(str, MemoryType) if math.isfinite(DESCRIPTORS[kind].half_life_days)}
    assert fading == {"episode", "belief", "goal", "note", "relationship"}


def test_categories_with_a_half_life_or_priority_of_their_own_exist() -> None:
    for about in DESCRIPTORS.values():
        assert {*about.half_lives, *about.priorities} <= about.words.get(about.category or "", set())


@rows(
    "record, priority",
    [
        (Summary("i", "s", "decade", "a", "b", "c"), 0.95),
        (Summary("i", "s", "month", "a", "b", "c"), 0.35),
        (Value("i", "s", "care", "Care", priority=100), 1.0),
        (Belief("i", "s", "It rains", confidence=0.5), 0.75),
        (Goal("i", "s", "Ship", priority="high"), 0.65),
        (Drive("i", "s", "growth", intensity=1.0), 0.7),
        (Episode("i", "s", "a", "b"), 0.4),
        (Note("i", "s", "a"), 0.35),
        (Relationship("i", "s", "Ada"), 0.3),
        (MemorySuggestion("i", "s", "note", {"content": "x"}, 0.5, []), 0.2),
    ],
)
def test_what_is_loaded_first_depends_on_kind_scope_and_weight(record: Any, priority: float) -> None:
    assert DESCRIPTORS[KIND_OF[type(record)]].priority_of(record) == pytest.approx(priority)


def test_sources_of_a_stacks_kinds_are_those_of_the_protocol() -> None:
    found = {kind: about.sources for kind, about in DESCRIPTORS.items() if about.sources}
    assert found == {
        "episode": ("raw",),
        "note": ("raw",),
        "belief": ("episode", "note"),
        "goal": ("episode", "belief"),
        "drive": ("episode", "belief"),
        "relationship": ("episode",),
        "value": ("belief",),
    }


def test_four_kinds_have_one_record_of_a_name() -> None:
    keys = {kind: about.key for kind, about in DESCRIPTORS.items() if about.key}
    assert keys == {
        "entity": "name",
        "drive": "drive_type",
        "relationship": "entity_name",
        "trust_assessment": "entity",
    }
    assert (
        to_row(EntityRecord(" STRASSE ", "location"))["key"]
        == to_row(EntityRecord("straße", "location"))["key"]
    )
    assert to_row(Relationship("i", "s", "Ada"))["key"] == "Ada"


def test_what_is_said_again_of_an_entity_adds_to_what_is_known() -> None:
    about = DESCRIPTORS["entity"]
    former = EntityRecord(
        "Ada",
        "person",
        ["plays"],
        {"city": "Rome", "age": 36},
        id="e1",
        source_entity="mail",
        tags=["friend"],
    )
    record = EntityRecord("ada", "person", ["plays", "sings"], {"city": "Paris"}, confidence=0.4)
    merged = about.merged(former, record)
    assert (merged.id, merged.name, merged.source_entity, merged.tags) == ("e1", "Ada", "mail", ["friend"])
    assert merged.observations == ["plays", "sings"]
    assert merged.properties == {"city": "Paris", "age": 36}
    assert merged.confidence == 0.4
