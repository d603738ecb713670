"""Names that there can be only one of: whoever gives one up, takes it or changes it, all copies end with the same."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.protocols.types import Relationship
from sb.store.database import open_database
from tests.rounds import rounds
from tests.stack.copies import Copy, home, pair

__all__ = ["pair"]

KEEPS = ("local", "remote")
STEP = st.tuples(
    st.sampled_from(["meet", "rename", "sync", "sync", "sync", "resolve", "forget", "erase"]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["Ann", "Bob", "Carl"]),
)


def meet(copy: Copy, name: str, notes: str = "") -> str:
    copy.clock.time += 1
    return copy.stack.save_relationship(Relationship("", "mine", name, "person", "friend", notes=notes))


def rename(copy: Copy, name: str, to: str) -> None:
    copy.clock.time += 1
    known: Any = copy.stack.get_relationship(name)
    known.entity_name = to
    copy.stack.save_relationship(known)


def known(copy: Copy) -> dict[str, str | None]:
    return {relationship.entity_name: relationship.notes for relationship in copy.stack.get_relationships()}


@pytest.mark.parametrize("syncing", [0, 1])
def test_a_name_that_was_given_up_and_given_to_another_goes_over_with_both(
    pair: tuple[Copy, Copy], syncing: int
) -> None:
    copy, other = pair
    meet(copy, "Bob", "the first")
    copy.with_remote(other).sync()
    rename(copy, "Bob", "Robert")
    meet(copy, "Bob", "the second")
    result = pair[syncing].with_remote(pair[1 - syncing]).sync()
    assert (result.pushed + result.pulled, result.conflicts) == (2, 0)
    assert known(copy) == known(other) == {"Robert": "the first", "Bob": "the second"}


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("syncing", [0, 1])
def test_a_name_that_was_changed_to_one_that_is_new_elsewhere_is_a_conflict(
    pair: tuple[Copy, Copy], syncing: int, keep: Any
) -> None:
    copy, other = pair
    meet(copy, "Bob", "renamed")
    copy.with_remote(other).sync()
    rename(copy, "Bob", "Carl")
    meet(other, "Carl", "new")
    here, there = pair[syncing], pair[1 - syncing]
    stack = here.with_remote(there)
    assert stack.sync().conflicts == 1
    before = known(here)
    assert known(there) != before
    (conflict,) = here.stack.conflicts()
    here.stack.resolve_conflict(conflict.id, keep, "they agreed")
    assert stack.sync().conflicts == 0
    assert copy.state() == other.state()
    assert len(copy.state()) == 2
    renamed_holds = (syncing == 0) == (keep == "local")
    assert known(copy)["Carl"] == ("renamed" if renamed_holds else "new")


def test_a_resolution_cannot_give_a_name_that_another_has(pair: tuple[Copy, Copy]) -> None:
    copy, other = pair
    meet(copy, "Bob")
    copy.with_remote(other).sync()
    rename(copy, "Bob", "Robert")
    rename(other, "Bob", "Carl")
    copy.with_remote(other).sync()
    meet(copy, "Carl")
    (conflict,) = copy.stack.conflicts()
    with pytest.raises(ValueError, match="another relationship has that name"):
        copy.stack.resolve_conflict(conflict.id, "remote", "he says so")
    assert set(known(copy)) == {"Robert", "Carl"}


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that nothing was ever kept in."""
    path = tmp_path_factory.mktemp("blank") / "blank.db"
    open_database(path).close()
    return path


def do(copies: list[Copy], step: tuple[str, int, int, str], made: set[str], erased: set[str]) -> None:
    kind, where, which, name = step
    copy, other = copies[where], copies[which]
    if kind == "meet" and name not in known(copy):
        made.add(meet(copy, name))
    elif kind == "rename" and name in known(copy):
        to = ("Ann", "Bob", "Carl")[which]
        if to not in known(copy):
            rename(copy, name, to)
    elif kind == "sync" and other is not copy:
        assert copy.with_remote(other).sync().errors == []
    elif kind == "resolve":
        for conflict in copy.stack.conflicts()[:1]:
            copy.stack.resolve_conflict(conflict.id, KEEPS[which % 2], "as the test says")  # type: ignore[arg-type]
    elif kind in ("forget", "erase") and name in known(copy):
        uid = copy.stack.get_relationship(name).id  # type: ignore[union-attr]
        if kind == "erase":
            copy.erase(uid)
            erased.add(uid)
        else:
            copy.stack.forget_memory("relationship", uid, "noise")


def settle(copies: list[Copy]) -> None:
    """Let all meet, and somebody choose, until nothing is left to be said."""
    for _ in range(10):
        done = 0
        for copy, other in itertools.permutations(copies, 2):
            result = copy.with_remote(other).sync()
            done += result.pulled + result.pushed
            for conflict in copy.stack.conflicts():
                copy.stack.resolve_conflict(conflict.id, "local", "to come to an end")
                done += 1
        if not done:
            return
    raise AssertionError("they do not come to an end")


@pytest.mark.prove
@given(steps=st.lists(STEP, min_size=6, max_size=20))
@settings(max_examples=rounds(25), suppress_health_check=[HealthCheck.too_slow])
def test_all_copies_come_to_know_the_same_names_and_lose_nobody(
    blank: Path, steps: list[tuple[str, int, int, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = home(Path(folder) / "home")
        copies = []
        for number in range(3):
            shutil.copyfile(blank, Path(folder) / f"{number}.db")
            copies.append(Copy(Path(folder) / f"{number}.db", config=config, ahead_s=1000.0 * (number - 1)))
        made: set[str] = set()
        erased: set[str] = set()
        try:
            for step in steps:
                do(copies, step, made, erased)
            settle(copies)
            states = [{uid: item for uid, item in copy.state().items() if item} for copy in copies]
            assert states[0] == states[1] == states[2]
            assert states[0].keys() == made - erased
        finally:
            for copy in copies:
                copy.close()
