"""A stack in two databases: what is new in one comes to be in the other, as it was, once, and nothing else."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sb.errors import MaintenanceModeError, StoreReadOnly, UsageError
from sb.memory import Brain
from sb.protocols import SyncResult
from sb.protocols.types import Belief, Episode, Note, Relationship
from sb.stack import SQLiteStack
from tests.stack.copies import Copy, pair
from tests.stack.copies import home as configured

__all__ = ["pair"]


def test_without_a_remote_nothing_happens_and_what_would_go_is_counted(stack: SQLiteStack) -> None:
    stack.save_note(Note("", "mine", "alone"))
    assert stack.sync() == SyncResult()
    assert stack.pull_changes() == SyncResult()
    assert stack.get_pending_sync_count() == 1
    assert not stack.is_online()


def test_a_remote_that_is_not_there_is_offline_and_nothing_is_lost(tmp_path: Path) -> None:
    missing = tmp_path / "stick" / "mine.db"
    with SQLiteStack("mine", tmp_path / "mine.db", remote=missing, components=[]) as stack:
        stack.save_note(Note("", "mine", "for later"))
        result = stack.sync()
        assert not stack.is_online()
        assert result.errors[0].startswith("Offline: no database at")
        assert stack.get_pending_sync_count() == 1
    assert not missing.parent.exists()


def test_what_is_new_on_either_side_comes_to_be_on_both(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    here = copy.note("said here", tags=["a"], reason="because")
    there = other.note("said there")
    stack = copy.with_remote(other)
    assert (stack.get_pending_sync_count(), stack.is_online()) == (1, True)
    result = stack.sync()
    assert (result.pushed, result.pulled, result.conflicts, result.errors) == (1, 1, 0, [])
    assert copy.state() == other.state()
    assert (other.read(here).content, other.read(here).created_at) == (
        "said here",
        copy.read(here).created_at,
    )
    assert copy.read(there).content == "said there"
    assert stack.get_pending_sync_count() == 0


def test_what_came_counts_as_no_change_and_a_second_time_does_nothing(pair: tuple[Copy, Copy]) -> None:
    local, other = pair
    uid = other.note("said there")
    stack = local.with_remote(other)
    stack.sync()
    versions = [copy.read(uid).version for copy in pair]
    for back in (other.with_remote(local), stack, stack):
        assert back.get_pending_sync_count() == 0 or back is not stack
        assert back.sync() == SyncResult()
        assert back.get_pending_sync_count() == 0
    assert [copy.read(uid).version for copy in pair] == versions
    assert local.database.query("SELECT operation FROM record_history") == [("sync",)]


def test_every_kind_goes_over_whole_with_its_relations(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    brain = Brain("coder", database=copy.database, config=copy.config, stack="mine", session="ses_1")
    limit = brain.remember("100 requests in 15 s", tags=["ä"], speaker="Bob\tX")
    brain.decide("use Retry-After", "the server knows best", derived_from=[limit], confidence=0.9)
    brain.entity("RateLimitAPI", "service", observations=["100/15s"], properties={"n": {"a": [1, 2.5]}})
    brain.relate(limit, "about", "RateLimitAPI", weight=0.5)
    first = copy.stack.save_episode(Episode("", "mine", "a", "b\0c", lessons=["d"], emotional_valence=-0.5))
    belief = Belief("", "mine", "e", derived_from=[f"episode:{first}"], confidence=0.3, is_active=False)
    copy.stack.save_belief(belief)
    long_ago = datetime(1066, 10, 14, 12, 0, 0, 5, tzinfo=UTC)
    copy.stack.save_relationship(Relationship("", "mine", "Ann", "person", "friend", created_at=long_ago))
    copy.with_remote(other).sync()
    assert copy.state() == other.state()
    assert copy.edges() == other.edges() != set()
    assert other.stack.get_relationship("Ann").created_at == long_ago  # type: ignore[union-attr]
    session = "SELECT name, agent, scope, started_at FROM memory_sessions"
    assert copy.database.query(session) == other.database.query(session) != []
    found = Brain("coder", database=other.database, config=other.config, stack="mine").search("requests")
    assert found[0].id == limit


def test_a_relation_to_what_comes_later_is_not_lost(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    first = copy.note("first")
    for number in range(250):  # more than goes in one transaction
        copy.note(f"note {number}")
    copy.edit(first, derived_from=[])
    last = copy.note("last")
    brain = Brain("coder", database=copy.database, config=copy.config, stack="mine")
    brain.relate(first, "leads to", last)
    assert copy.with_remote(other).sync().pushed == 252
    assert (first, "leads to", last) in other.edges()
    brain.relate(last, "comes from", first)
    assert copy.with_remote(other).get_pending_sync_count() == 1
    other.with_remote(copy).sync()
    assert other.edges() == copy.edges()


def test_a_relation_that_weighs_more_goes_over_with_its_weight(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    first, last = copy.note("first"), copy.note("last")
    brain = Brain("coder", database=copy.database, config=copy.config, stack="mine")
    stack = copy.with_remote(other)
    weights = "SELECT weight FROM edges"
    for weight in (0.2, 0.9):
        brain.relate(first, "leads to", last, weight=weight)
        assert stack.get_pending_sync_count() > 0
        stack.sync()
        assert other.database.query(weights) == [(weight,)]
    brain.relate(first, "leads to", last, weight=0.5)
    assert stack.get_pending_sync_count() == 0
    assert stack.sync() == SyncResult()


def test_a_relation_that_came_after_an_erased_one_is_not_taken_for_it(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    first, gone, last = copy.note("first"), copy.note("gone"), copy.note("last")
    brain = Brain("coder", database=copy.database, config=copy.config, stack="mine")
    brain.relate(first, "leads to", gone)
    copy.with_remote(other).sync()
    copy.erase(gone)
    brain.relate(first, "leads to", last)
    copy.with_remote(other).sync()
    assert copy.edges() == other.edges() == {(first, "leads to", last)}


def test_an_edit_goes_over_and_only_what_it_says(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    uid = copy.note("as it was", tags=["kept"])
    stack = copy.with_remote(other)
    stack.sync()
    other.edit(uid, content="as it is")
    assert stack.sync().pulled == 1
    assert (copy.read(uid).content, copy.read(uid).tags) == ("as it is", ["kept"])


def test_an_edit_that_was_taken_back_goes_over_too(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    uid = copy.note("a")
    stack = copy.with_remote(other)
    for text in ("b", "a"):
        stack.sync()
        copy.edit(uid, content=text)
    stack.sync()
    assert (copy.read(uid).content, other.read(uid).content) == ("a", "a")


def test_what_fades_is_no_change_but_what_a_person_does_with_it_is(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    uid = copy.note("fades")
    stack = copy.with_remote(other)
    stack.sync()
    row = copy.space.records.find(uid)
    assert row is not None
    with copy.database.write() as execute:
        copy.space.records.strengthen(execute, row["id"], 0.6, "active")
    assert stack.get_pending_sync_count() == 0
    copy.edit(uid, tags=["x"])
    stack.sync()
    assert (copy.read(uid).strength, other.read(uid).strength) == (0.6, 1.0)
    copy.stack.forget_memory("note", uid, "noise")
    stack.sync()
    assert other.read(uid).strength == 0.0
    other.stack.recover_memory("note", uid)
    stack.sync()
    assert copy.read(uid).strength == 0.2


@pytest.mark.parametrize("eraser", [0, 1])
def test_what_is_erased_is_erased_in_the_other_file_too(pair: tuple[Copy, Copy], eraser: int) -> None:
    local, other = pair
    uid = local.note("the password is xyzzy-quux")
    stack = local.with_remote(other)
    stack.sync()
    pair[eraser].erase(uid)
    result = stack.sync()
    assert result.pushed + result.pulled == 1
    for copy in pair:
        assert copy.read(uid) is None
        assert b"xyzzy" not in copy.path.read_bytes()
        assert copy.stack.get_pending_sync_count() == 0
    events = other.database.query("SELECT payload FROM events WHERE kind = 'memory.erased'")
    assert "grace" in str(events)
    assert stack.sync() == SyncResult()


@pytest.mark.parametrize("syncing", [0, 1])
def test_what_was_erased_before_the_first_synchronisation_is_erased_there_too(
    tmp_path: Path, syncing: int
) -> None:
    copy = Copy(tmp_path / "one.db")
    uid = copy.note("the password is xyzzy-quux")
    copy.database.rewrite()
    shutil.copy(copy.path, tmp_path / "other.db")
    other = Copy(tmp_path / "other.db")
    copy.erase(uid)
    pair = (copy, other)
    pair[syncing].with_remote(pair[1 - syncing]).sync()
    assert copy.state() == other.state() == {uid: None}
    assert b"xyzzy" not in other.path.read_bytes()
    copy.close()
    other.close()


def test_erasing_wins_over_an_edit_elsewhere(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    uid = copy.note("to be gone")
    stack = copy.with_remote(other)
    stack.sync()
    copy.erase(uid)
    other.edit(uid, content="to be gone, edited")
    stack.sync()
    assert (copy.read(uid), other.read(uid)) == (None, None)
    assert b"to be gone" not in other.path.read_bytes()


def test_what_is_kept_for_oneself_goes_only_with_ones_own_core(tmp_path: Path) -> None:
    copy, other = Copy(tmp_path / "one.db"), Copy(tmp_path / "other.db")
    brain = Brain("coder", database=copy.database, config=copy.config, stack="mine")
    uid = brain.remember("of coder alone", private=True)
    assert copy.with_remote(other).get_pending_sync_count() == 0
    assert copy.with_remote(other).sync() == SyncResult()
    shared = brain.remember("of everybody")
    brain.relate(shared, "is known from", uid)
    assert copy.with_remote(other).sync().pushed == 1
    assert other.documents()[shared]["relations"] == []
    copy.cores = ("tester",)
    assert copy.with_remote(other).sync() == SyncResult()
    copy.cores = ("coder",)
    assert copy.with_remote(other).sync().pushed == 1
    assert other.state().keys() == {uid, shared}
    assert other.documents()[shared]["relations"] == []  # it is told with the one that is kept for oneself
    assert copy.edges() == other.edges() == {(shared, "is known from", uid)}
    seen = "SELECT p.owner FROM edges AS e JOIN places AS p ON p.id = e.place"
    assert copy.database.query(seen) == other.database.query(seen) == [("coder",)]
    copy.close()
    other.close()


def test_only_the_scopes_that_are_set_go_and_others_follow_once_they_are(
    pair: tuple[Copy, Copy], home: Path
) -> None:
    copy, other = pair
    brain = Brain("coder", database=copy.database, config=copy.config, stack="mine")
    everywhere = brain.remember("global", scope="global")
    shop = brain.remember("of the shop", scope="project:shop")
    copy.config = configured(home, "[global]")
    stack = copy.with_remote(other)
    assert stack.get_pending_sync_count() == 1
    assert stack.sync().pushed == 1
    assert other.state().keys() == {everywhere}
    there = Brain("coder", database=other.database, config=other.config, stack="mine")
    there.remember("of the shop, there", scope="project:shop")
    assert stack.sync().pulled == 0
    copy.config = configured(home, '[global, "project:*"]')
    result = copy.with_remote(other).sync()
    assert (result.pushed, result.pulled) == (1, 1)
    assert shop in other.state()


def test_pull_changes_only_takes_and_may_look_again_at_what_was_there(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    copy.note("here")
    other.note("there")
    stack = copy.with_remote(other)
    assert stack.pull_changes() == SyncResult(pulled=1)
    assert len(other.state()) == 1
    assert stack.get_pending_sync_count() == 1
    assert stack.pull_changes(since=datetime(2020, 1, 1, tzinfo=UTC)) == SyncResult()


def test_another_stack_in_the_same_file_is_not_touched(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    with SQLiteStack("else", database=copy.database, components=[]) as neighbour:
        neighbour.save_note(Note("", "else", "not yours"))
    copy.note("mine")
    copy.with_remote(other).sync()
    assert len(other.state()) == 1


def test_a_copy_of_the_file_is_refused_and_an_older_copy_of_one_side_loses_nothing(
    pair: tuple[Copy, Copy], tmp_path: Path
) -> None:
    copy, other = pair
    uid = copy.note("first")
    stack = copy.with_remote(other)
    stack.sync()
    other.database.rewrite()
    shutil.copy(other.path, tmp_path / "old.db")
    with pytest.raises(UsageError, match="a copy of this database"):
        other.opened(tmp_path / "old.db").sync()
    other.edit(uid, content="second")
    newest = other.note("came later")
    stack.sync()
    old = Copy(tmp_path / "old.db")
    old.edit(uid, tags=["meanwhile"])
    result = copy.with_remote(old).sync()
    assert result.conflicts == 0
    assert copy.state() == old.state()
    assert (old.read(uid).content, old.read(uid).tags) == ("second", ["meanwhile"])
    assert old.read(newest).content == "came later"
    old.close()


def test_a_file_cannot_be_its_own_remote(pair: tuple[Copy, Copy]) -> None:
    with pytest.raises(ValueError, match="own file"):
        pair[0].opened(pair[0].path).sync()


def test_nothing_comes_while_a_stack_is_maintained_or_only_read(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    other.note("there")
    stack = copy.with_remote(other)
    stack.enter_maintenance()
    with pytest.raises(MaintenanceModeError):
        stack.sync()
    with SQLiteStack("mine", copy.path, remote=other.path, components=[], read_only=True) as reader:
        assert reader.get_pending_sync_count() == 0
        with pytest.raises(StoreReadOnly):
            reader.sync()
    assert copy.state() == {}


def test_a_stack_that_is_maintained_over_there_is_left_alone(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    copy.note("here")
    other.note("there")
    other.stack.enter_maintenance()
    result = copy.with_remote(other).sync()
    assert (result.pulled, result.pushed) == (0, 0)
    assert "is in maintenance" in result.errors[0]
    assert len(copy.state()) == len(other.state()) == 1


@pytest.mark.parametrize("syncing", [0, 1])
def test_an_older_copy_that_went_on_elsewhere_is_known_for_one_however_far_it_counted(
    pair: tuple[Copy, Copy], tmp_path: Path, syncing: int
) -> None:
    copy, other = pair
    uid = copy.note("first")
    copy.with_remote(other).sync()
    copy.database.rewrite()
    shutil.copy(copy.path, tmp_path / "old.db")
    for text in ("second", "third"):
        copy.edit(uid, content=text)
        copy.note(f"beside the {text}")
        copy.with_remote(other).sync()
    old = Copy(tmp_path / "old.db")
    old.edit(uid, content="from the older copy")
    for number in range(9):
        old.note(f"new {number}")
    old.stack.export_stack(tmp_path / "stick.db")  # by which all that is counted
    both = (old, other)
    stack = both[syncing].with_remote(both[1 - syncing])
    assert stack.sync().conflicts == 1
    assert len(old.state()) == len(other.state()) == 12
    assert {old.read(uid).content, other.read(uid).content} == {"from the older copy", "third"}
    (conflict,) = stack.conflicts()
    stack.resolve_conflict(conflict.id, "local", "it is newer")
    stack.sync()
    assert old.state() == other.state()
    old.close()


@pytest.mark.parametrize("syncing", [0, 1])
def test_an_older_copy_is_known_for_one_by_whoever_heard_of_it(
    pair: tuple[Copy, Copy], tmp_path: Path, syncing: int
) -> None:
    copy, other = pair
    third = Copy(tmp_path / "third.db")
    uid = copy.note("first")
    copy.with_remote(other).sync()
    copy.database.rewrite()
    shutil.copy(copy.path, tmp_path / "old.db")
    for text in ("second", "third", "fourth"):
        copy.edit(uid, content=text)
        copy.with_remote(other).sync()
    other.with_remote(third).sync()
    old = Copy(tmp_path / "old.db")
    old.edit(uid, content="from the older copy")
    both = (old, third)
    both[syncing].with_remote(both[1 - syncing]).sync()
    assert {old.read(uid).content, third.read(uid).content} == {"from the older copy", "fourth"}
    assert len(both[syncing].stack.conflicts()) == 1
    old.close()
    third.close()


def test_who_synchronised_what_is_on_record(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    copy.note("said here")
    copy.with_remote(other).sync()
    copy.with_remote(other).sync()
    events = copy.database.query("SELECT payload FROM events WHERE kind = 'memory.synced'")
    assert len(events) == 1
    assert '"pushed":1' in events[0][0]


def test_restatement_comes_along_is_found_there_and_can_be_split_there(pair: tuple[Copy, Copy]) -> None:
    local, other = pair

    def brain(copy: Copy) -> Brain:
        return Brain("ada", database=copy.database, config=copy.config, stack="mine", clock=copy.clock)

    memory = brain(local).remember("The large parcels were removed at night.")
    writer = brain(local)
    assert writer.remember("The big parcels were deleted at night, zanzibarically.") == memory
    assert writer.verdict is not None
    local.with_remote(other).sync()
    [hit] = brain(other).search("zanzibarically")
    assert (hit.id, hit.restated) == (memory, ("The big parcels were deleted at night, zanzibarically.",))
    brain(other).split(writer.verdict.restatement, "other parcels")
    other.with_remote(local).sync()
    local.with_remote(other).sync()
    assert [hit.id for hit in brain(local).search("zanzibarically")] == [writer.verdict.restatement]
    assert brain(local).get(memory).restated == ()
