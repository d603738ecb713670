"""Repeated statements about an entity: new parts are added, equal ones change nothing, the rest stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from sb.base.sources import SteeredClock
from sb.memory.brain import Brain
from sb.memory.decay import FORGET
from sb.protocols.types import EntityRecord, RawEntry
from sb.store.records.places import Place


@pytest.fixture
def brain(tmp_path: Path, clock: SteeredClock) -> Iterator[Brain]:
    clock.time += 1 / 3  # finer than a datetime
    with Brain("ada", path=tmp_path / "brain.db", clock=clock) as brain:
        yield brain


def test_the_same_again_changes_nothing(brain: Brain, clock: SteeredClock) -> None:
    first = brain.entity("Bob", "person", observations=["likes tea"])
    clock.time += 60
    assert brain.entity("bob", "person", observations=["likes tea"]) == first
    row = brain.space.records.find(first)
    assert row is not None
    assert (row["version"], brain.space.records.history(row["id"])) == (1, [])


def test_more_is_added_and_the_former_state_is_kept(brain: Brain) -> None:
    first = brain.entity("Bob", "person", observations=["likes tea"], source_entity="mail")
    brain.entity("BOB", "person", observations=["plays chess"], properties={"city": "Rome"})
    row = brain.space.records.find(first)
    assert row is not None
    bob = brain.space.record(row)
    assert (bob.name, bob.source_entity, bob.version) == ("Bob", "mail", 2)
    assert (bob.observations, bob.properties) == (["likes tea", "plays chess"], {"city": "Rome"})
    (change,) = brain.space.records.history(row["id"])
    assert change["former"]["text"] == "Bob: likes tea"


def test_what_is_added_keeps_everybody_named_and_lets_in_only_who_may_read_all(brain: Brain) -> None:
    first = brain.entity("Bob", "person", observations=["likes tea"])
    additions: tuple[dict[str, Any], ...] = (
        {"subject_ids": ["bob"], "access_grants": ["hr", "it"], "consent_grants": ["bob"]},
        {"subject_ids": ["eve"], "access_grants": ["hr"]},
        {},
    )
    for people in additions:
        assert brain.entity("Bob", "person", observations=[f"earns {len(people)}"], **people) == first
    row = brain.space.records.find(first)
    assert row is not None
    bob = brain.space.record(row)
    assert bob.observations == ["likes tea", "earns 3", "earns 2", "earns 0"]
    assert (bob.subject_ids, bob.access_grants, bob.consent_grants) == (["bob", "eve"], ["hr"], ["bob"])
    assert brain.get(first).content == "withheld: somebody whom it is about has not agreed"


def test_what_a_newer_version_of_sb_wrote_stays(brain: Brain) -> None:
    first = brain.entity("Bob", "person")
    row = brain.space.records.find(first)
    assert row is not None
    newer = orjson.loads(row["fields"]) | {"mood": "calm"}
    with brain.database.write() as execute:
        brain.space.records.update(
            execute, row["id"], {"fields": orjson.dumps(newer).decode()}, actor="newer"
        )
    brain.entity("Bob", "person", observations=["likes tea"])
    stored = brain.space.records.find(first)
    assert stored is not None
    assert orjson.loads(stored["fields"]) == newer | {"observations": ["likes tea"]}


def test_two_of_one_name_that_are_kept_together_are_one(brain: Brain) -> None:
    entities = [EntityRecord("Bob", "person", [first]) for first in ("likes tea", "plays chess", "likes tea")]
    ids = brain.writer.keep_all([*entities, EntityRecord("Ada", "person")], Place("default"))
    assert len(set(ids[:3])) == 1
    assert ids[3] != ids[0]
    row = brain.space.records.find(ids[0])
    assert row is not None
    assert brain.space.record(row).observations == ["likes tea", "plays chess"]


def test_kinds_without_sources_are_kept_as_well(brain: Brain) -> None:
    (uid,) = brain.writer.keep_all([RawEntry("r", "default", "as it was said")], Place("default"))
    assert brain.get(uid).content == "as it was said"


def test_those_after_it_in_its_session_are_found_by_what_it_says_now(brain: Brain) -> None:
    brain.entity("Bob", "person", observations=["likes tea"])
    brain.log("and so does his sister")
    model = brain.space.embedder.model  # type: ignore[union-attr]
    assert brain.space.vectors.stale(model, 10) == []
    brain.entity("Bob", "person", observations=["moved to Rome"])
    assert brain.space.vectors.stale(model, 10) == []


@pytest.mark.parametrize(("state", "since"), [("forgotten", "active"), ("quarantined", "quarantined")])
def test_what_was_forgotten_is_known_again_and_what_was_quarantined_is_not(
    brain: Brain, state: str, since: str
) -> None:
    uid = brain.entity("Bob", "person", observations=["likes tea"])
    row = brain.space.records.find(uid)
    assert row is not None
    brain.writer.change(row, {"state": state} if state != "forgotten" else FORGET, state, "why")
    brain.entity("Bob", "person", observations=["plays chess"])
    now = brain.space.records.find(uid)
    assert now is not None
    assert (now["state"], now["strength"]) == (since, row["strength"])
    assert [hit.id for hit in brain.search("chess")] == ([uid] if since == "active" else [])
