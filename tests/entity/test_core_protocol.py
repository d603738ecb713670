"""The core protocol's own examples and tables, as they are written there, with `sb` for the name it uses."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from sb.entity import Entity
from sb.protocols import Binding, PluginInfo, StackInfo
from sb.protocols.types import Episode
from sb.stack import SQLiteStack
from tests.entity.weather_plugin import Weather


@pytest.fixture(autouse=True)
def of_the_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The document's paths are below the user's home folder."""
    monkeypatch.delenv("SB_HOME")
    monkeypatch.setenv("HOME", str(home))
    return home


def test_stack_management() -> None:
    # Create the core
    entity = Entity(core_id="my-entity")

    # Attach stacks (returns stack_id, alias is cosmetic)
    assert entity.attach_stack(SQLiteStack("primary"), alias="primary") == "primary"
    assert entity.attach_stack(SQLiteStack("work"), alias="work", set_active=False) == "work"
    assert entity.active_stack is not None
    assert entity.active_stack.stack_id == "primary"

    # Switch context (by stack_id)
    entity.set_active_stack("work")
    assert entity.active_stack.stack_id == "work"

    # Detach when done (by stack_id)
    entity.detach_stack("work")
    assert entity.active_stack is None
    with pytest.raises(ValueError, match="primary"):
        entity.attach_stack(SQLiteStack("primary"))


def test_protocol_version_enforcement(caplog: pytest.LogCaptureFixture) -> None:
    entity, plugin = Entity("my-entity"), Weather()
    plugin.protocol_version = 2
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        entity.load_plugin(plugin)
    assert str(caught.value) == (
        "Plugin 'weather' requires protocol version 2, but this core supports version 1."
    )
    plugin.protocol_version = 0
    entity.load_plugin(plugin)
    (record,) = [item for item in caplog.records if item.levelno == logging.WARNING]
    assert record.getMessage() == "Plugin 'weather' uses protocol version 0 (current: 1)."


def test_operation_routing() -> None:
    stack = SQLiteStack("primary")
    entity = Entity("my-entity")
    entity.attach_stack(stack)

    # The proper way -- full provenance
    uid = entity.episode(
        "Deploy to production",
        "Successful with zero downtime",
        lessons=["Blue-green deploys work well"],
        tags=["deployment"],
        context="work",
    )
    episode = stack.get_memory("episode", uid)
    assert episode is not None
    assert (episode.stack_id, episode.source_entity, episode.source_type) == (
        "primary",
        "core:my-entity",
        "direct_experience",
    )
    assert episode.created_at.utcoffset().total_seconds() == 0
    assert (episode.derived_from, episode.context, episode.context_tags) == (None, "work", None)

    # Bypass -- incomplete provenance (for migration/repair only)
    bare = SQLiteStack("repair")
    bypassed = bare.save_episode(
        Episode(
            id="e1",
            stack_id=bare.stack_id,
            objective="Deploy to production",
            outcome="Successful",
            # No source_entity, no context, no source_type
        )
    )
    found = bare.get_memory("episode", bypassed)
    assert found is not None
    assert (found.source_entity, found.context) == (None, None)


def test_checkpoint_save_and_restore(of_the_user: Path) -> None:
    entity = Entity("my-entity")
    entity.attach_stack(SQLiteStack("primary"))

    # Save current composition
    cp_id = entity.checkpoint("before refactor")
    # Saves to ~/.sb/checkpoints/{core_id}_{timestamp}_{uuid}.json
    path = Path.home() / f".sb/checkpoints/{cp_id}.json"
    assert cp_id.startswith("my-entity_")
    checkpoint = json.loads(path.read_bytes())
    assert checkpoint["schema_version"] == 1
    assert checkpoint["checkpoint_id"] == cp_id
    assert checkpoint["message"] == "before refactor"
    assert checkpoint["binding"]["core_id"] == "my-entity"
    assert checkpoint["binding"]["model_config"] == {}
    assert checkpoint["binding"]["stacks"] == {"primary": None}
    assert checkpoint["binding"]["plugins"] == []
    assert checkpoint["created_at"].endswith("+00:00")

    # Restore later
    restored = Entity.from_checkpoint(path)
    assert restored.core_id == "my-entity"
    assert restored.active_stack is not None
    assert restored.active_stack.stack_id == "primary"
    binding = restored.get_binding()
    assert isinstance(binding, Binding)
    assert (binding.core_id, binding.active_stack_id) == ("my-entity", "primary")


def test_properties_and_management() -> None:
    entity = Entity("my-entity")
    assert (entity.core_id, entity.model, entity.active_stack) == ("my-entity", None, None)
    assert (entity.stacks, entity.plugins) == ({}, {})
    entity.attach_stack(SQLiteStack("primary"), alias="home")
    entity.load_plugin(Weather())
    (info,) = entity.stacks.values()
    assert isinstance(info, StackInfo)
    assert (info.stack_id, info.alias, info.is_active) == ("primary", "home", True)
    assert isinstance(entity.plugins["weather"], PluginInfo)
    assert all(isinstance(found, PluginInfo) for found in entity.discover_plugins())
    entity.unload_plugin("weather")
    assert entity.plugins == {}


def test_routed_operations_search_load_status_and_trust() -> None:
    entity = Entity("my-entity")
    entity.attach_stack(SQLiteStack("primary"))
    episode = entity.episode(
        "Deploy", "It worked", lessons=["go slowly"], tags=["ops"], source="core:my-entity"
    )
    belief = entity.belief(
        "slow deploys are safe",
        type="fact",
        confidence=0.9,
        foundational=True,
        derived_from=[f"episode:{episode}"],
    )
    value = entity.value(
        "care", "go slowly", priority=80, foundational=True, derived_from=[f"belief:{belief}"]
    )
    goal = entity.goal(
        "deploy daily", description="slowly", goal_type="commitment", derived_from=[f"belief:{belief}"]
    )
    note = entity.note("a note", type="note", speaker="me", tags=["ops"], protect=True)
    drive = entity.drive("growth", intensity=0.9, focus_areas=["ops"], derived_from=[f"belief:{belief}"])
    ada = entity.relationship(
        "Ada", trust_level=0.9, notes="helps", entity_type="person", derived_from=[f"episode:{episode}"]
    )
    raw = entity.raw("as it came", source="mail")
    assert len({episode, belief, value, goal, note, drive, ada, raw}) == 8
    assert belief in [
        found.memory_id for found in entity.search("slow deploys", limit=3, record_types=["belief"])
    ]
    loaded: dict[str, Any] = entity.load(token_budget=8000, context="work")
    assert [item["id"] for item in loaded["beliefs"]] == [belief]
    json.dumps(loaded)
    status = entity.status()
    assert status["stacks"]["primary"]["stats"]["episodes"] == 1
    entity.trust_set("Ada", "code", 0.9, evidence=episode)
    entity.trust_set("Ada", "cooking", 0.3)
    (assessment,) = entity.trust_get("Ada", domain="code")
    assert assessment.dimensions == {"code": {"score": 0.9}, "cooking": {"score": 0.3}}
    assert "Ada" in [item.entity for item in entity.trust_list(domain="code", min_score=0.5)]
    assert "Ada" not in [item.entity for item in entity.trust_list(domain="cooking", min_score=0.5)]
