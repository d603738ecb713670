"""The stack protocol's tables and examples, as they stand there: names, parameters, defaults and what is answered."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from sb.protocols import StackProtocol
from sb.protocols.types import Belief, Episode, MemorySuggestion, SearchResult
from sb.stack import SQLiteStack
from sb.stack.components import EmbeddingComponent, ForgettingComponent
from tests.rows import rows

# Method to its parameters as the protocol writes them; those after `*` are by name only.
METHODS = {
    **{
        f"save_{kind}": name
        for kind, name in {
            "episode": "episode", "belief": "belief", "value": "value", "goal": "goal", "note": "note", "drive": "drive",
            "relationship": "relationship", "raw": "raw", "playbook": "playbook", "epoch": "epoch", "summary": "summary",
            "self_narrative": "narrative", "suggestion": "suggestion", "episodes_batch": "episodes",
            "beliefs_batch": "beliefs", "notes_batch": "notes", "trust_assessment": "assessment",
        }.items()
    },
    "update_drive_atomic": "drive, expected_version=None",
    "update_relationship_atomic": "relationship, expected_version=None",
    "get_suggestion": "suggestion_id",
    "get_suggestions": "*, status=None, memory_type=None, limit=100, min_confidence=None, max_age_hours=None, source_raw_id=None",
    "accept_suggestion": "suggestion_id, modifications=None",
    "dismiss_suggestion": "suggestion_id, reason=None",
    "get_episodes": "*, limit=50, tags=None, context=None, include_weak=False, include_forgotten=False",
    "get_beliefs": "*, limit=50, belief_type=None, min_confidence=None, include_weak=False, include_forgotten=False",
    "get_values": "*, limit=50, context=None, include_weak=False, include_forgotten=False",
    "get_goals": "*, limit=50, status=None, context=None, include_weak=False, include_forgotten=False",
    "get_notes": "*, limit=50, note_type=None, context=None, include_weak=False, include_forgotten=False",
    "get_drive": "drive_type",
    "get_drives": "*, include_expired=False",
    "get_relationship": "entity_name",
    "get_relationships": "*, entity_id=None, entity_type=None, min_trust=None",
    "get_raw": "*, limit=50, tags=None",
    "get_memory": "memory_type, memory_id",
    "search": "query, *, limit=10, record_types=None, context=None, min_confidence=None",
    "load": "*, token_budget=8000, context=None",
    "record_access": "memory_type, memory_id",
    "update_memory_meta": "memory_type, memory_id, *, confidence=None, tags=None",
    "forget_memory": "memory_type, memory_id, reason",
    "recover_memory": "memory_type, memory_id",
    "protect_memory": "memory_type, memory_id, protected=True",
    "get_trust_assessments": "*, entity_id=None, domain=None",
    "compute_trust": "entity_id, domain=None",
    "promote": "*, context=None",
    "apply_forgetting": "*, protect_identity=True",
    "sync": "",
    "pull_changes": "*, since=None",
    "get_pending_sync_count": "",
    "is_online": "",
    "get_stats": "",
    "dump": "*, format='markdown', include_raw=True, include_forgotten=False",
    "export": "path, *, format='markdown'",
    "on_attach": "core_id, inference=None",
    "on_detach": "core_id",
    "on_model_changed": "inference=None",
    "add_component": "component",
    "remove_component": "name",
    "get_component": "name",
    "maintenance": "",
}  # fmt: skip


@rows("method", METHODS)
def test_a_method_takes_what_the_protocol_says(method: str) -> None:
    """Further arguments have a default, and come by name."""
    parameters = inspect.signature(getattr(SQLiteStack, method)).parameters
    by_name, position = False, 1  # after self
    for word in filter(None, METHODS[method].split(", ")):
        if word == "*":
            by_name = True
            continue
        name, _, default = word.partition("=")
        parameter = parameters[name]
        assert (parameter.kind is parameter.KEYWORD_ONLY) == by_name
        assert by_name or list(parameters)[position] == name
        assert (parameter.default is parameter.empty) if not default else repr(parameter.default) == default
        position += 1
    named = {item.partition("=")[0] for item in METHODS[method].split(", ")} | {"self"}
    assert all(item.default is not item.empty for name, item in parameters.items() if name not in named)


def test_a_stack_is_what_the_protocol_calls_one(stack: SQLiteStack) -> None:
    assert isinstance(stack, StackProtocol)
    assert stack.stack_id == "mine"
    assert stack.schema_version > 0
    assert stack.components == {}


def test_components_are_added_and_removed_as_in_the_example() -> None:
    stack = SQLiteStack("my-stack")
    assert list(stack.components) == [
        "embedding", "forgetting", "consolidation", "emotions", "anxiety", "suggestions", "metamemory", "knowledge",
    ]  # fmt: skip
    bare = SQLiteStack("bare-stack", components=[])
    bare.add_component(EmbeddingComponent())
    bare.add_component(ForgettingComponent())
    assert list(bare.components) == ["embedding", "forgetting"]
    stack.remove_component("anxiety")
    assert "anxiety" not in stack.components
    with pytest.raises(ValueError, match="Cannot remove required"):
        stack.remove_component("embedding")
    assert stack.get_component("embedding") is stack.components["embedding"]
    done = stack.maintenance()
    assert {"swept", "forgotten"} <= done["forgetting"].keys()
    assert "re_indexed" in done["embedding"]


def test_enforcement_is_the_default_and_can_be_left_out() -> None:
    assert SQLiteStack("my-stack").enforce_provenance is True
    assert SQLiteStack("other-stack", enforce_provenance=False).enforce_provenance is False


# Strength to whether load, search, a getter, one with include_weak and one with include_forgotten give it.
TIERS = {
    1.0: "load search get weak forgotten",
    0.8: "load search get weak forgotten",
    0.79: "load search get weak forgotten",
    0.5: "load search get weak forgotten",
    0.49: "search weak forgotten",
    0.2: "search weak forgotten",
    0.19: "forgotten",
    0.0: "forgotten",
}


@pytest.mark.parametrize("strength", TIERS)
def test_a_tier_is_given_where_the_table_says(stack: SQLiteStack, strength: float) -> None:
    stack.save_episode(Episode("e", "mine", "a deployment", "done", strength=strength))
    given: dict[str, list[Any]] = {
        "load": stack.load()["episodes"],
        "search": stack.search("deployment"),
        "get": stack.get_episodes(),
        "weak": stack.get_episodes(include_weak=True),
        "forgotten": stack.get_episodes(include_forgotten=True),
    }
    assert [name for name, found in given.items() if found] == TIERS[strength].split()


def test_a_search_answers_with_results_of_five_fields(stack: SQLiteStack) -> None:
    stack.save_belief(Belief("b", "mine", "deployment strategies differ", confidence=0.9))
    (found,) = stack.search("deployment strategies", limit=10)
    assert found == SearchResult("belief", "b", "deployment strategies differ", found.score, found.metadata)
    assert found.metadata["confidence"] == 0.9


def test_an_accepted_suggestion_says_where_it_came_from(stack: SQLiteStack) -> None:
    stack.save_suggestion(MemorySuggestion("s", "mine", "belief", {"statement": "deploys break"}, 0.5, ["r"]))
    made = stack.accept_suggestion("s")
    assert made is not None
    memory = stack.get_memory("belief", made)
    assert memory is not None
    assert memory.source_entity == "sb:suggestion-promotion"
    assert [suggestion.status for suggestion in stack.get_suggestions()] == ["promoted"]


def test_a_detached_stack_is_opened_queried_exported_and_maintained(
    owned: SQLiteStack, tmp_path: Path
) -> None:
    owned.save_episode(Episode("e", "mine", "deploy", "done", source_entity="core:me"))
    owned.on_detach("me")
    owned.close()
    with SQLiteStack("mine", tmp_path / "stack.db") as alone:
        assert [result.memory_id for result in alone.search("deploy")] == ["e"]
        alone.export(tmp_path / "out.md")
        assert "### deploy" in (tmp_path / "out.md").read_text(encoding="utf-8")
        assert "error" not in str(alone.maintenance())
