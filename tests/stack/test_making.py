"""Playbooks, epochs, summaries, self-narratives and entity models are made of memories, and fall with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sb.errors import NotFoundError, UsageError
from sb.memory import Brain
from sb.protocols.types import Belief, Drive, Episode, Goal, Note, SelfNarrative, Value
from tests.conftest import CommandLine
from tests.rows import rows
from tests.stack.copies import Copy

OBJECTIVE = "restore the staging database"


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    made = Copy(tmp_path / "one.db")
    yield made
    made.close()


def episode(copy: Copy, outcome: str, outcome_type: str, objective: str = OBJECTIVE, **more: Any) -> str:
    copy.clock.time += 60
    record = Episode("", "mine", objective, outcome, outcome_type, **more)
    return copy.stack.save_episode(record)


def read(copy: Copy, kind: str, uid: str) -> Any:
    """A memory, whatever its kind."""
    return copy.stack.get_memory(kind, uid)


def restored(copy: Copy) -> list[str]:
    return [
        episode(copy, "It was up in an hour.", "success", repeat=["stop the writers", "load the dump"]),
        episode(copy, "The disk was full.", "failure", avoid=["restore to /tmp"], lessons=["check the disk"]),
        episode(
            copy, "It was up at once.", "success", "Restore the staging database!", repeat=["load the dump"]
        ),
        episode(copy, "The page is live.", "success", "publish the page", repeat=["build it"]),
    ]


def test_a_playbook_is_made_of_the_episodes_on_one_objective(copy: Copy) -> None:
    sources = restored(copy)
    (uid,) = copy.stack.make("playbook", OBJECTIVE)
    book = read(copy, "playbook", uid)
    assert book is not None
    assert [step["action"] for step in book.steps] == ["stop the writers", "load the dump"]
    assert book.failure_modes == ["The disk was full.", "restore to /tmp"]
    assert (book.recovery_steps, book.mastery_level) == (["check the disk"], "competent")
    assert (book.times_used, round(book.success_rate, 2)) == (3, 0.67)
    assert book.source_episodes == sources[:3]
    for source in sources[:3]:
        assert copy.stack.get_memories_derived_from("episode", source) == [f"playbook:{uid}"]
    assert copy.stack.get_memories_derived_from("episode", sources[3]) == []


def test_what_is_made_again_takes_the_place_of_the_former_and_is_the_same_each_time(copy: Copy) -> None:
    restored(copy)
    first = copy.stack.make("playbook", OBJECTIVE)
    before = read(copy, "playbook", first[0])
    assert copy.stack.make("playbook", OBJECTIVE.upper()) == first
    again = read(copy, "playbook", first[0])
    assert (again.steps, again.failure_modes) == (before.steps, before.failure_modes)
    episode(copy, "Done in a minute.", "success", repeat=["use the snapshot"])
    assert copy.stack.make("playbook", OBJECTIVE) == first
    assert read(copy, "playbook", first[0]).times_used == 4


def at(copy: Copy, day: str) -> None:
    copy.clock.time = datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


def test_a_summary_holds_what_happened_in_its_period_and_replaces_narrower_ones(copy: Copy) -> None:
    at(copy, "2026-09-30T23:59:00")
    copy.note("September's note")
    at(copy, "2026-10-05T08:00:00")
    copy.note("the till was replaced", tags=["till"])
    episode(copy, "It is faster.", "success", "move the shop", tags=["till"])
    at(copy, "2026-11-02T08:00:00")
    copy.stack.save_belief(Belief("", "mine", "the new till is reliable"))
    (month,) = copy.stack.make("summary", "2026-10")
    (quarter,) = copy.stack.make("summary", "2026-Q4")
    october, whole = (read(copy, "summary", uid) for uid in (month, quarter))
    assert (october.scope, october.period_start, october.period_end) == ("month", "2026-10-01", "2026-11-01")
    assert october.content == "1 episode: move the shop: It is faster.\n1 note: the till was replaced"
    assert october.key_themes == ["till"]
    assert "the new till is reliable" in whole.content
    assert "September" not in whole.content
    assert whole.supersedes == [month]
    assert [item["id"] for item in copy.stack.load()["summaries"]] == [quarter]
    assert copy.stack.make("summary", "2026")[0] != quarter
    assert read(copy, "summary", copy.stack.make("summary", "2020s")[0]).scope == "decade"


def test_an_epoch_ends_the_one_before_and_can_be_summarised(copy: Copy) -> None:
    (first,) = copy.stack.make("epoch", "the old shop")
    copy.clock.time += 60
    belief = copy.stack.save_belief(Belief("", "mine", "customers come on Saturdays"))
    copy.clock.time += 60
    (second,) = copy.stack.make("epoch", "the new shop")
    ended, begun = (read(copy, "epoch", uid) for uid in (first, second))
    assert (ended.name, ended.epoch_number, ended.key_belief_ids) == ("the old shop", 1, [belief])
    assert ended.ended_at is not None
    assert ended.ended_at == begun.started_at
    assert (begun.epoch_number, begun.ended_at) == (2, None)
    summary = read(copy, "summary", copy.stack.make("summary", "the old shop")[0])
    assert (summary.scope, summary.epoch_id) == ("epoch", first)
    assert summary.content == "1 belief: customers come on Saturdays"


def test_a_self_narrative_tells_what_it_is_asked_for(copy: Copy) -> None:
    stack = copy.stack
    stack.save_value(Value("", "mine", "care", "Nothing is deleted without a copy."))
    stack.save_drive(Drive("", "mine", "curiosity", focus_areas=["databases"]))
    stack.save_belief(Belief("", "mine", "I am slow at naming things", belief_scope="self"))
    stack.save_belief(Belief("", "mine", "water is wet"))
    stack.save_goal(Goal("", "mine", "learn Erlang", status="paused"))
    identity, aspirational = (
        read(copy, "self_narrative", stack.make("self_narrative", kind)[0]) for kind in ("", "aspirational")
    )
    assert isinstance(identity, SelfNarrative)
    assert identity.narrative_type == "identity"
    assert identity.content == (
        "Nothing is deleted without a copy.\ncuriosity: databases\nI am slow at naming things"
    )
    assert "learn Erlang: paused" in aspirational.content
    assert aspirational.unresolved_tensions == ["learn Erlang"]


def test_an_entity_model_holds_the_sentences_that_name_it(copy: Copy) -> None:
    copy.note("Grace prefers short calls. The till is new.")
    copy.note("Gracefully, nothing happened.")
    meeting = episode(copy, "grace can sign releases.", "success", "meet Grace")
    found = {
        model.model_type: model
        for model in (read(copy, "entity_model", uid) for uid in copy.stack.make("entity_model", "Grace"))
    }
    assert set(found) == {"preference", "capability"}
    assert found["preference"].observation == "Grace prefers short calls."
    assert found["capability"].source_episodes == [meeting]


@rows(
    "kind, about, error",
    [
        ("note", "x", UsageError),
        ("summary", "last month", UsageError),
        ("summary", "2026-13", UsageError),
        ("summary", "", UsageError),
        ("self_narrative", "boastful", UsageError),
        ("self_narrative", "developmental", UsageError),
        ("summary", "0000", UsageError),
        ("summary", "1999-01", NotFoundError),
        ("playbook", "what nobody tried", NotFoundError),
        ("entity_model", "Nobody", NotFoundError),
        ("self_narrative", "", NotFoundError),
    ],
)
def test_what_cannot_be_made_is_refused_and_nothing_is_saved(
    copy: Copy, kind: str, about: str, error: type[Exception]
) -> None:
    before = copy.database.query("SELECT count(*) FROM records")
    with pytest.raises(error):
        copy.stack.make(kind, about)
    assert copy.database.query("SELECT count(*) FROM records") == before


def test_an_erased_source_is_gone_from_what_was_made_of_it(copy: Copy) -> None:
    secret = copy.note("Grace likes heliotrope")
    copy.note("Grace likes tea")
    made = [*copy.stack.make("entity_model", "Grace"), *copy.stack.make("summary", "2020s")]
    copy.erase(secret)
    for uid in made:
        assert copy.space.records.find(uid)["state"] == "erased"  # type: ignore[index]
    copy.database.query("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"heliotrope" not in copy.path.read_bytes()
    again = copy.stack.make("entity_model", "Grace")
    assert again != made[:1]
    assert read(copy, "entity_model", again[0]).observation == "Grace likes tea"


def test_a_former_text_of_what_was_made_is_erased_with_its_source(copy: Copy) -> None:
    secret = copy.note("Grace likes heliotrope")
    copy.note("Grace likes tea")
    (made,) = copy.stack.make("entity_model", "Grace")
    copy.stack.forget_memory("note", secret, reason="asked for")
    assert copy.stack.make("entity_model", "Grace") == [made]
    assert read(copy, "entity_model", made).observation == "Grace likes tea"
    copy.erase(secret)
    copy.database.query("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"heliotrope" not in copy.path.read_bytes()


def test_what_is_made_of_a_corrected_memory_does_not_bring_it_back(copy: Copy) -> None:
    wrong = copy.note("Grace likes heliotrope")
    (made,) = copy.stack.make("entity_model", "Grace")
    copy.stack.correct_memory("note", wrong, "Grace likes tea", "she said so")
    assert copy.stack.search("heliotrope") == []
    assert copy.space.records.find(made)["state"] == "superseded"  # type: ignore[index]
    (again,) = copy.stack.make("entity_model", "Grace")
    assert again != made
    assert read(copy, "entity_model", again).observation == "Grace likes tea"


def test_what_is_private_or_of_another_scope_is_not_told_elsewhere(copy: Copy) -> None:
    for agent, scope, private in (
        ("ada", "project:a", True),
        ("bob", "project:b", False),
        ("bob", "global", False),
    ):
        Brain(agent, database=copy.database, config=copy.config, stack="mine", clock=copy.clock).remember(
            f"Grace likes {scope}", scope=scope, private=private
        )
    models = copy.stack.make("entity_model", "Grace")  # nobody is attached: private ones are not seen
    texts = [read(copy, "entity_model", uid).observation for uid in models]
    assert sorted(texts) == ["Grace likes global", "Grace likes project:b"]
    places = copy.space.places.of_stack("mine")
    for uid, text in zip(models, texts, strict=True):
        row = copy.space.records.find(uid)
        assert row is not None
        assert text == f"Grace likes {places[row['place']].scope}"


def test_a_summary_of_one_scope_leaves_those_of_another_in_place(copy: Copy) -> None:
    at(copy, "2026-10-05T08:00:00")
    for scope in ("project:a", "project:b"):
        brain = Brain("bob", database=copy.database, config=copy.config, stack="mine", clock=copy.clock)
        brain.remember(f"the till of {scope} is slow", scope=scope)
    months = copy.stack.make("summary", "2026-10")
    quarters = copy.stack.make("summary", "2026-Q4")
    assert len(months) == len(quarters) == 2
    replaced = {read(copy, "summary", uid).content: read(copy, "summary", uid).supersedes for uid in quarters}
    for month in months:
        assert replaced[read(copy, "summary", month).content] == [month]


def test_quarantined_memories_are_in_nothing_that_is_made(copy: Copy) -> None:
    copy.stack.save_note(Note("", "mine", "Grace likes strangers", source_type="web-page"))
    with pytest.raises(NotFoundError):
        copy.stack.make("entity_model", "Grace")


def test_the_command_makes_and_prints(sb: CommandLine) -> None:
    sb("init")
    sb("memory", "remember", "Grace prefers short calls", "--agent", "ada")
    done = sb("stack", "make", "default", "entity_model", "Grace")
    assert done.code == 0
    assert done.out.startswith("Grace prefers short calls (made_")
    (item,) = sb("stack", "make", "default", "entity_model", "Grace", "--json").json["items"]
    assert item["model_type"] == "preference"
    assert sb("stack", "make", "default", "summary", "soon").code == 2
    assert sb("stack", "make", "default", "playbook", "what nobody tried").code == 1
