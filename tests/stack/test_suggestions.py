"""A suggestion becomes a memory when it is accepted, with its source, in one step; otherwise it is settled, and stays readable."""

from __future__ import annotations

import contextlib
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SteeredClock
from sb.protocols import MaintenanceModeError
from sb.protocols.types import Belief, Drive, Episode, MemorySuggestion, RawEntry, Value
from sb.stack import SQLiteStack
from sb.store.database import open_database
from sb.store.records.rows import to_moment


def suggest(stack: SQLiteStack, memory_type: str, content: dict[str, Any], **more: Any) -> str:
    sources = more.pop("sources", ["r"])
    uid = more.pop("uid", "")
    return stack.save_suggestion(
        MemorySuggestion(
            uid, stack.stack_id, memory_type, content, more.pop("confidence", 0.6), sources, **more
        )
    )


@pytest.fixture
def owned(owned: SQLiteStack) -> SQLiteStack:
    owned.save_raw(RawEntry("r", "mine", "the deploy broke again"))
    return owned


CONTENTS: dict[str, dict[str, Any]] = {
    "episode": {"objective": "deploy the API", "outcome": "it broke"},
    "belief": {"statement": "deploys break on Fridays"},
    "note": {"content": "ask Ada about deploys"},
    "goal": {"title": "deploy without breaking"},
    "value": {"name": "calm", "statement": "no deploys on Fridays"},
    "relationship": {"entity_name": "Ada"},
    "drive": {"drive_type": "growth"},
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "episode": {"outcome_type": "unknown", "tags": ["auto-suggested"]},
    "belief": {"belief_type": "fact", "confidence": 0.7},
    "note": {"note_type": "note"},
    "goal": {"goal_type": "task", "priority": "medium"},
    "value": {"priority": 50},
    "relationship": {"entity_type": "unknown"},
    "drive": {"intensity": 0.5},
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_what_is_accepted_becomes_a_memory_that_says_where_it_came_from(
    owned: SQLiteStack, kind: str
) -> None:
    suggested = suggest(owned, kind, CONTENTS[kind], sources=["r", "raw:r", "context:cli"])
    made = owned.accept_suggestion(suggested)
    assert made is not None
    memory = owned.get_memory(kind, made)
    assert memory is not None
    assert {name: getattr(memory, name) for name in CONTENTS[kind] | DEFAULTS[kind]} == (
        CONTENTS[kind] | DEFAULTS[kind]
    )
    assert (memory.source_type, memory.source_entity) == ("processing", "sb:suggestion-promotion")
    assert memory.derived_from == ["raw:r", "context:cli"]
    settled = owned.get_suggestion(suggested)
    assert settled is not None
    assert (settled.status, settled.promoted_to) == ("promoted", f"{kind}:{made}")
    assert settled.resolved_at is not None
    (raw,) = owned.get_raw()
    assert (raw.processed, raw.processed_into) == (True, [f"{kind}:{made}"])
    assert owned.accept_suggestion(suggested) is None
    assert owned.dismiss_suggestion(suggested) is False


def test_modifications_are_what_is_made(owned: SQLiteStack) -> None:
    suggested = suggest(owned, "belief", {"statement": "deploys break", "belief_type": "pattern"})
    made = owned.accept_suggestion(suggested, {"statement": "deploys break on Fridays", "confidence": 0.9})
    assert made is not None
    belief = owned.get_memory("belief", made)
    assert belief is not None
    assert (belief.statement, belief.belief_type, belief.confidence) == (
        "deploys break on Fridays",
        "pattern",
        0.9,
    )
    settled = owned.get_suggestion(suggested)
    assert settled is not None
    assert (settled.status, settled.resolution_reason) == ("promoted", "with other confidence, statement")


@pytest.mark.parametrize(
    ("kind", "content", "modifications", "match"),
    [
        ("playbook", {"name": "deploy"}, None, "Unsupported memory type"),
        ("belief", {}, None, "has no statement"),
        ("belief", {"statement": "deploys break"}, {"confidence": 7}, "confidence"),
        ("belief", {"statement": "deploys break"}, {"colour": "red"}, "colour"),
        ("belief", {"statement": "deploys break"}, {"source_entity": "core:me"}, "source_entity"),
        ("note", {"content": "ask Ada"}, {"note_type": "song"}, "note_type"),
    ],
)
def test_what_cannot_be_made_is_refused_and_stays_pending(
    owned: SQLiteStack, kind: str, content: dict[str, Any], modifications: Any, match: str
) -> None:
    suggested = suggest(owned, kind, content)
    with pytest.raises(ValueError, match=match):
        owned.accept_suggestion(suggested, modifications)
    assert [suggestion.status for suggestion in owned.get_suggestions()] == ["pending"]
    assert owned.get_raw()[0].processed is False
    assert owned.get_beliefs() == []


def test_nothing_is_half_accepted(owned: SQLiteStack) -> None:
    """A failure after the memory was written takes it back."""
    suggested = suggest(owned, "belief", {"statement": "deploys break on Fridays"})
    with contextlib.closing(open_database(owned.path)) as database, database.write() as execute:
        execute(
            "CREATE TRIGGER failing BEFORE UPDATE ON records WHEN old.kind = 'suggestion'"
            " BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
    with pytest.raises(ValueError, match="disk"):
        owned.accept_suggestion(suggested)
    assert owned.get_beliefs() == []
    assert [suggestion.status for suggestion in owned.get_suggestions()] == ["pending"]
    assert owned.get_raw()[0].processed is False


def test_of_many_who_accept_at_once_one_does(tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    suggested = suggest(SQLiteStack("s", path, components=[]), "note", {"content": "ask Ada"}, sources=[])
    gate, made = threading.Barrier(6), list[str | None]()

    def accept() -> None:
        with SQLiteStack("s", path, components=[]) as mine:
            gate.wait()
            made.append(mine.accept_suggestion(suggested))

    threads = [threading.Thread(target=accept) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    (winner,) = [item for item in made if item is not None]
    assert [note.id for note in SQLiteStack("s", path, components=[]).get_notes()] == [winner]


def test_what_is_unknown_is_neither_accepted_nor_dismissed(stack: SQLiteStack) -> None:
    assert stack.get_suggestion("none") is None
    assert stack.accept_suggestion("none") is None
    assert stack.dismiss_suggestion("none") is False


def test_what_is_dismissed_says_why(stack: SQLiteStack) -> None:
    suggested = suggest(stack, "note", {"content": "ask Ada"})
    assert stack.dismiss_suggestion(suggested, "she left") is True
    settled = stack.get_suggestion(suggested)
    assert settled is not None
    assert (settled.status, settled.resolution_reason) == ("dismissed", "she left")
    assert stack.accept_suggestion(suggested) is None


def test_suggestions_are_listed_by_every_filter_newest_first(stack: SQLiteStack, clock: SteeredClock) -> None:
    now = to_moment(clock.now())
    assert now is not None
    for number, kind in enumerate(("note", "belief", "note")):
        suggest(
            stack, kind, {"content": "x"}, uid=f"s{number}", confidence=0.3 * number,
            sources=[f"r{number}"], created_at=now - timedelta(hours=10 * (2 - number)),
        )  # fmt: skip
    stack.dismiss_suggestion("s0")

    def listed(**filters: Any) -> list[str]:
        return [suggestion.id for suggestion in stack.get_suggestions(**filters)]

    assert listed() == ["s2", "s1", "s0"]
    assert listed(limit=1) == ["s2"]
    assert listed(status="pending") == ["s2", "s1"]
    assert listed(memory_type="note") == ["s2", "s0"]
    assert listed(min_confidence=0.3) == ["s2", "s1"]
    assert listed(max_age_hours=10) == ["s2", "s1"]
    assert listed(source_raw_id="r1") == ["s1"]
    assert listed(source_raw_id="r") == []
    for wrong in (
        {"status": "lost"}, {"memory_type": "song"}, {"min_confidence": 2}, {"max_age_hours": -1}, {"limit": -1},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(wrong))):
            listed(**wrong)
    assert stack.expire_suggestions(max_age_hours=5) == ["s1"]
    assert listed(status="expired") == ["s1"]


def test_nothing_is_settled_during_maintenance(owned: SQLiteStack) -> None:
    suggested = suggest(owned, "note", {"content": "ask Ada"})
    owned.enter_maintenance()
    for refused in (owned.accept_suggestion, owned.dismiss_suggestion):
        with pytest.raises(MaintenanceModeError):
            refused(suggested)


class TestWording:
    @pytest.mark.parametrize(
        "statement",
        [
            "short",
            "belief: tests are good",
            "TODO write this down",
            "..............",
            "aaaaaaaaaaaaaa",
            "worked on the billing service",
            "deploys break because of the",
            "x y" * 1000,
        ],
    )
    def test_what_says_nothing_becomes_a_rejected_suggestion(
        self, owned: SQLiteStack, statement: str
    ) -> None:
        reference = owned.save_belief(Belief("b", "mine", statement, source_entity="sb:test"))
        assert reference.startswith("suggestion:")
        value = owned.save_value(Value("v", "mine", "fine name", statement, source_entity="sb:test"))
        assert value.startswith("suggestion:")
        assert owned.get_beliefs() == []
        rejected = owned.get_suggestion(reference.removeprefix("suggestion:"))
        assert rejected is not None
        assert (rejected.status, rejected.memory_type, rejected.confidence) == ("rejected", "belief", 0.0)
        assert rejected.content["statement"] == statement
        assert (rejected.resolution_reason or "").startswith("lint_failed: statement")
        assert [result.memory_id for result in owned.search(statement)] in ([], ["r"])

    def test_of_a_batch_each_is_looked_at(self, owned: SQLiteStack) -> None:
        beliefs = [
            Belief("b1", "mine", "deploys break on Fridays", source_entity="sb:test"),
            Belief("b2", "mine", "TODO", source_entity="sb:test"),
        ]
        first, second = owned.save_beliefs_batch(beliefs)
        assert first == "b1"
        assert second.startswith("suggestion:")
        assert [belief.id for belief in owned.get_beliefs()] == ["b1"]

    def test_a_stack_of_nobody_takes_everything(self, stack: SQLiteStack) -> None:
        assert stack.save_belief(Belief("b", "mine", "TODO")) == "b"

    def test_what_says_nothing_is_not_accepted_either(self, owned: SQLiteStack) -> None:
        suggested = suggest(owned, "belief", {"statement": "TODO"})
        assert owned.accept_suggestion(suggested) is None
        assert [suggestion.status for suggestion in owned.get_suggestions()] == ["pending"]
        assert owned.accept_suggestion(suggested, {"statement": "deploys break on Fridays"}) is not None

    def test_what_is_empty_is_an_error_as_ever(self, owned: SQLiteStack) -> None:
        with pytest.raises(ValueError, match="empty"):
            owned.save_belief(Belief("b", "mine", " ", source_entity="sb:test"))


def test_an_accepted_drive_is_the_one_of_its_type(owned: SQLiteStack) -> None:
    owned.save_episode(Episode("e", "mine", "learn", "learned", derived_from=["raw:r"]))
    owned.save_drive(Drive("d", "mine", "growth", intensity=0.2, derived_from=["episode:e"]))
    suggested = suggest(owned, "drive", {"drive_type": "growth", "intensity": 0.9})
    assert owned.accept_suggestion(suggested) == "d"
    drive = owned.get_drive("growth")
    assert drive is not None
    assert drive.intensity == 0.9


def test_what_is_accepted_is_about_whom_its_source_is_about_and_for_its_readers(owned: SQLiteStack) -> None:
    people: dict[str, Any] = {"subject_ids": ["grace"], "access_grants": ["hr"]}
    owned.save_episode(Episode("e", "mine", "call Grace", "she agreed", derived_from=["raw:r"], **people))
    accepted = owned.accept_suggestion(suggest(owned, "belief", CONTENTS["belief"], sources=["episode:e"]))
    row = owned._container.space.records.find(accepted or "")
    assert row is not None
    belief = owned._container.space.record(row)
    assert (belief.subject_ids, belief.access_grants) == (["grace"], ["hr"])
