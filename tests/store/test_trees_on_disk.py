"""Where the tree after a call cannot be stored, the one before it is compared with what is on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sb.base.sources import SYSTEM_CLOCK
from sb.store.pack_file import FOLDER
from sb.store.trees.bounds import Bounds
from sb.store.trees.difference import Difference
from sb.store.trees.git_program import CannotStore, Deadline
from sb.store.trees.on_disk import compare_with_disk
from sb.store.trees.open_calls import OpenCall, StoredTree
from sb.store.trees.store import TreeStore
from tests.store.test_trees import PLENTY_S, compared, project, store_of, trees

__all__ = ["project", "trees"]  # fixtures


def on_disk(trees: TreeStore, before: StoredTree, *, most: int = 100, most_bytes: int = 10_000) -> Difference:
    deadline = Deadline.after(SYSTEM_CLOCK, PLENTY_S)
    git = trees.git_of(before.project)
    return compare_with_disk(git, before, Bounds(most_bytes, most), deadline, lambda path: "", "it is full")


def build(project: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "."], cwd=project, check=True)
    subprocess.run([*git, "commit", "-qm", "one"], cwd=project, check=True)
    subprocess.run(["git", "branch", "topic"], cwd=project, check=True)
    for name, text in {
        "keep/a": "kept",
        "same": "same",
        "mode": "m",
        "own.key": "secret",
        "docs/.Git": "g",
    }.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text)
    (project / "link").symlink_to("same")
    (project / "empty").mkdir()
    (project / "loop").mkdir()
    (project / "loop" / "x").write_text("x")
    subprocess.run(["git", "init", "-q", project / "inner"], check=True)
    (project / "inner" / "i").write_text("i")


def change(project: Path) -> None:
    for name in ("keep", "empty", "loop", "inner"):
        shutil.rmtree(project / name)
    (project / "src" / "a").write_text("two")
    (project / "mode").chmod(0o600)
    (project / "docs" / ".Git").unlink()
    (project / "docs").chmod(0o700)
    (project / "link").unlink()
    (project / "link").symlink_to("elsewhere")
    (project / "loop").symlink_to("loop")
    (project / "own.key").write_text("another")
    subprocess.run(["git", "branch", "-qD", "topic"], cwd=project, check=True)


def test_what_was_removed_or_changed_is_as_a_second_tree_says(trees: TreeStore, project: Path) -> None:
    build(project)
    before = trees.store(str(project), PLENTY_S)
    assert on_disk(trees, before).before == ()
    change(project)
    result, usual = on_disk(trees, before), compared(trees, before)
    expected = {entry.path: (entry, content) for entry, content in usual.before}
    assert {entry.path: (entry, content) for entry, content in result.before} == expected
    assert str(project / ".git" / "refs" / "heads" / "topic") in expected
    assert result.unstored.pop(str(project)) == "keeps what was made in it: it is full"  # type: ignore[attr-defined]
    assert result.unstored == usual.unstored


def test_what_was_made_stays_and_is_no_change(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S)
    (project / "made").mkdir()
    (project / "made" / "x").write_text("x")
    result = on_disk(trees, before)
    assert not result.before
    assert list(result.unstored) == [str(project)]


def test_lost_objects_are_named(trees: TreeStore, project: Path) -> None:
    build(project)
    before = trees.store(str(project), PLENTY_S)
    (project / ".git" / "refs" / "heads" / "topic").unlink()
    for folder in (project / ".git" / "objects").iterdir():
        shutil.rmtree(folder)
    result = on_disk(trees, before)
    assert result.unstored[str(project / ".git" / "objects")].startswith("lost ")


def test_project_that_is_gone_comes_back(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S)
    shutil.rmtree(project)
    found = {entry.path: (entry.kind, content) for entry, content in on_disk(trees, before).before}
    assert found[str(project / "src" / "a")] == ("file", b"one")
    assert found[str(project / "src")][0] == found[str(project)][0] == FOLDER


@pytest.mark.parametrize("by_disk", [True, False])
def test_of_more_than_the_bounds_what_is_gone_comes_first_and_the_rest_is_named(
    trees: TreeStore, project: Path, by_disk: bool
) -> None:
    for number in range(5):
        (project / "src" / str(number)).write_text("before")
    (project / "gone").mkdir()
    (project / "gone" / "x").write_text("x" * 500)
    (project / "large").write_text("l" * 900)
    before = trees.store(str(project), PLENTY_S)
    for number in range(5):
        (project / "src" / str(number)).write_text("after")
    (project / "large").write_text("changed")
    shutil.rmtree(project / "gone")
    if by_disk:
        few, small = on_disk(trees, before, most=3), on_disk(trees, before, most_bytes=600)
    else:
        few, small = compared(trees, before, most=3), compared(trees, before, most_bytes=600)
    found = [entry.path.removeprefix(f"{project}/") for entry, _ in few.before]
    assert found == ["gone", "gone/x", "src/0", "src/1", "src/2"]
    assert {str(project / "large"), str(project / "src" / "4")} <= few.unstored.keys()
    assert str(project / "gone" / "x") in [entry.path for entry, _ in small.before]
    assert small.unstored[str(project / "large")].endswith("(undo.call_max_bytes)")


def test_tree_after_a_call_may_be_more_than_there_is_room_for(tmp_path: Path, project: Path) -> None:
    trees = store_of(tmp_path, cap_bytes=2500)
    before = trees.store(str(project), PLENTY_S)
    trees.begin(OpenCall("k", "run", before), str(project))
    (project / "a").write_text("a" * 900)
    (project / "b").write_text("b" * 900)
    (project / "c").write_text("c" * 900)
    (project / "src" / "a").unlink()
    assert trees.store(str(project), PLENTY_S, after_call=True).parts
    with pytest.raises(CannotStore, match="is full"):  # of another call, while this one waits
        trees.store(str(project), PLENTY_S)
    assert str(project / "src" / "a") in [entry.path for entry, _ in on_disk(trees, before).before]
    for name in "defg":
        (project / name).write_text(name * 900)
    with pytest.raises(CannotStore, match="is full"):
        trees.store(str(project), PLENTY_S, after_call=True)
    assert str(project / "src" / "a") in [entry.path for entry, _ in on_disk(trees, before).before]
    trees.end(str(project), "k")
    assert trees.size().stored == 0
    for name in "abcdefg":
        os.unlink(project / name)
    assert trees.store(str(project), PLENTY_S).parts


def test_call_whose_tree_was_removed_for_room_before_it_began_has_none(tmp_path: Path, project: Path) -> None:
    trees = store_of(tmp_path, cap_bytes=2500)
    trees.begin(OpenCall("k", "run", trees.store(str(project), PLENTY_S)), str(project))
    for number in range(4):
        (project / str(number)).write_text(str(number) * 900)
    tree = trees.store(str(project), PLENTY_S, after_call=True)
    trees.end(str(project), "k")
    with pytest.raises(CannotStore, match="begins anew"):
        trees.begin(OpenCall("other", "run", tree), str(project))
    assert trees.call(str(project), "other") is None
