"""Changes of both sides are merged where that is safe; else both versions stay until somebody chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sb.errors import NotFoundError
from sb.memory.record_writer import RecordWriter
from sb.protocols import SyncResult
from sb.protocols.types import Drive, Trigger
from sb.stack import SQLiteStack
from sb.stack.sync.conflicts import Keep
from sb.store.records.places import Place
from tests.stack.copies import Copy


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Copy, Copy]]:
    """Two copies of which the first one's clock is far behind."""
    copy, other = Copy(tmp_path / "one.db", ahead_s=-1_000_000), Copy(tmp_path / "other.db")
    yield copy, other
    copy.close()
    other.close()


@pytest.fixture
def torn(pair: tuple[Copy, Copy]) -> str:
    """A note that says something else on each side; its id."""
    copy, other = pair
    uid = copy.note("as it was", tags=["old"])
    copy.with_remote(other).sync()
    copy.edit(uid, content="as it is here", tags=["here"])
    other.edit(uid, content="as it is there")
    return uid


def test_changes_of_different_parts_are_merged_on_both_sides_and_noted(pair: tuple[Copy, Copy]) -> None:
    local, other = pair
    uid = local.note("a note")
    stack = local.with_remote(other)
    stack.sync()
    local.edit(uid, tags=["here"])
    other.edit(uid, reason="there")
    assert stack.sync() == SyncResult(pushed=1, pulled=1)
    for copy in pair:
        assert (copy.read(uid).tags, copy.read(uid).reason) == (["here"], "there")
    row = local.space.records.find(uid)
    assert row is not None
    last = local.space.records.history(row["id"])[-1]
    assert (last["operation"], last["reason"].split(" from ")[0]) == ("merge", "fields.reason")


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (lambda copy, uid: copy.edit(uid, content="new"), lambda copy, uid: copy.edit(uid, confidence=0.1)),
        (
            lambda copy, uid: copy.stack.forget_memory("note", uid, "noise"),
            lambda copy, uid: copy.edit(uid, content="new"),
        ),
    ],
    ids=["sure of the former text", "forgotten and edited"],
)
def test_what_was_said_of_the_former_text_is_not_merged_with_a_new_one(
    pair: tuple[Copy, Copy], here: Callable[[Copy, str], Any], there: Callable[[Copy, str], Any]
) -> None:
    local, other = pair
    uid = local.note("a note")
    stack = local.with_remote(other)
    stack.sync()
    here(local, uid)
    there(other, uid)
    before = [copy.state() for copy in pair]
    assert stack.sync() == SyncResult(conflicts=1)
    assert [copy.state() for copy in pair] == before


