"""A core with this version's own stack: provenance in force, one memory with a Brain's, several processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.entity import Entity
from sb.entity.inference import LLMModel
from sb.errors import ProvenanceError
from sb.memory.erasure import erase
from sb.memory.space import Space
from sb.protocols import VersionConflictError
from sb.protocols.types import Belief
from sb.runtime import Runtime, open_runtime
from sb.stack import SQLiteStack
from sb.store.records.store import RecordStore
from tests.conftest import approve_tools
from tests.entity.chat_server import ChatServer
from tests.entity.weather_plugin import Weather


@pytest.fixture
def runtime(home: Path) -> Iterator[Runtime]:
    with open_runtime() as opened:
        yield opened


def test_a_core_of_a_runtime_remembers_in_its_database_and_a_brain_finds_it(runtime: Runtime) -> None:
    entity = runtime.entity("me")
    uid = entity.episode("migrate the billing service", "done, with no downtime")
    assert uid in [hit.id for hit in runtime.brain("somebody").search("billing migration")]
    fact = runtime.brain("me").remember("the API is versioned")
    assert entity.active_stack is not None
    assert fact in [belief.id for belief in entity.active_stack.get_beliefs()]
    assert entity.forget("belief", fact, "it is not")
    assert fact not in [hit.id for hit in runtime.brain("me").search("versioned API")]
    other = runtime.entity("me", stack_id="work")
    assert other.active_stack is not None
    assert other.active_stack.get_episodes() == []


def test_the_tools_of_a_plugin_run_through_the_runtime_once_somebody_agreed(runtime: Runtime) -> None:
    entity = runtime.entity("me")
    entity.load_plugin(Weather())
    call = (runtime.context("me"), "plugin.weather.forecast", {"town": "Ulm"})
    refused = runtime.executor.execute(*call)
    assert not refused.success
    assert "the contract of plugin.weather.forecast is new" in refused.error_message
    approve_tools(runtime)
    assert runtime.executor.execute(*call).data == "drizzle in Ulm"
    assert entity.active_stack is not None
    assert [note.source_entity for note in entity.active_stack.get_notes()] == ["plugin:weather"]
    entity.close()
    assert "plugin.weather.forecast" not in runtime.registry


def test_what_a_core_experiences_needs_no_source_and_what_it_concludes_does(runtime: Runtime) -> None:
    entity = runtime.entity("me")
    episode = entity.episode("Deploy to production", "Successful with zero downtime", context="work")
    entity.note("as it was", source_type="observation")
    unfounded: Callable[[], str]
    for unfounded in (
        lambda: entity.belief("we deploy well"),
        lambda: entity.note("so it must be", source_type="inference"),
        lambda: entity.note("in another's name", source="core:somebody"),
        lambda: entity.note("in a plugin's name", source="plugin:weather"),
        lambda: entity.drive("growth"),
        lambda: entity.relationship("Ada"),
    ):
        with pytest.raises(ProvenanceError):
            unfounded()
    belief = entity.belief("we deploy well", derived_from=[f"episode:{episode}"], source_type="inference")
    assert entity.drive("growth", derived_from=[f"belief:{belief}"]) == entity.drive("growth", intensity=1.0)
    entity.relationship("Ada", derived_from=[f"episode:{episode}"])


def test_a_plugin_is_trusted_by_the_stack_while_it_is_loaded(runtime: Runtime) -> None:
    entity = runtime.entity("me")
    plugin = Weather()
    entity.load_plugin(plugin)
    assert plugin.context is not None
    assert plugin.context.belief("it rains in Ulm") is not None
    entity.unload_plugin("weather")
    with pytest.raises(ProvenanceError):
        entity.belief("it rains in Ulm", source="plugin:weather")


def test_a_plugin_that_one_core_unloads_still_writes_for_another_of_the_same_stack(runtime: Runtime) -> None:
    shared, entity, other = runtime.stack("shared"), Entity("one"), Entity("other")
    plugins = [Weather(), Weather()]
    for core, plugin in zip((entity, other), plugins, strict=True):
        core.attach_stack(shared)
        core.load_plugin(plugin)
    entity.unload_plugin("weather")
    assert shared.save_belief(Belief("", "", "It rains in Ulm", source_entity="plugin:weather"))
    other.unload_plugin("weather")
    with pytest.raises(ProvenanceError):
        shared.save_belief(Belief("", "", "It snows in Ulm", source_entity="plugin:weather"))


def test_trust_is_added_to_in_one_step(runtime: Runtime) -> None:
    entity = runtime.entity("me")
    uid = entity.trust_set("Ada", "code", 0.9, evidence="e1")
    (before,) = entity.trust_get("Ada")
    assert entity.trust_set("Ada", "cooking", 0.2, evidence="e2") == uid
    assert entity.trust_set("Ada", "code", 0.8) == uid
    (ada,) = entity.trust_get("Ada")
    assert ada.dimensions == {"code": {"score": 0.8}, "cooking": {"score": 0.2}}
    assert (ada.evidence_episode_ids, ada.created_at, ada.version) == (["e1", "e2"], before.created_at, 3)
    assert entity.active_stack is not None
    assert entity.active_stack.compute_trust("Ada", "cooking")["score"] == 0.2


def test_the_components_of_a_stack_ask_the_model_of_the_core_and_do_without(
    runtime: Runtime, chat: ChatServer
) -> None:
    entity = runtime.entity("me")
    stack = entity.active_stack
    assert stack is not None
    entity.episode("sail home", "what a wonderful, happy day")

    def maintained() -> tuple[Any, list[str] | None]:
        judged = stack.maintenance()["emotions"].get("judged")
        (episode,) = stack.get_episodes()
        return judged, episode.emotional_tags

    judged, by_words = maintained()
    assert (judged, chat.asked) == (0, [])
    entity.set_model(LLMModel("local"))
    chat.status = 400
    assert maintained() == (0, by_words)
    chat.status = 200
    chat.answer = '[{"number": 0, "valence": -0.4, "arousal": 0.8, "emotions": ["irony"]}]'
    assert maintained() == (1, ["irony"])
    asked = len(chat.asked)
    entity.set_model(None)
    entity.episode("sail again", "a happy day again")
    stack.maintenance()
    assert len(chat.asked) == asked > 1


def test_a_memory_is_weakened_and_verified_in_the_name_of_the_core(runtime: Runtime) -> None:
    entity = runtime.entity("me")
    stack = runtime.stack()
    uid = entity.note("the API is versioned")
    assert entity.weaken("note", uid, 0.4, reason="nobody asked for it")
    assert entity.verify("note", uid, evidence="looked at the docs")
    assert stack.get_memory("note", uid).strength == pytest.approx(0.7)  # type: ignore[union-attr]
    records = RecordStore(runtime.database)
    row = records.find(uid)
    assert row is not None
    assert [(item["actor"], item["operation"], item["reason"]) for item in records.history(row["id"])] == [
        ("me", "weaken", "nobody asked for it"),
        ("me", "verify", "looked at the docs"),
    ]
    assert not entity.weaken("note", "no-such", 0.1)


def test_what_was_made_from_a_memory_is_known_and_what_lost_its_sources_is_found(runtime: Runtime) -> None:
    entity, brain = runtime.entity("me"), runtime.brain("me")
    note, tried = entity.note("they said so"), entity.episode("deploy", "it worked")
    both = entity.belief("it is so indeed", derived_from=[f"note:{note}", f"episode:{tried}", "context:work"])
    belief = entity.belief("they know it well", derived_from=[f"note:{note}"])
    value = entity.value("care", "be careful", derived_from=[f"belief:{belief}"])
    fact = brain.remember("the API is versioned", derived_from=[f"note:{note}"])
    runtime.brain("somebody").remember("between us", private=True, derived_from=[f"note:{note}"])
    made = [f"belief:{both}", f"belief:{belief}", f"belief:{fact}"]
    assert entity.get_memories_derived_from("note", note) == made
    assert entity.get_memories_derived_from("belief", belief) == [f"value:{value}"]
    assert entity.get_memories_derived_from("note", "no-such") == []
    assert entity.get_ungrounded_memories() == []
    entity.forget("note", note, "done with it")
    assert entity.get_ungrounded_memories() == []  # forgotten, but there
    space = Space(runtime.database, runtime.config.memory)
    erase(space, runtime.log, [note], actor="ada", reason="she asked for it")
    assert entity.get_ungrounded_memories() == [f"belief:{belief}", f"belief:{fact}"]


WRITER = """
import json, sys, time
from sb.entity import Entity
from sb.entity.inference import LLMModel
from sb.memory.erasure import erase
from sb.memory.space import Space
from sb.protocols import VersionConflictError
from sb.stack import SQLiteStack
me, start = sys.argv[1], float(sys.argv[2])
entity = Entity("me")
entity.attach_stack(SQLiteStack("mine", components=[], enforce_provenance=False))
time.sleep(max(0.0, start - time.time()))
won, lost = [], 0
for number in range(40):
    try:
        entity.drive("growth", focus_areas=[f"{me}-{number}"])
        won.append(f"{me}-{number}")
    except VersionConflictError:
        lost += 1
