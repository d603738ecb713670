"""The stacks of a database: those that were made, and those that hold anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.errors import NotFoundError, UsageError
from sb.memory import Brain
from sb.protocols.types import Episode, RawEntry
from sb.runtime import open_runtime
from sb.stack import SQLiteStack
from sb.stack.catalogue import all_stacks, make_stack, one_stack, require_stack
from sb.store.database import Database, open_database


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(tmp_path / "one.db")


def test_a_stack_is_there_once_something_was_kept_in_it_or_it_was_made(database: Database) -> None:
    assert all_stacks(database) == []
    make_stack(database, "empty")
    stack = SQLiteStack("work", database=database, components=[])
    stack.save_episode(Episode("", "work", "deploy", "it went well"))
    stack.save_raw(RawEntry("", "work", "as it came"))
    empty, work = all_stacks(database)
    assert (empty.stack_id, empty.state, empty.memories, empty.kinds) == ("empty", "initializing", 0, {})
    assert (work.memories, dict(work.kinds)) == (2, {"episode": 1, "raw": 1})


def test_what_a_brain_keeps_counts_as_the_stack_shows_it(database: Database) -> None:
    brain = Brain("ada", database=database)
    brain.remember("the API is versioned")
    brain.decide("use SQLite", "one file is enough")
    brain.handoff("ship it", "half done", [], "test it")
    forgotten = brain.remember("the office is in Bonn")
    brain.forget(forgotten, "it moved")
    entry = one_stack(database, "default")
    assert dict(entry.kinds) == {"belief": 1, "note": 1}, "a handoff is nothing that a stack shows"
    assert (entry.memories, entry.forgotten) == (2, 1)


def test_what_is_private_counts_for_operators_and_for_whom_it_belongs_to(database: Database) -> None:
    brain = Brain("ada", database=database)
    brain.remember("everybody may know")
    brain.remember("mine alone", private=True)
    counts = {core: one_stack(database, "default", core=core) for core in (None, "ada", "bob")}
    assert {core: (stack_entry.memories, stack_entry.private) for core, stack_entry in counts.items()} == {
        None: (2, 1),
        "ada": (2, 1),
        "bob": (1, 0),
    }


def test_what_was_not_granted_counts_for_its_readers_alone(database: Database) -> None:
    brain = Brain("ada", database=database)
    brain.remember("everybody may know")
    brain.remember("Bob may know", access_grants=["bob"])
    brain.remember("Grace has not agreed to this", subject_ids=["grace"], consent_grants=[])
    counts = {core: one_stack(database, "default", core=core).memories for core in (None, "bob", "eve")}
    assert counts == {None: 3, "bob": 2, "eve": 1}


def test_a_slip_of_the_keyboard_makes_no_stack(database: Database) -> None:
    make_stack(database, "work")
    require_stack(database, "work")
    require_stack(database, "default")
    with pytest.raises(NotFoundError, match='did you mean "work"'):
        require_stack(database, "wrok")
    with pytest.raises(NotFoundError):
        one_stack(database, "default")


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "\x1b[31mred", "x" * 201])
def test_what_cannot_be_a_name_makes_no_stack(database: Database, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        make_stack(database, name)
    assert all_stacks(database) == []


def test_a_stack_is_made_once(database: Database) -> None:
    make_stack(database, "work")
    with pytest.raises(UsageError, match="already"):
        make_stack(database, "work")


def test_a_runtime_opens_the_stacks_of_its_database(home: Path) -> None:
    with open_runtime() as runtime:
        brain = runtime.brain("ada")
        fact = brain.remember("the API is versioned")
        assert [belief.id for belief in runtime.stack().get_beliefs()] == [fact]
        assert runtime.stack("work", components=[]).get_beliefs() == []
