"""A Brain and a stack are two views over the same records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from sb.entity import Entity
from sb.errors import MaintenanceModeError, NotFoundError
from sb.memory import Brain
from sb.protocols.types import Episode, MemorySuggestion, Relationship, TrustAssessment
from sb.stack import SQLiteStack
from sb.stack.components import KnowledgeComponent


@pytest.fixture
def both(tmp_path: Path) -> tuple[Brain, SQLiteStack]:
    path = tmp_path / "one.db"
    return Brain("me", path=path), SQLiteStack("default", path, components=[])


def test_what_a_brain_keeps_is_shown_as_the_stacks_own_kinds(both: tuple[Brain, SQLiteStack]) -> None:
    brain, stack = both
    fact = brain.remember("the API is versioned", "preference", project="api", confidence=0.7, tags=["t"])
    decision = brain.decide("use SQLite", "one file is enough")
    event = brain.log("deployed", "result")
    entity = brain.entity("Ada", "person", observations=["likes tea"])
    brain.remember("mine alone", private=True)
    (belief,) = stack.get_beliefs()
    assert (belief.id, belief.statement, belief.belief_type) == (fact, "the API is versioned", "preference")
    assert (belief.confidence, belief.context, belief.source_entity) == (0.7, "project:api", "core:me")
    (note,) = stack.get_notes(note_type="decision")
    assert (note.id, note.content, note.reason) == (decision, "use SQLite", "one file is enough")
    (episode,) = stack.get_episodes()
    assert (episode.id, episode.objective) == (event, "deployed")
    (relationship,) = stack.get_relationships(entity_type="person")
    assert (relationship.id, relationship.entity_name, relationship.notes) == (entity, "Ada", "likes tea")
    assert stack.get_relationship("Ada") == relationship
    assert stack.get_memory("belief", fact) == belief
    assert stack.get_memory("note", fact) is None


PEOPLE = {"subject_ids": ["grace"], "access_grants": ["hr"], "consent_grants": ["grace"]}


def people(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in PEOPLE}


def test_the_views_of_a_stack_say_whom_a_memory_is_about_and_who_may_read_it(
    both: tuple[Brain, SQLiteStack],
) -> None:
    brain, stack = both
    named: dict[str, Any] = PEOPLE
    brain.remember("Grace likes tea", **named)
    brain.decide("hire Grace", "she is good", **named)
    brain.log("met Grace", **named)
    brain.entity("Grace", "person", **named)
    stack.on_attach("hr")
    shown = [*stack.get_beliefs(), *stack.get_notes(), *stack.get_episodes(), *stack.get_relationships()]
    assert [people(privacy) for privacy in shown] == [PEOPLE] * 4


@pytest.mark.parametrize("brain_first", [True, False])
def test_somebody_whom_both_know_is_for_those_who_may_read_what_either_says(
    both: tuple[Brain, SQLiteStack], brain_first: bool
) -> None:
    brain, stack = both
    named: dict[str, Any] = PEOPLE
    known = Relationship("", "default", "Grace", "person", "colleague", notes="earns 90k", **named)
    if brain_first:
        uid = brain.entity("Grace", "person", observations=["likes tea"])
        assert stack.save_relationship(known) == uid
    else:
        uid = stack.save_relationship(
            Relationship("", "default", "Grace", "person", "colleague", notes="tall")
        )
        assert brain.entity("Grace", "person", observations=["earns 90k"], **named) == uid
    other = Brain("other", database=brain.database)
    assert other.search("Grace earns") == []
    row = brain.space.records.find(uid)
    assert row is not None
    assert people(brain.space.record(row))["subject_ids"] == ["grace"]


def test_private_memories_are_their_owners(both: tuple[Brain, SQLiteStack]) -> None:
    brain, stack = both
    brain.remember("mine alone", private=True)
    stack.on_attach("somebody")
    assert stack.get_beliefs() == []
    stack.on_attach("me")
    assert [belief.statement for belief in stack.get_beliefs()] == ["mine alone"]


def test_what_a_stack_keeps_is_found_by_a_brain(both: tuple[Brain, SQLiteStack]) -> None:
    brain, stack = both
    stack.save_episode(Episode("e", "default", "migrate the billing service", "no downtime"))
    assert [hit.id for hit in brain.search("billing migration")] == ["e"]


def test_what_is_forgotten_in_one_is_forgotten_in_the_other(both: tuple[Brain, SQLiteStack]) -> None:
    brain, stack = both
    fact = brain.remember("the API is versioned")
    assert stack.forget_memory("belief", fact, "no longer so") is True
    assert brain.search("versioned API") == []
    brain.recover(fact)
    assert [belief.strength for belief in stack.get_beliefs()] == [1.0]  # a stack's own recover gives 0.2
    brain.forget(fact)
    assert stack.get_beliefs(include_weak=True) == []
    assert stack.recover_memory("belief", fact) is True
    assert [hit.id for hit in brain.search("versioned API")] == [fact]
    with pytest.raises(NotFoundError):
        brain.recover(fact)


def test_a_change_through_the_view_changes_the_record(both: tuple[Brain, SQLiteStack]) -> None:
    brain, stack = both
    fact = brain.remember("the API is versioned")
    belief = stack.get_memory("belief", fact)
    assert belief is not None
    belief.statement, belief.confidence = "the API has versions", 0.95
    stack.save_belief(belief)
    assert (brain.get(fact).content, brain.get(fact).confidence) == ("the API has versions", 0.95)
    belief.belief_scope = "self"
    with pytest.raises(ValueError, match="belief_scope"):
        stack.save_belief(belief)


def test_events_and_rationales_do_not_change_through_the_view_either(
    both: tuple[Brain, SQLiteStack],
) -> None:
    brain, stack = both
    event, decision = brain.log("deployed", "result"), brain.decide("use SQLite", "one file")
    episode, note = stack.get_memory("episode", event), stack.get_memory("note", decision)
    assert episode is not None
    assert note is not None
    episode.objective, note.reason = "never deployed", "because"
    with pytest.raises(ValueError, match="append-only"):
        stack.save_episode(episode)
    with pytest.raises(ValueError, match="immutable"):
        stack.save_note(note)


def test_what_a_stack_says_of_an_entity_is_kept_with_it(both: tuple[Brain, SQLiteStack]) -> None:
    brain, stack = both
    uid = brain.entity("Ada", "person", observations=["likes tea"])
    core = Entity("me")
    core.attach_stack(stack)
    assert core.relationship("ada", trust_level=0.9, notes="likes coffee") == uid
    core.relationship("Ada", context="work")
    (known,) = stack.get_relationships(min_trust=0.9)
    assert (known.interaction_count, known.notes, known.context) == (2, "likes coffee", "work")
    assert known.last_interaction is not None
    assert brain.get("Ada").details["observations"] == ["likes coffee"]


def test_somebody_is_one_record_whoever_kept_it_first(both: tuple[Brain, SQLiteStack]) -> None:
    brain, stack = both
    relationship = Relationship(
        "", "default", "Ada", relationship_type="colleague", notes="likes tea", sentiment=0.5
    )
    first = stack.save_relationship(relationship)
    added = {"observations": ["likes tea", "plays the cello"], "properties": {"desk": 3}, "tags": ["team"]}
    assert brain.entity("Ada", "agent", **added) == first  # type: ignore[arg-type]
    assert brain.entity("Ada", "agent", **added) == first  # type: ignore[arg-type]
    (ada,) = stack.get_relationships()
    assert (ada.entity_type, ada.relationship_type, ada.sentiment) == ("agent", "colleague", 0.5)
    assert (ada.notes, ada.context_tags) == ("likes tea; plays the cello; desk: 3", ["team"])
    assert brain.get("Ada").id == first
    brain.relate("Ada", "wrote", brain.remember("the parser"))
    assert [surrounded.id for surrounded in brain.orient().entities] == [first]


def test_a_relationship_is_kept_with_the_entity_of_its_name(both: tuple[Brain, SQLiteStack]) -> None:
    brain, stack = both
    first = brain.entity("Ada", "person", observations=["likes tea"])
    relationship = Relationship("", "default", "ada", relationship_type="colleague", sentiment=0.5)
    assert stack.save_relationship(relationship) == first
    (ada,) = stack.get_relationships()
    assert (ada.entity_name, ada.notes, ada.relationship_type) == ("Ada", "likes tea", "colleague")
    assert ada.sentiment == 0.5
    assert brain.get("Ada").details["observations"] == ["likes tea"]
    private = brain.entity("Ada", "person", observations=["earns less"], private=True)
    elsewhere = brain.entity("Ada", "person", project="x")
    assert len({first, private, elsewhere}) == 3


def test_a_suggestion_that_nobody_accepted_is_found_by_neither(both: tuple[Brain, SQLiteStack]) -> None:
    brain, stack = both
    stack.add_component(KnowledgeComponent())
    stack.save_relationship(Relationship("ada", "default", "Ada"))
    content = {"statement": "Ada deploys on Fridays"}
    suggested = stack.save_suggestion(MemorySuggestion("", "default", "belief", content, 0.6, []))
    stack.save_trust_assessment(TrustAssessment("", "default", "Ada", {"deploys": {"score": 0.5}}))
    stack.maintenance()
    assert [hit.id for hit in brain.search("who deploys on Fridays, Ada?")] == ["ada"]
    assert [activated.id for activated in brain.think("who deploys on Fridays, Ada?")] == ["ada"]
    assert [result.memory_id for result in stack.search("who deploys on Fridays, Ada?")] == ["ada"]
    with pytest.raises(ValueError, match="is not a memory kind"):
        brain.search("Fridays", kinds=["suggestion"])
    made = stack.accept_suggestion(suggested)
    assert [hit.id for hit in brain.search("deploys on Fridays")][:1] == [made]


def test_a_brain_writes_nothing_into_a_stack_that_is_being_maintained(
    both: tuple[Brain, SQLiteStack],
) -> None:
    brain, stack = both
    facts = [brain.remember("the API is versioned"), brain.remember("clients send a header")]
    packet = brain.handoff("ship it", "almost done", [], "tag the release")
    stack.enter_maintenance()
    writes: list[Callable[[], object]] = [
        lambda: brain.remember("the API is gone"),
        lambda: brain.entity("Ada", "person"),
        lambda: brain.relate(facts[0], "needs", facts[1]),
        lambda: brain.wrap_up("all done"),
        brain.resume,
    ]
    for write in writes:
        with pytest.raises(MaintenanceModeError, match="stack default is in maintenance"):
            write()
    assert brain.search("versioned API", kinds=["fact"])[0].id == facts[0]
    assert Brain("me", database=stack._database, stack="other").remember("elsewhere")
    stack.exit_maintenance()
    taken = brain.resume()
    assert taken is not None
    assert taken.id == packet.id
    brain.relate(facts[0], "needs", facts[1])


def test_citing_what_one_does_not_see_reaches_nothing_of_it(both: tuple[Brain, SQLiteStack]) -> None:
    _, stack = both
    database = stack._database
    secret = Brain("other", database=database).remember("the vault is in the cellar", private=True)
    elsewhere = SQLiteStack("work", database=database, components=[])
    elsewhere.save_episode(Episode("w", "", "met Ada", "she agreed", strength=0.5))
    with database.write() as execute:
        execute("UPDATE records SET strength = 0.5 WHERE uid = ?", (secret,))
    with Entity("me") as core:
        core.attach_stack(stack)
        made = core.episode("looked around", "nothing", derived_from=[f"belief:{secret}", "episode:w"])
        core.verify("episode", made)
    assert database.query("SELECT count(*) FROM edges") == [(0,)]
    assert database.query("SELECT strength FROM records WHERE uid IN (?, 'w')", (secret,)) == [(0.5,), (0.5,)]
    assert Brain("other", database=database).graph(secret).neighbours == ()


def test_what_a_newer_version_says_of_an_entity_is_kept_and_not_shown(stack: SQLiteStack) -> None:
    space = stack._container.space
    Brain("coder", database=space.database, stack="mine").entity("Ann", "person", properties={"a": 1})
    (row,) = space.records.select("r.kind = 'entity'", ())
    fields = orjson.dumps(
        {**orjson.loads(row["fields"]), "standing": {"sentiment": 0.5, "mood": "good"}}
    ).decode()
    with space.database.write() as execute:
        space.records.update(execute, row["id"], {"fields": fields}, actor="coder")
    (known,) = stack.get_relationships()
    assert (known.entity_name, known.sentiment) == ("Ann", 0.5)
    known.sentiment = -0.5
    stack.save_relationship(known)
    (row,) = space.records.select("r.kind = 'entity'", ())
    assert orjson.loads(row["fields"])["standing"] == {"sentiment": -0.5, "mood": "good"}
