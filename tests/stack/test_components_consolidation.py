"""Lessons of several episodes become a belief once, in whatever words, with its sources."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sb.memory.ranking.lexicon import Lexicon
from sb.protocols import MaintenanceModeError
from sb.protocols.types import Belief, Episode
from sb.stack import SQLiteStack
from sb.stack.similarity import Similarity, Statement


def learn(stack: SQLiteStack, *lessons: str, context: str | None = None) -> list[str]:
    start = len(stack.get_episodes(limit=1000))
    return [
        stack.save_episode(Episode(f"e{at}", "", f"step {at}", "done", lessons=[lesson], context=context))
        for at, lesson in enumerate(lessons, start)
    ]


def test_a_lesson_said_in_other_words_becomes_one_belief_with_its_episodes(stack: SQLiteStack) -> None:
    learn(
        stack,
        "Always run migrations before deploying",
        "Run the migrations before every deploy",
        "Small pull requests get reviewed faster",
        "Reviews go quicker when pull requests are small",
        "Use tabs for indentation",
    )
    done = stack.promote()
    assert (done["consolidated"], done["lessons_found"], done["beliefs_created"]) == (5, 5, 2)
    assert len(done["common_lessons"]) == 2
    belief = stack.get_memory("belief", done["belief_ids"][0])
    assert belief is not None
    assert (belief.belief_type, belief.confidence, belief.source_type) == ("pattern", 0.7, "consolidation")
    assert belief.source_entity == "sb:consolidation"
    found = {tuple(sorted(item.derived_from or ())) for item in stack.get_beliefs()}
    assert found == {("episode:e0", "episode:e1"), ("episode:e2", "episode:e3")}


def test_promoting_again_makes_nothing_new_and_brings_nothing_back(stack: SQLiteStack) -> None:
    learn(stack, "Pin the versions in CI", "CI needs pinned versions", "Tests come first", "Tests come first")
    first, second = stack.promote()["belief_ids"]
    assert stack.promote()["belief_ids"] == []
    stack.forget_memory("belief", first, "not so")
    belief = stack.get_memory("belief", second)
    assert belief is not None
    belief.is_active = False
    stack.save_belief(belief)
    assert stack.promote()["belief_ids"] == []
    assert stack.get_beliefs() == []


def test_what_is_believed_already_is_not_believed_twice(stack: SQLiteStack) -> None:
    stack.save_belief(Belief("b", "", "CI needs pinned dependency versions"))
    learn(stack, "Pin dependency versions in CI", "Pin dependency versions in CI", "Something else")
    done = stack.promote()
    assert (done["patterns_found"], done["beliefs_created"]) == (1, 0)


def test_one_episode_that_says_it_twice_is_one(stack: SQLiteStack) -> None:
    stack.save_episode(Episode("e", "", "x", "y", lessons=["Pin the versions", "pin the  versions"]))
    learn(stack, "Something else", "Nothing like it")
    assert stack.promote()["beliefs_created"] == 0


def test_fewer_than_three_episodes_say_nothing(stack: SQLiteStack) -> None:
    learn(stack, "Pin the versions", "Pin the versions")
    done = stack.promote()
    assert (done["consolidated"], done["lessons_found"], done["beliefs_created"]) == (0, 2, 0)
    assert "at least 3" in done["message"]


def test_a_third_episode_counts_even_if_it_taught_nothing(stack: SQLiteStack) -> None:
    learn(stack, "Pin the versions", "Pin the versions")
    stack.save_episode(Episode("silent", "", "step", "done"))
    done = stack.promote()
    assert (done["consolidated"], done["lessons_found"], done["beliefs_created"]) == (3, 2, 1)


def test_a_context_keeps_to_its_own_episodes(stack: SQLiteStack) -> None:
    learn(stack, "Pin the versions", "Warm the cache", "Ask early", context="web")
    learn(stack, "Pin the versions", "Warm the cache", "Warm the cache", "Rest", context="api")
    done = stack.promote(context="api")
    (belief,) = stack.get_beliefs()
    assert (belief.statement, belief.context, done["beliefs_created"]) == ("Warm the cache", "api", 1)
    assert stack.promote()["cross_domain_patterns"] == 2


def test_nothing_is_promoted_while_the_stack_is_maintained(stack: SQLiteStack) -> None:
    learn(stack, *["Pin the versions"] * 3)
    stack.enter_maintenance()
    with pytest.raises(MaintenanceModeError):
        stack.promote()


def test_without_the_component_maintenance_makes_no_beliefs(full: SQLiteStack) -> None:
    learn(full, *["Pin the versions"] * 3)
    full.remove_component("consolidation")
    full.maintenance()
    assert full.get_beliefs() == []


def test_maintenance_promotes_what_recurs(full: SQLiteStack) -> None:
    learn(full, *["Pin the versions"] * 3)
    done = full.maintenance()["consolidation"]
    assert (done["patterns_found"], done["inference_available"]) == (1, False)
    assert [belief.statement for belief in full.get_beliefs()] == ["Pin the versions"]


def test_a_model_finds_what_words_do_not_share(full: SQLiteStack, scripted: Any) -> None:
    learn(full, "The outage came from an unwatched disk", "Nobody saw the queue fill up", "Ask early")
    reply = [
        {"statement": "What can fill up needs an alarm.", "episodes": [1, 2]},
        {"statement": "Named by one episode alone.", "episodes": [1, 1]},
        {"statement": "Named by episodes that are none.", "episodes": [7, -1]},
        {"statement": "no", "episodes": [0, 1]},
        {"statement": 5, "episodes": [0, 1]},
        {"nothing": True},
    ]
    model = scripted(f"```json\n{json.dumps(reply)}\n```")
    full.on_model_changed(model)
    done = full.maintenance()["consolidation"]
    assert done["synthesized_themes"] == ["What can fill up needs an alarm."]
    (belief,) = full.get_beliefs()
    assert (belief.source_type, belief.derived_from) == ("consolidation", ["episode:e1", "episode:e0"])
    full.maintenance()  # it is not asked again about the same
    consolidating = [prompt for prompt in model.prompts if "lessons" in prompt]
    assert len(consolidating) == 1


@pytest.mark.parametrize("said", ["no JSON", "{}", "[1, 2]", '[{"statement": "It is so."}]', "[]", "null"])
def test_what_a_model_says_otherwise_is_left(full: SQLiteStack, scripted: Any, said: str) -> None:
    learn(full, "The outage came from an unwatched disk", "Nobody saw the queue fill up", "Ask early")
    full.on_model_changed(scripted(said, said))
    done = full.maintenance()["consolidation"]
    assert done["synthesized_themes"] == []
    assert full.get_beliefs() == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always deploy on Fridays", "Never deploy on Fridays"),
        ("Use tabs for indentation", "Use spaces for indentation"),
        ("The staging database is on host A", "The production database is on host A"),
        ("Port 8080 is blocked", "Port 9090 is blocked"),
        ("Migrate before deploying", "Deploy before migrating"),
        ("Before migrating, deploy", "Migrate before deploying"),
        ("Python is faster than Ruby", "Ruby is faster than Python"),
        ("Timeouts must be set on every HTTP client", "Retries must be set on every HTTP client"),
        ("Read the logs first", "Read the documentation first"),
    ],
)
def test_what_differs_in_one_word_that_matters_is_not_the_same(
    stack: SQLiteStack, one: str, other: str
) -> None:
    learn(stack, one, other, "Something else")
    assert stack.promote()["patterns_found"] == 0


def test_without_vectors_words_are_alike_by_their_stems() -> None:
    similarity = Similarity(Lexicon)
    migrations = (
        Statement("Run the migrations before deploying"),
        Statement("run migrations before a deploy"),
    )
    assert similarity.same(*migrations) is True
    assert similarity.same(Statement("reviews get faster"), Statement("reviews get quicker")) is False
