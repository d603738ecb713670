"""Trees of projects: what is stored, what is left out, and what happens without room or time."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sb.base.sources import SYSTEM_CLOCK
from sb.store.pack_file import ABSENT, FOLDER
from sb.store.trees import git_program
from sb.store.trees.bounds import Bounds
from sb.store.trees.difference import Comparing, Difference
from sb.store.trees.git_program import CannotStore, Deadline, TooSlow
from sb.store.trees.left_out import LARGE
from sb.store.trees.open_calls import OpenCall, StoredTree
from sb.store.trees.part import Rules
from sb.store.trees.store import TreeStore

PLENTY_S = 60.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a").write_text("one")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


@pytest.fixture
def trees(tmp_path: Path) -> TreeStore:
    return store_of(tmp_path)


def store_of(tmp_path: Path, **limits: Any) -> TreeStore:
    rules = Rules(lambda path: path.endswith(".key"), [str(tmp_path / "shop" / "own")], 1000)
    return TreeStore(tmp_path / "trees", rules, **limits)


def compared(
    trees: TreeStore, before: StoredTree, *, most: int = 100, most_bytes: int = 10_000
) -> Difference:
    after = trees.store(before.project, PLENTY_S)
    deadline = Deadline.after(SYSTEM_CLOCK, PLENTY_S)
    git = trees.git_of(before.project)
    return Comparing(git, before, after, Bounds(most_bytes, most), deadline, lambda path: "").compare()


def test_unchanged_tree_is_equal_and_keeps_its_files(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S)
    files = sorted(trees.folder.rglob("*"))
    assert not compared(trees, before).changed
    assert sorted(trees.folder.rglob("*")) == files


def test_secret_large_and_own_files_are_left_out_and_changes_of_them_named(
    trees: TreeStore, project: Path
) -> None:
    for name in ("tls.key", "big", "own"):
        (project / name).write_text(f"{name} " * 400)
    before = trees.store(str(project), PLENTY_S)
    assert sorted(before.parts[0].left_out) == ["big", "tls.key"]
    for name in ("tls.key", "big", "own", "new.key"):
        (project / name).write_text("changed")
    result = compared(trees, before)
    assert sorted(result.unstored) == [str(project / name) for name in ("big", "new.key", "tls.key")]
    assert result.unstored[str(project / "big")] == LARGE


def test_file_that_grows_too_large_is_named_and_its_former_content_is_known(
    trees: TreeStore, project: Path
) -> None:
    before = trees.store(str(project), PLENTY_S)
    (project / "src" / "a").write_text("x" * 2000)
    ((entry, content),) = compared(trees, before).before
    assert (entry.path, content) == (str(project / "src" / "a"), b"one")


def test_ignored_files_count_only_if_the_repository_tracks_them(trees: TreeStore, project: Path) -> None:
    (project / ".gitignore").write_text("*.log\n/out/\n")
    for name in ("tracked.log", "loose.log"):
        (project / name).write_text(name)
    subprocess.run(["git", "add", "-f", "tracked.log"], cwd=project, check=True)
    before = trees.store(str(project), PLENTY_S)
    for name in ("tracked.log", "loose.log"):
        (project / name).unlink()
    result = compared(trees, before)
    assert [entry.path for entry, _ in result.before] == [str(project / "tracked.log")]


def test_files_that_come_into_view_are_not_taken_for_new_ones(trees: TreeStore, project: Path) -> None:
    (project / ".gitignore").write_text("old/\n")
    (project / "old").mkdir()
    (project / "old" / "a").write_text("a")
    before = trees.store(str(project), PLENTY_S)
    (project / ".gitignore").unlink()
    (project / "old" / "new").write_text("b")
    result = {entry.path: entry.kind for entry, _ in compared(trees, before).before}
    assert result.pop(str(project / ".gitignore")) == "file"
    assert set(result.values()) == {ABSENT}
    assert not {str(project / "old"), str(project / "old" / "a")} & set(result)


def test_empty_folder_that_comes_into_view_is_not_taken_for_a_new_one(
    trees: TreeStore, project: Path
) -> None:
    (project / "build").mkdir()
    (project / ".gitignore").write_text("build/\n")
    before = trees.store(str(project), PLENTY_S)
    (project / ".gitignore").unlink()
    (project / "build" / "made").write_text("x")
    found = {entry.path for entry, _ in compared(trees, before).before}
    assert found == {str(project / ".gitignore"), str(project / "build" / "made")}


def test_modes_of_names_with_newlines_are_those_of_before(trees: TreeStore, project: Path) -> None:
    names = ("a\nb", "plain", "src/\nx\n", "line\nfolder/deep\n/f", "\n")
    for name in names:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name)
        (project / name).chmod(0o640)
    before = trees.store(str(project), PLENTY_S)
    (project / "line\nfolder").chmod(0o700)
    for name in names:
        (project / name).chmod(0o666)
    (project / "new\nfolder").mkdir()
    found = {entry.path: (entry.kind, entry.mode) for entry, _ in compared(trees, before).before}
    assert found.pop(str(project / "line\nfolder"))[0] == "folder"
    assert found.pop(str(project / "new\nfolder"))[0] == ABSENT
    assert found == {str(project / name): ("file", 0o640) for name in names}


def test_folder_that_became_a_link_can_be_stored(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S)
    (project / "src").rename(project / "moved")
    (project / "src").symlink_to("moved")
    found = {entry.path: entry.kind for entry, _ in compared(trees, before).before}
    assert found[str(project / "src")] == "folder"
    assert found[str(project / "moved")] == ABSENT
    again = trees.store(str(project), PLENTY_S)
    assert not compared(trees, again).changed


def test_file_that_is_a_moment_old_may_become_a_folder(trees: TreeStore, project: Path) -> None:
    (project / "plan").write_text("first")
    before = trees.store(str(project), PLENTY_S)
    (project / "plan").unlink()
    (project / "plan" / "x").mkdir(parents=True)
    (project / "plan" / "x" / "y").write_text("second")
    found = {entry.path: content for entry, content in compared(trees, before).before}
    assert found[str(project / "plan")] == b"first"


def test_more_new_files_than_the_bounds_stay(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S)
    (project / "made").mkdir()
    for number in range(6):
        (project / "made" / str(number)).write_text("new")
    (project / "src" / "a").write_text("two")
    (project / "small").mkdir()
    (project / "src" / "b").write_text("new")
    result = compared(trees, before, most=5)
    assert [str(project / name) for name in ("small", "src/a", "src/b")] == [e.path for e, _ in result.before]
    assert result.unstored == {str(project / "made"): "has 6 new paths in it: too many to undo"}


def test_store_without_time_or_room_leaves_the_former_tree(tmp_path: Path, project: Path) -> None:
    trees = store_of(tmp_path, cap_bytes=500)
    with pytest.raises(TooSlow):
        trees.store(str(project), 0.0)
    trees.store(str(project), PLENTY_S)
    (project / "more").write_text("x" * 600)
    with pytest.raises(CannotStore, match="begins anew"):
        trees.store(str(project), PLENTY_S)
    with pytest.raises(CannotStore, match="begins anew"):  # alone it has no room either
        trees.store(str(project), PLENTY_S)
    with pytest.raises(CannotStore, match="more than 500 B"):
        trees.store(str(project), PLENTY_S)


def test_process_that_was_killed_leaves_no_lock(trees: TreeStore, project: Path) -> None:
    trees.store(str(project), PLENTY_S)
    (index,) = trees.folder.glob("*/part-*.index")
    index.with_name(f"{index.name}.lock").touch()
    (project / "src" / "a").write_text("two")
    assert trees.store(str(project), PLENTY_S).parts[0].tree


def test_disk_that_takes_nothing_is_a_reason_and_no_failure(tmp_path: Path, project: Path) -> None:
    (tmp_path / "trees").write_text("a file where the folder should be")
    with pytest.raises(CannotStore, match="the tree cannot be stored"):
        store_of(tmp_path).store(str(project), PLENTY_S)


def test_damaged_store_is_a_reason(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S)
    for path in trees.folder.glob("*/git/objects/??/*"):
        path.chmod(0o600)
        path.write_bytes(b"damaged")
    (project / "src" / "a").write_text("two")
    with pytest.raises(CannotStore):
        compared(trees, before)


def test_calls_keep_their_trees_until_they_end_and_purging_removes_all(
    trees: TreeStore, project: Path
) -> None:
    name = str(project)
    tree = trees.store(name, PLENTY_S)
    trees.begin(OpenCall("k1", "run", tree, "", ("k0",)), name)
    call = trees.call(name, "k1")
    assert call is not None
    assert call.tree is not None
    assert call._replace(tree=None) == OpenCall("k1", "run", None, "", ("k0",))
    assert [part.tree for part in call.tree.parts] == [part.tree for part in tree.parts]
    assert trees.project_of("k1") == name
    trees.end(name, "k1")
    assert trees.call(name, "k1") is None
    assert trees.size().projects == 1
    assert trees.purge()[0] == 1
    assert trees.size().projects == 0


def test_git_that_anybody_can_replace_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o777)
    monkeypatch.setattr(git_program, "_PROGRAMS", (str(program),))
    git_program.git_path.cache_clear()
    try:
        assert git_program.git_path() == ""
        with pytest.raises(CannotStore, match="no git of the system"):
            store_of(tmp_path).store(str(tmp_path), PLENTY_S)
    finally:
        git_program.git_path.cache_clear()


def test_files_that_gits_index_refuses_are_stored_beside_it(trees: TreeStore, project: Path) -> None:
    texts = {
        "q/.Git/cfg": "k",
        "docs/.GIT": "a file",
        "git~1/x": "y",
        "v/.git": "gitdir: /none",
        "w/.git/deep/z": "z",
    }
    for name, text in {**texts, "v/f": "f", "w/f": "f", "q/.Git/new\nline": "n"}.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / "q" / ".GIT").symlink_to("away")
    (project / ".gitmodules").symlink_to("elsewhere")
    (project / "w" / ".git" / "empty").mkdir(mode=0o700)
    before = trees.store(str(project), PLENTY_S)
    assert not compared(trees, before).changed
    for name in ("q", "docs", "git~1", "v", "w"):
        shutil.rmtree(project / name)
    (project / ".gitmodules").unlink()
    result = compared(trees, before)
    found = {entry.path: (entry.kind, entry.target or content.decode()) for entry, content in result.before}
    assert {name: found[str(project / name)][1] for name in texts} == texts
    assert found[str(project / "q" / ".Git" / "new\nline")] == ("file", "n")
    assert found[str(project / "q" / ".GIT")] == ("link", "away")
    assert found[str(project / ".gitmodules")] == ("link", "elsewhere")
    assert found[str(project / "w" / ".git" / "empty")][0] == "folder"
    assert not result.unstored


def test_refused_file_that_is_changed_made_or_may_not_be_stored(trees: TreeStore, project: Path) -> None:
    (project / "q" / ".Git").mkdir(parents=True)
    for name in ("a", "tls.key"):
        (project / "q" / ".Git" / name).write_text("first")
    before = trees.store(str(project), PLENTY_S)
    for name in ("a", "made", "tls.key"):
        (project / "q" / ".Git" / name).write_text("second")
    result = compared(trees, before)
    found = {entry.path: content for entry, content in result.before}
    assert found == {str(project / "q" / ".Git" / "a"): b"first", str(project / "q" / ".Git" / "made"): b""}
    assert list(result.unstored) == [str(project / "q" / ".Git" / "tls.key")]


def test_more_refused_files_than_are_stored_are_named(
    trees: TreeStore, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sb.store.trees.part.MOST_REFUSED", 1)
    (project / ".Git").mkdir()
    for name in ("a", "b"):
        (project / ".Git" / name).write_text(name)
    before = trees.store(str(project), PLENTY_S)
    shutil.rmtree(project / ".Git")
    assert len(compared(trees, before).unstored) == 1


def test_repository_that_a_call_made_in_an_empty_folder_is_taken_out(trees: TreeStore, project: Path) -> None:
    (project / "void").mkdir()
    before = trees.store(str(project), PLENTY_S)
    subprocess.run(["git", "init", "-q", project / "void"], check=True)
    found = {entry.path: entry.kind for entry, _ in compared(trees, before).before}
    assert set(found.values()) == {ABSENT}
    assert {str(project / "void" / ".git"), str(project / "void" / ".git" / "HEAD")} <= found.keys()
    assert str(project / "void") not in found


def test_repository_that_a_call_made_in_a_folder_with_stored_files_is_taken_out(
    trees: TreeStore, project: Path
) -> None:
    (project / "src" / "b").write_text("b")
    (project / "src" / "b").chmod(0o600)
    (project / "src" / "c").write_text("c")
    before = trees.store(str(project), PLENTY_S)
    subprocess.run(["git", "init", "-q", project / "src"], check=True)
    (project / "src" / "c").write_text("changed")
    result = compared(trees, before, most=60)
    found = {entry.path: content for entry, content in result.before}
    assert {str(project / "src" / ".git"), str(project / "src" / ".git" / "HEAD")} <= found.keys()
    outside = {path: content for path, content in found.items() if "/src/.git" not in path}
    assert (outside, result.unstored) == ({str(project / "src" / "c"): b"c"}, {})
    again = trees.store(str(project), PLENTY_S)
    assert [part.work for part in again.parts] == [str(project), str(project / "src")]
    assert not compared(trees, again).changed
    shutil.rmtree(project / "src" / ".git")
    (project / "src" / "b").unlink()
    found = {entry.path: content for entry, content in compared(trees, again).before}
    assert found[str(project / "src" / "b")] == b"b"


def test_new_files_of_a_folder_that_became_a_repository_are_named(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S)
    subprocess.run(["git", "init", "-q", project / "src"], check=True)
    (project / "src" / "deep").mkdir()
    for name in ("new", "deep/new"):
        (project / "src" / name).write_text("new")
    result = compared(trees, before, most=60)
    assert result.unstored == {str(project / "src"): "has 2 new paths in it, and became a repository"}


def test_repository_that_was_moved_into_an_older_folder_is_named(trees: TreeStore, project: Path) -> None:
    subprocess.run(["git", "init", "-q", project / "inner"], check=True)
    (project / "inner" / "i").write_text("i")
    before = trees.store(str(project), PLENTY_S)
    (project / "inner" / ".git").rename(project / "src" / ".git")
    (project / "src" / "a").unlink()
    result = compared(trees, before)
    assert {entry.path: content for entry, content in result.before}[str(project / "src" / "a")] == b"one"
    assert result.unstored.keys() == {str(project / "inner" / ".git"), str(project / "src" / ".git")}


def test_mode_of_the_project_itself_is_kept(trees: TreeStore, project: Path) -> None:
    subprocess.run(["git", "init", "-q", project / "inner"], check=True)
    (project / "inner" / "i").write_text("i")
    for folder in (project, project / "inner"):
        folder.chmod(0o700)
    before = trees.store(str(project), PLENTY_S)
    project.chmod(0o777)
    shutil.rmtree(project / "inner")
    found = {entry.path: entry.mode for entry, _ in compared(trees, before).before if entry.kind == FOLDER}
    assert found == {str(project): 0o700, str(project / "inner"): 0o700}
    parts = tuple(
        part._replace(folder_modes={name: mode for name, mode in (part.folder_modes or {}).items() if name})
        for part in before.parts
    )
    assert str(project) not in {
        entry.path for entry, _ in compared(trees, before._replace(parts=parts)).before
    }


def test_parts_that_nothing_refers_to_are_removed(
    trees: TreeStore, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sb.store.trees.store._MOST_PARTS", 2)
    name = str(project)
    trees.begin(OpenCall("k1", "run", trees.store(name, PLENTY_S)), name)
    for text in ("two", "three", "four"):
        (project / "src" / "a").write_text(text)
        for path in trees.folder.glob("*/parts/*"):
            os.utime(path, (0, 0))
        trees.store(name, PLENTY_S)
    assert len(list(trees.folder.glob("*/parts/*"))) == 2  # of the latest tree, and of the call
    call = trees.call(name, "k1")
    assert call is not None


def test_modes_of_folders_are_changes_and_part_of_what_was_there(trees: TreeStore, project: Path) -> None:
    for name in ("gone", "opened", "usual", "empty", "same"):
        (project / name).mkdir()
        (project / name).chmod(0o755 if name == "usual" else 0o700)
        if name != "empty":
            (project / name / "k").write_text("k")
    before = trees.store(str(project), PLENTY_S)
    shutil.rmtree(project / "gone")
    for name in ("opened", "usual", "empty"):
        (project / name).chmod(0o777)
    found = {entry.path: entry.mode for entry, _ in compared(trees, before).before if entry.kind == FOLDER}
    modes = {"gone": 0o700, "opened": 0o700, "usual": 0o755, "empty": 0o700}
    assert found == {str(project / name): mode for name, mode in modes.items()}


def test_tree_without_modes_of_folders_gives_none_back(trees: TreeStore, project: Path) -> None:
    (project / "src").chmod(0o700)
    before = trees.store(str(project), PLENTY_S)
    parts = tuple(part._replace(folder_modes=None) for part in before.parts)
    assert not compared(trees, before._replace(parts=parts)).changed
