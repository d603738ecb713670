"""A process may be killed anywhere while it synchronises, and both sides may do it at once: nothing is lost or half there."""

from __future__ import annotations

import os
import shutil
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.stack.sync import exchange, feed
from sb.store import database as store
from sb.store.database import database_files
from tests.stack.copies import Copy
from tests.stack.test_sync_names import meet, rename

NOTES = 7
MOST = 100  # transactions of one synchronisation


def in_child(action: Callable[[], object]) -> int:
    """Run something in a process of its own; how that ended."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except BaseException:  # noqa: BLE001 - the child must not go on as a second test run
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return pid


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def prepared(folder: Path) -> None:
    """Two copies with something of everything to take and to give, in more than one transaction."""
    local, other = Copy(folder / "one.db"), Copy(folder / "other.db", ahead_s=50_000)
    shared = [local.note(f"shared {number}", tags=["old"]) for number in range(5)]
    meet(local, "Bob")
    local.with_remote(other).sync()
    rename(local, "Bob", "Robert")
    meet(local, "Bob")
    meet(other, "Ann")
    rename(other, "Ann", "Anna")
    meet(other, "Ann")
    for number in range(NOTES):
        local.note(f"from one {number}")
        other.note(f"from other {number}")
    local.edit(shared[0], content="one side only")
    local.edit(shared[1], tags=["merged"])
    other.edit(shared[1], reason="merged")
    local.edit(shared[2], content="conflict here")
    other.edit(shared[2], content="conflict there")
    local.erase(shared[3])
    other.erase(shared[4])
    for copy in (local, other):
        copy.database.rewrite()
        copy.close()


def texts(copy: Copy) -> dict[str, Any]:
    return {uid: item and next(iter(item["text"].values())) for uid, item in copy.state().items()}


def die_at(transaction: int, when: str) -> None:
    """Let this process be killed before, or after, it commits its so-manieth transaction."""
    done = 0
    leave = store._Write.__exit__

    def leaving(self: Any, *error: Any) -> None:
        nonlocal done
        done += 1
        if done == transaction and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        leave(self, *error)
        if done == transaction:
            os.kill(os.getpid(), signal.SIGKILL)

    store._Write.__exit__ = leaving  # type: ignore[method-assign]


def synchronise(folder: Path, transaction: int = 0, when: str = "") -> None:
    monkey = pytest.MonkeyPatch()  # of a process that ends with this
    for module in (exchange, feed):
        monkey.setattr(module, "AT_ONCE", 4)
    copy, other = Copy(folder / "one.db"), Copy(folder / "other.db")
    stack = copy.with_remote(other)
    die_at(transaction, when)
    stack.sync()


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_around_any_commit_it_goes_on_and_ends_as_if_nothing_had_happened(
    tmp_path: Path, when: str
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    prepared(base)
    whole = tmp_path / "whole"
    shutil.copytree(base, whole)
    assert ended(in_child(lambda: synchronise(whole))) == 0
    local, other = Copy(whole / "one.db"), Copy(whole / "other.db")
    wanted = texts(local), texts(other)
    local.close()
    other.close()
    # After one commit the files are what they are before the next, which the other case has all of.
    for transaction in range(1, MOST, 1 if when == "before" else 3):
        folder = tmp_path / str(transaction)
        shutil.copytree(base, folder)
        code = ended(in_child(lambda at=transaction, to=folder: synchronise(to, at, when)))  # type: ignore[misc]
        local, other = Copy(folder / "one.db"), Copy(folder / "other.db")
        for copy, final in zip((local, other), wanted, strict=True):
            assert copy.database.query("PRAGMA integrity_check") == [("ok",)]
            assert texts(copy).keys() <= final.keys()
        local.with_remote(other).sync()
        assert (texts(local), texts(other)) == wanted
        assert [len(copy.stack.conflicts()) for copy in (local, other)] == [1, 0]
        assert local.with_remote(other).sync().pulled == 0
        local.close()
        other.close()
        shutil.rmtree(folder)
        if code == 0:
            assert transaction > 10  # it really was killed so often
            return
        assert code == -signal.SIGKILL
    raise AssertionError("it never came to an end")


def test_both_sides_at_once_while_both_write_lose_nothing(tmp_path: Path) -> None:
    paths = [tmp_path / "one.db", tmp_path / "other.db"]
    for path in paths:
        Copy(path).close()

    def works(here: Path, there: Path) -> None:
        copy = Copy(here)
        stack = copy.opened(there)
        for number in range(12):
            copy.note(f"{here.name} {number}")
            assert stack.sync().errors == []

    children = [in_child(lambda a=a, b=b: works(a, b)) for a, b in (paths, reversed(paths))]  # type: ignore[misc]
    assert [ended(pid) for pid in children] == [0, 0]
    local, other = (Copy(path) for path in paths)
    local.with_remote(other).sync()
    assert local.state() == other.state()
    notes = set(texts(local).values())
    assert notes == {f"{path.name} {number}" for path in paths for number in range(12)}
    assert local.stack.conflicts() == other.stack.conflicts() == []
    local.close()
    other.close()


@pytest.mark.parametrize("killed", range(4))
def test_one_side_killed_at_some_moment_while_the_other_goes_on(tmp_path: Path, killed: int) -> None:
    paths = [tmp_path / "one.db", tmp_path / "other.db"]
    for path in paths:
        Copy(path).close()

    def works(here: Path, there: Path, rounds: int, transaction: int) -> None:
        copy = Copy(here)
        stack = copy.opened(there)
        die_at(transaction, "before")
        for number in range(rounds):
            copy.note(f"{here.name} {number}")
            stack.sync()

    first = in_child(lambda: works(paths[0], paths[1], 10, 0))
    second = in_child(lambda: works(paths[1], paths[0], 10, 20 + 9 * killed))
    assert (ended(first), ended(second)) == (0, -signal.SIGKILL)
    local, other = (Copy(path) for path in paths)
    mine = set(texts(other).values())
    local.with_remote(other).sync()
    assert local.state() == other.state()
    assert mine | {f"one.db {number}" for number in range(10)} == set(texts(local).values())
    for copy in (local, other):
        copy.close()


def test_a_file_that_vanishes_between_two_synchronisations_is_offline(tmp_path: Path) -> None:
    copy, other = Copy(tmp_path / "one.db"), Copy(tmp_path / "other.db")
    copy.note("first")
    stack = copy.with_remote(other)
    stack.sync()
    other.close()
    for path in database_files(other.path):
        path.unlink(missing_ok=True)
    copy.note("second")
    assert not stack.is_online()
    assert stack.sync().errors
    assert stack.get_pending_sync_count() == 1
    copy.close()
