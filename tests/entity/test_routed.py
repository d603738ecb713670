"""A core's memories: routed to the active stack, with their provenance."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import CountingIds, SteeredClock
from sb.entity import Entity
from sb.entity.outcomes import outcome_type
from sb.errors import UsageError
from sb.protocols import VersionConflictError
from sb.protocols.types import MemorySuggestion, Note, SourceType
from tests.entity.list_stack import ListStack
from tests.rows import rows

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
NOW = datetime.fromtimestamp(1_800_000_000, UTC)


@pytest.fixture
def stack() -> ListStack:
    return ListStack("mine")


@pytest.fixture
def core(tmp_path: Path, stack: ListStack, clock: SteeredClock, ids: CountingIds) -> Entity:
    made = Entity("me", tmp_path, clock=clock, ids=ids)
    made.attach_stack(stack)
    return made


WRITES: dict[str, Any] = {
    "episode": lambda core, **more: core.episode("deploy", "it worked", **more),
    "belief": lambda core, **more: core.belief("tea is good", **more),
    "value": lambda core, **more: core.value("care", "we care", **more),
    "goal": lambda core, **more: core.goal("ship it", **more),
    "note": lambda core, **more: core.note("a note", **more),
    "drive": lambda core, **more: core.drive("growth", **more),
    "relationship": lambda core, **more: core.relationship("Ada", **more),
}


@pytest.mark.parametrize("kind", WRITES)
def test_every_memory_says_where_it_comes_from(core: Entity, stack: ListStack, kind: str) -> None:
    uid = WRITES[kind](core)
    plain = stack.get_memory(kind, uid)
    assert plain is not None
    assert UUID.fullmatch(uid)
    assert (plain.id, plain.stack_id, plain.created_at) == (uid, "mine", NOW)
    assert (plain.source_entity, plain.source_type) == ("core:me", "direct_experience")
    assert (plain.derived_from, plain.context, plain.context_tags) == (None, None, None)


@pytest.mark.parametrize("kind", WRITES)
def test_what_is_said_of_its_origin_is_kept_as_it_is_said(core: Entity, stack: ListStack, kind: str) -> None:
    uid = WRITES[kind](
        core,
        source="plugin:mail",
        source_type=" Inference ",
        derived_from=["episode:e1", "raw:r1"],
        context="work",
        context_tags=["q3"],
    )
    memory = stack.get_memory(kind, uid)
    assert memory is not None
    assert (memory.source_entity, memory.source_type) == ("plugin:mail", "inference")
    assert type(memory.source_type) is str
    assert memory.derived_from == ["episode:e1", "raw:r1"]
    assert (memory.context, memory.context_tags) == ("work", ["q3"])


@pytest.mark.parametrize("kind", WRITES)
def test_a_source_type_is_a_word_or_member_and_nothing_else(
    core: Entity, stack: ListStack, kind: str
) -> None:
    for wrong in ("processed", "", "user", 7):
        with pytest.raises(
            ValueError, match=r"source_type is .*, must be one of agent-written, consolidation"
        ):
            WRITES[kind](core, source_type=wrong)
    assert stack.kept == {}
    uid = WRITES[kind](core, source_type=SourceType.OBSERVATION)
    memory = stack.get_memory(kind, uid)
    assert memory is not None
    assert memory.source_type == "observation"
    memory = stack.get_memory(kind, WRITES[kind](core, source_type="tool-output"))
    assert memory is not None
    assert memory.source_type == "tool-output"


def test_ids_are_never_given_twice(tmp_path: Path, stack: ListStack) -> None:
    core = Entity("me", tmp_path)
    core.attach_stack(stack)
    assert len({core.note(f"{number}") for number in range(500)}) == 500


def test_an_episode_keeps_all_that_is_told_of_it(core: Entity, stack: ListStack) -> None:
    uid = core.episode(
        "Deploy to production",
        "Successful with zero downtime",
        lessons=["Blue-green deploys work well"],
        repeat=["announce it"],
        avoid=["Fridays"],
        tags=["deployment"],
    )
    (episode,) = stack.get_episodes()
    assert (episode.id, episode.objective, episode.outcome) == (
        uid,
        "Deploy to production",
        "Successful with zero downtime",
    )
    assert (episode.lessons, episode.repeat, episode.avoid, episode.tags, episode.outcome_type) == (
        ["Blue-green deploys work well"],
        ["announce it"],
        ["Fridays"],
        ["deployment"],
        "success",
    )


@rows(
    "outcome, kind",
    [
        ("Successful with zero downtime", "success"),
        ("All checks passed, shipped on Monday", "success"),
        ("no errors", "success"),
        ("It never crashed", "success"),
        ("without a failure", "success"),
        ("the rollout failed", "failure"),
        ("It did not work", "failure"),
        ("it doesn't work", "failure"),
        ("UNSUCCESSFUL", "failure"),
        ("rolled back after an outage", "failure"),
        ("deployed, but one region failed", "partial"),
        ("partly migrated", "partial"),
        ("the meeting was on Tuesday", "unknown"),
        ("a bug in the errorlog viewer", "unknown"),
        ("", "unknown"),
    ],
)
def test_whether_an_episode_ended_well_is_read_from_its_outcome(outcome: str, kind: str) -> None:
    assert outcome_type(outcome) == kind


@given(st.text())
def test_any_outcome_has_a_type(outcome: str) -> None:
    assert outcome_type(outcome) in {"success", "failure", "partial", "unknown"}


def test_a_note_is_kept_word_for_word_and_for_good_if_that_is_asked(core: Entity, stack: ListStack) -> None:
    content = "  **Decision**: use SQLite\n> because "
    core.note(content, type="Decision", speaker="Ada", reason="one file", tags=["db"], protect=True)
    (note,) = stack.get_notes()
    assert (note.content, note.note_type, note.speaker, note.reason) == (
        content,
        "decision",
        "Ada",
        "one file",
    )
    assert (note.tags, note.is_protected) == (["db"], True)
    core.note("another")
    assert not stack.get_notes()[0].is_protected


def test_what_makes_somebody_who_they_are_is_protected(core: Entity, stack: ListStack) -> None:
    core.belief("passing", confidence=0.4)
    core.belief("deep", foundational=True)
    assert [belief.is_protected for belief in stack.get_beliefs()] == [True, False]
    core.value("care", "we care", priority=90)
    core.value("tabs", "we use tabs", type="preference", context_tags=["style"])
    core.value("tests", "we test", type="preference", foundational=True)
    tests, tabs, care = stack.get_values()
    assert (care.priority, care.is_protected, care.context_tags) == (90, True, None)
    assert (tabs.is_protected, tabs.context_tags) == (False, ["style", "value_type:preference"])
    assert tests.is_protected
    for kind in ("task", "exploration", "aspiration", "commitment"):
        core.goal(kind, goal_type=kind, description="so", priority="high")
    assert [(goal.goal_type, goal.is_protected) for goal in reversed(stack.get_goals())] == [
        ("task", False),
        ("exploration", False),
        ("aspiration", True),
        ("commitment", True),
    ]
    assert (stack.get_goals()[0].description, stack.get_goals()[0].priority) == ("so", "high")


@rows(
    "operation",
    [
        lambda core: core.belief("a", type="rumour"),
        lambda core: core.checkpoint(5),
        lambda core: core.belief("a", confidence=float("nan")),
        lambda core: core.belief("a", confidence="high"),
        lambda core: core.belief("a", confidence=True),
        lambda core: core.note("a", type="poem"),
        lambda core: core.goal("a", goal_type="dream"),
        lambda core: core.value("a", "b", type=" "),
        lambda core: core.drive("hunger"),
        lambda core: core.drive("growth", intensity=float("nan")),
        lambda core: core.relationship("Ada", trust_level="much"),
        lambda core: core.trust_set("Ada", "code", 1.01),
        lambda core: core.trust_set("Ada", "code", -0.1),
        lambda core: core.trust_set("Ada", "code", float("nan")),
        lambda core: core.trust_set("Ada", "code", True),
        lambda core: core.trust_set("Ada", " ", 0.5),
        lambda core: core.trust_set("", "code", 0.5),
        lambda core: core.trust_set(None, "code", 0.5),
        lambda core: core.trust_list(min_score="high"),
        lambda core: core.episode("a", None),
        lambda core: core.episode("a", "b", source=5),
        lambda core: core.value("a", "b", type=None),
        lambda core: core.drive("growth", source=["somebody"]),
        lambda core: core.relationship(None),
        lambda core: core.relationship(" "),
        lambda core: core.belief("a", derived_from=["sb:pre-v0.9"]),
        lambda core: core.relationship("Ada", derived_from=["kernle:pre-v0.9"]),
        lambda core: core.belief("a", derived_from=[5]),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    core: Entity, stack: ListStack, operation: Any
) -> None:
    with pytest.raises(ValueError, match=r"must be|must not be empty|reserved for migrated"):
        operation(core)
    assert stack.kept == {}


@given(st.floats(allow_nan=False) | st.integers(10**400, 10**401))
def test_numbers_beyond_their_range_count_as_its_end(number: float) -> None:
    core, stack = Entity("me"), ListStack("mine")
    core.attach_stack(stack)
    core.belief("a", confidence=number)
    core.drive("growth", intensity=number)
    core.relationship("Ada", trust_level=number)
    share = min(max(number, 0), 1)
    (belief,), (drive,), (relationship,) = stack.get_beliefs(), stack.get_drives(), stack.get_relationships()
    assert (belief.confidence, drive.intensity) == (share, share)
    assert relationship.sentiment == 2 * share - 1


def test_raw_entries_say_who_captured_them_and_when(core: Entity, stack: ListStack) -> None:
    uid = core.raw("as it came")
    core.raw("of a mail", source="mail:inbox")
    mail, own = stack.get_raw()
    assert (own.id, own.blob, own.source, own.captured_at) == (uid, "as it came", "core:me", NOW)
    assert mail.source == "mail:inbox"


def test_the_id_is_the_one_that_the_stack_gave(core: Entity, stack: ListStack) -> None:
    class Careful(ListStack):
        def save_note(self, note: Note) -> str:
            suggested = MemorySuggestion("s1", "careful", "note", {"content": note.content}, 0.0, [])
            return f"suggestion:{self.save_suggestion(suggested)}"

    core.attach_stack(Careful("careful"))
    assert core.note("worked on") == "suggestion:s1"


def test_a_drive_is_made_once_and_then_changed(core: Entity, stack: ListStack, clock: SteeredClock) -> None:
    uid = core.drive("Growth", focus_areas=["rust"], context="work", derived_from=["belief:b"])
    (made,) = stack.get_drives()
    assert (made.intensity, made.version, made.updated_at) == (0.5, 1, NOW)
    core.drive("growth", intensity=0.9)
    clock.sleep(60)
    assert core.drive("growth", focus_areas=["go"], source_type="inference") == uid
    (drive,) = stack.get_drives()
    assert (drive.intensity, drive.focus_areas, drive.version, drive.created_at) == (0.9, ["go"], 3, NOW)
    assert drive.updated_at is not None
    assert (drive.updated_at - NOW).total_seconds() == 60
    assert (drive.context, drive.derived_from, drive.source_entity, drive.source_type) == (
        "work",
        ["belief:b"],
        "core:me",
        "inference",
    )


def test_a_relationship_is_made_once_and_counts_how_often_it_came_up(
    core: Entity, stack: ListStack, clock: SteeredClock
) -> None:
    uid = core.relationship("Ada", trust_level=0.75, notes="likes tea")
    (made,) = stack.get_relationships()
    assert (made.sentiment, made.interaction_count, made.last_interaction) == (0.5, 1, NOW)
    assert (made.entity_name, made.entity_type, made.relationship_type) == ("Ada", "person", "interaction")
    clock.sleep(60)
    assert core.relationship("Ada", interaction_type="mentor", entity_type="agent") == uid
    (known,) = stack.get_relationships()
    assert (known.sentiment, known.notes, known.interaction_count, known.version) == (0.5, "likes tea", 2, 2)
    assert (known.relationship_type, known.entity_type, known.created_at) == ("mentor", "agent", NOW)
    assert known.last_interaction is not None
    assert (known.last_interaction - NOW).total_seconds() == 60


@pytest.mark.parametrize("kind", ["drive", "relationship"])
def test_who_changed_it_first_is_not_overwritten(core: Entity, stack: ListStack, kind: str) -> None:
    uid = WRITES[kind](core)

    def somebody_else() -> None:
        vars(stack.kept[kind][uid]).update(version=5, context="theirs")

    stack.on_update = somebody_else
    with pytest.raises(VersionConflictError) as caught:
        WRITES[kind](core, context="mine")
    assert (caught.value.expected_version, caught.value.actual_version) == (1, 5)
    assert stack.kept[kind][uid].context == "theirs"


@pytest.mark.parametrize("kind", ["drive", "relationship"])
def test_what_went_away_meanwhile_is_made_again(core: Entity, stack: ListStack, kind: str) -> None:
    first = WRITES[kind](core)
    stack.on_update = lambda: stack.kept[kind].pop(first)
    second = WRITES[kind](core, context="again")
    assert second != first
    assert [(item.id, item.context) for item in stack.kept[kind].values()] == [(second, "again")]


def test_trust_in_one_domain_leaves_the_others(core: Entity, stack: ListStack, clock: SteeredClock) -> None:
    uid = core.trust_set("Ada", "code", 0.9, evidence="e1")
    clock.sleep(60)
    assert core.trust_set("Ada", "cooking", 0.2, evidence="e2") == uid
    core.trust_set("Ada", "code", 0.8, evidence="e1")
    core.trust_set("Bob", "code", 0.4)
    (ada,) = core.trust_get("Ada")
    assert ada.dimensions == {"code": {"score": 0.8}, "cooking": {"score": 0.2}}
    assert (ada.evidence_episode_ids, ada.created_at) == (["e1", "e2"], NOW)
    assert ada.last_updated is not None
    assert ada.last_updated > NOW
    assert core.trust_get("Ada", domain="chess") == []
    assert core.trust_get("Bob")[0].evidence_episode_ids is None


def test_trust_is_listed_by_domain_and_score(core: Entity) -> None:
    core.trust_set("Ada", "code", 0.9)
    core.trust_set("Ada", "cooking", 0.2)
    core.trust_set("Bob", "cooking", 0.7)

    def names(**wanted: Any) -> set[str]:
        return {assessment.entity for assessment in core.trust_list(**wanted)}

    assert names() == names(domain="cooking") == names(min_score=0.7) == {"Ada", "Bob"}
    assert names(domain="code") == names(min_score=0.8) == {"Ada"}
    assert names(domain="cooking", min_score=0.7) == {"Bob"}
    assert names(domain="chess", min_score=0) == set()


def test_single_memories_are_taken_care_of_through_the_core(core: Entity, stack: ListStack) -> None:
    uid = core.note("private")
    assert core.forget("note", uid, "asked to")
    assert stack.get_notes() == []
    assert core.recover("note", uid)
    assert core.protect("note", uid)
    assert stack.get_notes()[0].is_protected
    assert core.protect("note", uid, protected=False)
    assert not stack.get_notes()[0].is_protected
    assert not core.forget("note", "no-such", "asked to")
    for beyond in (
        lambda: core.weaken("note", uid, 0.1),
        lambda: core.verify("note", uid),
        lambda: core.get_memories_derived_from("note", uid),
        core.get_ungrounded_memories,
    ):
        with pytest.raises(UsageError, match="a ListStack cannot do that with single memories"):
            beyond()


@pytest.mark.parametrize("source", ["sb:suggestion-promotion", "kernle:doctor"])
def test_nobody_writes_through_a_core_as_the_system(core: Entity, source: str) -> None:
    with pytest.raises(ValueError, match="reserved for SecondBrain"):
        core.belief("it is so because I say so", source=source)
    assert core.active_stack is not None
    assert core.active_stack.get_beliefs() == []