def test_the_same_change_on_both_sides_is_none(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    uid = copy.note("a note")
    stack = copy.with_remote(other)
    stack.sync()
    copy.edit(uid, content="the same")
    other.edit(uid, content="the same")
    assert stack.sync().conflicts == 0
    other.edit(uid, content="and on")
    assert stack.sync() == SyncResult(pulled=1)


def test_a_conflict_shows_both_versions_and_changes_neither(pair: tuple[Copy, Copy], torn: str) -> None:
    local, other = pair
    before = [copy.state() for copy in pair]
    stack = local.with_remote(other)
    for _ in range(2):
        assert stack.sync() == SyncResult(conflicts=1)
    assert [copy.state() for copy in pair] == before
    (conflict,) = stack.conflicts()
    assert (conflict.table, conflict.record_id, conflict.resolution) == ("note", torn, "")
    assert (conflict.local_summary, conflict.cloud_summary) == ("as it is here", "as it is there")
    assert conflict.local_version["tags"] == ["here"]
    assert conflict.cloud_version["tags"] == ["old"]
    assert conflict.differing == ["tags", "text"]


def test_nothing_stays_of_a_version_that_became_a_memory_of_its_own_and_was_erased(
    pair: tuple[Copy, Copy], torn: str
) -> None:
    copy, other = pair
    stack = copy.with_remote(other)
    stack.sync()
    (conflict,) = stack.conflicts()
    stack.resolve_conflict(conflict.id, "both", "both are right")
    (made,) = (uid for uid, item in copy.state().items() if item and uid != torn)
    assert copy.read(made).content == "as it is there"
    copy.erase(made)
    assert b"as it is there" not in copy.path.read_bytes()


def test_what_only_a_brain_has_is_listed_too_and_resolved(pair: tuple[Copy, Copy]) -> None:
    local, other = pair
    trigger = Trigger(precondition="a release fails", action="ask Ann")
    record_writer = RecordWriter(local.space, "coder")
    [(row, _)] = record_writer.pairs([trigger])
    with local.database.write() as execute:
        row["place"] = local.space.places.make(execute, Place("mine"))
        record_writer.keep(execute, [(row, trigger)])
    local.with_remote(other).sync()
    for copy, status in zip(pair, ("fired", "retired"), strict=True):
        now = copy.space.records.find(row["uid"])
        assert now is not None
        with copy.database.write() as execute:
            copy.space.records.update(execute, now["id"], {"category": status}, actor="coder")
    stack = local.with_remote(other)
    assert stack.sync().conflicts == 1
    (conflict,) = stack.conflicts()
    assert (conflict.table, conflict.differing) == ("trigger", ["category"])
    assert (conflict.local_version["status"], conflict.cloud_version["status"]) == ("fired", "retired")
    stack.resolve_conflict(conflict.id, "remote", "it is over")
    assert stack.sync().conflicts == 0
    assert local.state() == other.state()


def test_synced_trigger_is_armed_on_both_sides_until_one_ends_it(pair: tuple[Copy, Copy]) -> None:
    local, other = pair
    trigger = Trigger(precondition="a release fails", action="ask Ann")
    record_writer = RecordWriter(local.space, "coder")
    [(row, _)] = record_writer.pairs([trigger])
    with local.database.write() as execute:
        row["place"] = local.space.places.make(execute, Place("mine"))
        record_writer.keep(execute, [(row, trigger)])
    local.with_remote(other).sync()
    armed = [copy.database.query("SELECT count(*) FROM triggers")[0][0] for copy in pair]
    assert armed == [1, 1]
    now = other.space.records.find(row["uid"])
    assert now is not None
    with other.database.write() as execute:
        other.space.records.update(execute, now["id"], {"category": "fired"}, actor="coder")
    local.with_remote(other).sync()
    assert [copy.database.query("SELECT count(*) FROM triggers")[0][0] for copy in pair] == [0, 0]


def test_a_conflict_holds_up_nothing_else(pair: tuple[Copy, Copy], torn: str) -> None:
    copy, other = pair
    here, there = copy.note("new here"), other.note("new there")
    assert copy.with_remote(other).sync() == SyncResult(pushed=1, pulled=1, conflicts=1)
    assert copy.read(there)
    assert other.read(here)


@pytest.mark.parametrize(
    ("keep", "texts"),
    [
        ("local", ["as it is here"]),
        ("remote", ["as it is there"]),
        ("both", ["as it is here", "as it is there"]),
    ],
)
def test_what_somebody_chooses_holds_on_both_sides(
    pair: tuple[Copy, Copy], torn: str, keep: Any, texts: list[str]
) -> None:
    local, other = pair
    stack = local.with_remote(other)
    stack.sync()
    (conflict,) = stack.conflicts()
    settled = stack.resolve_conflict(conflict.id, keep, "I was there")
    assert (settled.resolution, stack.conflicts()) == (keep, [])
    assert stack.sync().conflicts == 0
    for copy in pair:
        assert sorted(note.content for note in copy.stack.get_notes()) == texts
        assert copy.read(torn).content in texts
    assert local.state() == other.state()
    assert stack.sync() == SyncResult()


def test_a_choice_on_one_side_closes_the_conflict_on_the_other(pair: tuple[Copy, Copy], torn: str) -> None:
    copy, other = pair
    here, there = copy.with_remote(other), other.with_remote(copy)
    here.sync()
    there.sync()
    assert len(here.conflicts()) == len(there.conflicts()) == 1
    here.resolve_conflict(here.conflicts()[0].id, "local", "I was there")
    here.sync()
    assert there.conflicts() == []
    assert other.read(torn).content == "as it is here"
    assert there.sync() == SyncResult()


def test_different_choices_on_both_sides_are_a_conflict_again(pair: tuple[Copy, Copy], torn: str) -> None:
    copy, other = pair
    here, there = copy.with_remote(other), other.with_remote(copy)
    here.sync()
    there.sync()
    for stack in (here, there):
        stack.resolve_conflict(stack.conflicts()[0].id, "local", "mine")
    assert here.sync().conflicts == 1
    assert (copy.read(torn).content, other.read(torn).content) == ("as it is here", "as it is there")


def test_a_choice_is_made_of_what_there_is_by_then(pair: tuple[Copy, Copy], torn: str) -> None:
    copy, other = pair
    stack = copy.with_remote(other)
    stack.sync()
    other.edit(torn, content="as it is there by now")
    stack.sync()
    (conflict,) = stack.conflicts()
    assert conflict.cloud_summary == "as it is there by now"
    stack.resolve_conflict(conflict.id, "remote", "later")
    other.edit(torn, content="and once more")
    stack.sync()
    (again,) = stack.conflicts()
    assert again.cloud_summary == "and once more"


def test_erasing_leaves_nothing_of_a_conflict(pair: tuple[Copy, Copy], torn: str) -> None:
    local, other = pair
    stack = local.with_remote(other)
    stack.sync()
    other.erase(torn)
    stack.sync()
    assert stack.conflicts() == []
    for copy in pair:
        assert b"as it is" not in copy.path.read_bytes()


def test_a_choice_needs_a_conflict_a_reason_and_one_of_three_words(
    pair: tuple[Copy, Copy], torn: str
) -> None:
    stack = pair[0].with_remote(pair[1])
    stack.sync()
    (conflict,) = stack.conflicts()
    with pytest.raises(NotFoundError):
        stack.resolve_conflict("con_none", "local", "why")
    with pytest.raises(ValueError, match="reason"):
        stack.resolve_conflict(conflict.id, "local", " ")
    with pytest.raises(ValueError, match="must be one of"):
        stack.resolve_conflict(conflict.id, "mine", "why")  # type: ignore[arg-type]
    stack.resolve_conflict(conflict.id, "local", "why")
    with pytest.raises(NotFoundError):
        stack.resolve_conflict(conflict.id, "local", "why")


@pytest.mark.parametrize(("keep", "intensity"), [("local", 0.1), ("remote", 0.9)])
def test_two_memories_of_one_name_are_a_conflict_and_one_of_them_gives_the_name_up(
    pair: tuple[Copy, Copy], keep: Any, intensity: float
) -> None:
    local, other = pair
    mine = local.stack.save_drive(Drive("", "mine", "growth", intensity=0.1))
    theirs = other.stack.save_drive(Drive("", "mine", "growth", intensity=0.9))
    stack = local.with_remote(other)
    assert stack.sync().conflicts == 1
    (conflict,) = stack.conflicts()
    assert (conflict.local_version["intensity"], conflict.cloud_version["intensity"]) == (0.1, 0.9)
    with pytest.raises(ValueError, match="only one drive"):
        stack.resolve_conflict(conflict.id, "both", "why not")
    stack.resolve_conflict(conflict.id, keep, "it is stronger")
    assert stack.sync().conflicts == 0
    for copy in pair:
        drive = copy.stack.get_drive("growth")
        assert drive is not None
        assert (drive.id, drive.intensity) == (mine if keep == "local" else theirs, intensity)
        assert len(copy.stack.get_drives()) == 1
        assert copy.state().keys() == {mine, theirs}
    assert local.state() == other.state()
    assert stack.sync() == SyncResult()


def test_a_conflict_is_shown_and_settled_only_where_its_memory_is_in_view(
    pair: tuple[Copy, Copy], torn: str
) -> None:
    copy, other = pair
    copy.with_remote(other).sync()
    (conflict,) = copy.stack.conflicts()
    with SQLiteStack("another", database=copy.database, components=[]) as another:
        assert another.conflicts() == []
        with pytest.raises(NotFoundError):
            another.resolve_conflict(conflict.id, "remote", "it is newer")
    with copy.database.write() as execute:
        execute("UPDATE places SET owner = 'somebody' WHERE stack = 'mine'")
    with SQLiteStack("mine", copy.path, components=[]) as nobodys:
        assert nobodys.conflicts() == []
    with SQLiteStack("mine", copy.path, components=[], read_only=True) as theirs:
        theirs.on_attach("somebody")
        assert [found.id for found in theirs.conflicts()] == [conflict.id]


@pytest.mark.parametrize("keep", ["local", "remote", "both"])
def test_the_history_says_who_resolved_a_conflict_when_and_why(
    pair: tuple[Copy, Copy], torn: str, keep: Keep
) -> None:
    copy, other = pair
    stack = copy.with_remote(other)
    stack.sync()
    (conflict,) = stack.conflicts()
    copy.clock.time += 60
    stack.resolve_conflict(conflict.id, keep, "I was there", actor="ada")
    row = copy.space.records.find(torn)
    assert row is not None
    last = copy.space.records.history(row["id"])[-1]
    assert [last[name] for name in ("actor", "operation", "reason", "at")] == [
        "ada",
        f"keep {keep}",
        "I was there",
        copy.clock.time,
    ]
    stack.sync()
    assert stack.conflicts() == []
    assert stack.get_pending_sync_count() == 0, "a choice that changes nothing is nothing to send"
