"""Paths by which a person's own git would leave confinement: submodules, worktrees, and a bare layout in the root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from sb.hosts.confinement.git_leading import inner_folders
from sb.hosts.confinement.watched import Watch, accept, also_started, restore, watch
from tests.hosts.confinement.conftest import GIT, Place, git
from tests.rows import rows


@pytest.fixture
def removed(tmp_path: Path) -> Path:
    return tmp_path / "removed"


@pytest.fixture
def nested(place: Place) -> Path:
    """The project with a submodule, one in that, a worktree inside and one beside; an evil program waits in it."""
    for name in ("deep", "lib"):
        git(place.home, "init", "-q", str(place.home / name))
        git(place.home / name, "commit", "-q", "--allow-empty", "-m", "x")
    own = ("-c", "protocol.file.allow=always", "submodule")
    git(place.home / "lib", *own, "add", "-q", str(place.home / "deep"), "deep")
    git(place.home / "lib", "commit", "-qm", "deep")
    git(place.project, *own, "add", "-q", str(place.home / "lib"), "sub")
    git(place.project, *own, "update", "-q", "--init", "--recursive")
    git(place.project, "commit", "-qm", "sub")
    git(place.project, "worktree", "add", "-q", "-b", "in", "wt")
    git(place.project, "worktree", "add", "-q", "-b", "out", str(place.home / "hot"))
    evil = place.project / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {place.home}/ran\n")
    evil.chmod(0o755)
    return place.project


def _ran(project: Path) -> bool:
    """True if the person's `git status` in a tree of the project runs the evil program."""
    mark = project.parent / "ran"
    for tree in (project, project / "sub", project / "sub/deep", project / "wt", project.parent / "hot"):
        if tree.exists():
            subprocess.run(["git", "status", "-s"], cwd=tree, env=GIT, capture_output=True, check=False)
    has_run = mark.exists()
    mark.unlink(missing_ok=True)
    return has_run


