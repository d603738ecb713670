"""The one list of conflicts: between copies and between memories, found, shown and resolved by one call."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.errors import NotFoundError
from sb.memory import Brain
from sb.memory.operator_view import Overseer
from sb.stack.all_conflicts import AllConflicts
from tests.stack.copies import Copy


def actor() -> str:
    return "grace"


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A stack whose note says something else in another copy, beside two memories that contradict each other."""
    local, other = Copy(tmp_path / "local.db"), Copy(tmp_path / "other.db")
    uid = local.note("deploy on Mondays")
    local.with_remote(other).sync()
    local.edit(uid, content="deploy on Wednesdays")
    other.edit(uid, content="deploy on Fridays")
    assert local.with_remote(other).sync().conflicts == 1
    for agent, month in (("ada", "May"), ("eve", "June")):
        Brain(agent, database=local.database, config=local.config).remember(f"The deadline is in {month}")
    return local


def test_conflicts_of_both_kinds_are_listed_shown_and_resolved_by_their_ids(copy: Copy) -> None:
    person = Overseer(database=copy.database, config=copy.config)
    every = AllConflicts(person, lambda name: copy.stack)
    of_memories, of_copies = every.listed()
    assert (of_memories.kind, of_copies.kind) == ("belief", "sync")
    assert every.get(of_copies.id).sides[0].content == "deploy on Wednesdays"
    assert every.resolve(of_copies.id, "remote", "agreed", actor) is None
    resolved = every.resolve(of_memories.id, of_memories.sides[0].id, "asked", actor)
    assert resolved is not None
    assert resolved.status == "resolved"
    assert every.listed() == []
    assert [note.content for note in copy.stack.get_notes()] == ["deploy on Fridays"]


def test_a_conflict_of_copies_that_are_not_looked_at_is_not_there(copy: Copy) -> None:
    person = Overseer(database=copy.database, config=copy.config)
    (_, of_copies) = AllConflicts(person, lambda name: copy.stack).listed()
    others = AllConflicts(person, lambda name: copy.stack, ("another",))
    assert [item.kind for item in others.listed()] == ["belief"]
    with pytest.raises(NotFoundError, match="no conflict"):
        others.resolve(of_copies.id, "remote", "agreed", actor)