print(json.dumps([won, lost]))
"""


def test_of_two_processes_that_change_one_drive_nobody_overwrites_the_other(home: Path) -> None:
    with SQLiteStack("mine", components=[], enforce_provenance=False) as stack:
        entity = Entity("me")
        entity.attach_stack(stack)
        uid = entity.drive("growth", intensity=0.7)
        start = str(time.time() + 1.5)
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, name, start], stdout=subprocess.PIPE, text=True)
            for name in ("a", "b")
        ]
        results = [json.loads(writer.communicate(timeout=60)[0]) for writer in writers]
        won = sum(len(result) for result, _ in results)
        assert won + sum(lost for _, lost in results) == 80
        drive = stack.get_drive("growth")
        assert drive is not None
        assert (drive.id, drive.version, drive.intensity) == (uid, 1 + won, 0.7)
        assert drive.focus_areas in [[result[-1]] for result, _ in results if result]


def test_who_read_before_somebody_else_wrote_is_told(home: Path) -> None:
    with SQLiteStack("mine", components=[], enforce_provenance=False) as stack:
        entity = Entity("me")
        entity.attach_stack(stack)
        uid = entity.relationship("Ada", notes="likes tea")
        stale = stack.get_relationship("Ada")
        assert stale is not None
        entity.relationship("Ada", notes="likes coffee")
        stale.notes = "likes water"
        with pytest.raises(VersionConflictError) as caught:
            stack.update_relationship_atomic(stale)
        assert (caught.value.table, caught.value.record_id) == ("relationship", uid)
        assert (caught.value.expected_version, caught.value.actual_version) == (1, 2)
        known = stack.get_relationship("Ada")
        assert known is not None
        assert (known.notes, known.interaction_count) == ("likes coffee", 2)