_COPY = "cp -r {0} m; git config --file m/config core.worktree $PWD/{1}; git config --file m/config core.fsmonitor $PWD/evil"
_RECORD = (
    "mkdir c h; cp .git/worktrees/{0}/* h 2>/dev/null; cp .git/HEAD c; ln -s ../.git/objects ../.git/refs c; "
    "git config --file c/config core.repositoryformatversion 0; git config --file c/config core.fsmonitor $PWD/evil; echo $PWD/c > h/commondir"
)
# Changes of a program of the agent, after which the person's git runs what it wrote.
CHANGES = (
    f"{_COPY.format('.git/modules/sub', 'sub')}; echo gitdir: $PWD/m > sub/.git",
    f"{_COPY.format('.git/modules/sub', 'sub')}; echo gitdir: ../m > sub/.git",
    f"{_COPY.format('.git/modules/sub', 'sub')}; rm sub/.git; ln -s ../m sub/.git",
    f"{_COPY.format('.git/modules/sub', 'sub')}; rm sub/.git; mv m sub/.git",
    f"{_COPY.format('.git/modules/sub', 'sub')}; mv .git/modules/sub s; ln -s ../../m .git/modules/sub",
    f"{_COPY.format('.git/modules/sub', 'sub')}; mkdir -p .git/x/modules; mv m .git/x/modules/sub; echo gitdir: ../.git/x/modules/sub > sub/.git",
    f"{_COPY.format('.git/modules/sub/modules/deep', 'sub/deep')}; echo gitdir: $PWD/m > sub/deep/.git",
    f"{_COPY.format('.git/modules/sub', 'sub')}; git rm -q --cached sub; echo gitdir: $PWD/m > sub/.git; git reset -q",
    f"{_COPY.format('.git/modules/sub', 'sub')}; rm sub/.git; mv m/* sub; git config --file sub/config core.bare false",
    f"{_RECORD.format('wt')}; echo gitdir: $PWD/h > wt/.git",
    f"{_RECORD.format('hot')}; mv .git/worktrees/hot w; ln -s ../../h .git/worktrees/hot",
    "git config --file .git/modules/sub/config core.fsmonitor $PWD/evil; cd .git/modules; for i in $(seq 250); do mkdir a$i; touch a$i/HEAD; done",
    "git init -q own; git -C own commit -q --allow-empty -m x; git add own 2>/dev/null; git -C own config core.fsmonitor $PWD/evil",
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_persons_git_does_not_follow_what_a_program_made(change: str, nested: Path, removed: Path) -> None:
    project = str(nested)
    before = watch(project)
    subprocess.run(["sh", "-c", change], cwd=nested, env=GIT, check=True)
    assert _ran(nested)
    done = restore(project, before, removed)
    assert "away" in str(done) or "took" in str(done)
    assert not _ran(nested)
    assert restore(project, before, removed) == []


# What git itself does with submodules and worktrees, and a program in folders of its own.
USUAL = (
    "git submodule absorbgitdirs", "git -c protocol.file.allow=always submodule add -q ../lib other", "git -c protocol.file.allow=always submodule update -q --init --recursive --force",
    "git submodule deinit -q -f sub", "git worktree add -q -b y more", "git worktree move wt wt2", "git worktree remove wt2", "git worktree prune",
    "mkdir -p tests/fixtures; git init -q --bare tests/fixtures/x.git", "git sparse-checkout init; git sparse-checkout set wt2; git sparse-checkout disable", "git init -q own; git -C own commit -q --allow-empty -m x; git add own 2>/dev/null",
    "git init -q own2; git -C own2 config core.fsmonitor x", "git rm -q -f sub", "echo x > HEAD; mkdir -p objects refs; rm -r refs",
)  # fmt: skip


@rows("command", USUAL)
def test_usual_commands_are_left_alone(command: str, nested: Path, removed: Path) -> None:
    before = watch(str(nested))
    subprocess.run(["sh", "-c", command], cwd=nested, env=GIT, check=True)
    assert restore(str(nested), before, removed) == []


def test_pointer_of_the_persons_own_stays_and_comes_back(nested: Path, removed: Path) -> None:
    """A submodule whose git folder was kept elsewhere before the session, as older versions of git did."""
    project, entry = str(nested), nested / "sub" / ".git"
    shutil.copytree(nested / ".git/modules/sub", nested.parent / "kept")
    entry.write_text(f"gitdir: {nested.parent}/kept\n")
    before = Watch.from_json(json.loads(json.dumps(asdict(watch(project)))))
    assert before is not None
    assert restore(project, before, removed) == []
    entry.write_text(f"gitdir: {nested}/m\n")
    assert len(restore(project, before, removed)) >= 1
    assert entry.read_text() == f"gitdir: {nested.parent}/kept\n"
    entry.unlink()
    os.symlink("../m", entry)
    assert "moved" in restore(project, before, removed)[0]
    assert entry.read_text() == f"gitdir: {nested.parent}/kept\n"


def test_pointer_that_a_person_agreed_to_stays(nested: Path, removed: Path) -> None:
    project, entry = str(nested), nested / "sub" / ".git"
    before = watch(project)
    entry.write_text(f"gitdir: {nested}/m\n")
    assert restore(project, before, removed, [str(entry)]) == []
    assert restore(project, accept(project, before, [], [str(entry)]), removed) == []


@pytest.mark.parametrize(
    "made", ["git init -q --bare .", "mkdir k; git init -q --bare k; mv k/HEAD .; echo k > commondir"]
)
@pytest.mark.parametrize("inner", ["", "app"])
def test_project_without_a_repository_becomes_none_by_a_bare_layout(
    made: str, inner: str, place: Place, removed: Path
) -> None:
    shutil.rmtree(place.project / ".git")
    folder = place.project / inner
    folder.mkdir(exist_ok=True)
    project = str(place.project)
    before = watch(project)
    before = also_started(before, [str(folder)]) if inner else before
    subprocess.run(["sh", "-c", made], cwd=folder, env=GIT, check=True)
    assert f"moved {folder}/HEAD away" in str(restore(project, before, removed))
    done = subprocess.run(
        ["git", "rev-parse", "--git-dir"], cwd=folder, env=GIT, capture_output=True, check=False
    )
    assert done.returncode != 0
    assert restore(project, before, removed) == []


def test_bare_repository_of_the_person_stays(place: Place, removed: Path) -> None:
    shutil.rmtree(place.project / ".git")
    git(place.project, "init", "-q", "--bare", ".")
    before = watch(str(place.project))
    git(place.project, "symbolic-ref", "HEAD", "refs/heads/other")
    assert restore(str(place.project), before, removed) == []


def test_index_names_no_repository_outside_of_the_project(nested: Path, removed: Path) -> None:
    """An agent can write any path there; of the person's other repositories nothing is taken out."""
    other = nested.parent / "lib"
    git(other, "config", "core.fsmonitor", "theirs")
    before, index = watch(str(nested)), nested / ".git" / "index"
    assert index.read_bytes().count(b"sub") == 1
    for name in (b"../lib", b"/" + os.fsencode(other)):
        git(nested, "reset", "-q")
        git(nested, "update-index", "--add", "--cacheinfo", "160000", "1" * 40, "x" * len(name))
        index.write_bytes(index.read_bytes().replace(b"x" * len(name), name))
        assert restore(str(nested), before, removed) == []
    assert "theirs" in (other / ".git" / "config").read_text()


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_submodules_are_found_in_each_version_of_an_index(version: str, nested: Path) -> None:
    names = [f"lib{'x' * number}" for number in range(9)]
    for name in names:
        git(nested, "update-index", "--add", "--cacheinfo", "160000", "1" * 40, name)
        git(nested, "init", "-q", name)
    (nested / "later").write_text("x")
    git(nested, "add", *([] if version == "2" else ["--intent-to-add"]), "later")
    git(nested, "update-index", "--index-version", version)
    assert inner_folders(str(nested)) == [f"{nested}/{name}/.git" for name in names]
