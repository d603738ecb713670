"""Linked worktrees: what git or a program does to one comes back, with what the repository knows of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sb.hosts.hooks.event import Decision
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import bash, undo_all
from tests.hosts.hooks.test_trees import changes, program, shop, state

__all__ = ["shop"]


@pytest.fixture
def worktrees(shop: Host) -> Host:
    """One with changes, one without, one with a commit that no branch has, one elsewhere, one that was moved by hand."""
    bash(
        "for w in wt clean '--detach det' ../out gone; do git worktree add -q $w; done; cd wt; echo d > src/b.py;"
        "echo new > new; echo s > staged; git add staged; cd ../det; echo c > c; git add c; git commit -qm c; cd ../gone;"
        "echo g > g; git add g; cd ..; mv gone ../moved; git gc -q --prune=now",
        shop.project,
    )
    return shop


def as_git_sees_it(project: Path) -> list[str]:
    """The list of worktrees, what is staged and changed in each, and the commits that only they hold."""
    lines = _git(project, "worktree", "list", "--porcelain").splitlines()
    for name in ("wt", "clean", "det"):
        lines += _git(project / name, "status", "--porcelain").splitlines()
    return [*lines, *_git(project / "det", "log", "-1", "--format=%s %H").splitlines()]


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


LINES = ("worktree remove clean", "worktree remove --force wt", "worktree remove --force det", "worktree prune",
         "worktree prune --expire=now", "worktree move wt wt2", "worktree add -q more", "worktree lock wt")  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_worktree_that_a_program_removed_pruned_or_moved_comes_back(line: str, worktrees: Host) -> None:
    run_git = program(worktrees, f"subprocess.run('git {line}'.split(), check=True)")
    work, seen = state(worktrees.project), as_git_sees_it(worktrees.project)
    changes(worktrees, run_git)
    assert undo_all(worktrees) == ["reversed"]
    assert as_git_sees_it(worktrees.project) == seen
    now = state(worktrees.project)
    differs = {path for path in {*work, *now} if work.get(path) != now.get(path)}
    allowed = {
        path for path in differs if b".git/objects" in path or (path.endswith(b"/index") and path in now)
    }
    assert differs - allowed <= {b".git/worktrees"}
    bash("git fsck --connectivity-only", worktrees.project)


def test_force_asks_and_so_does_what_writes_in_a_worktree_elsewhere(worktrees: Host) -> None:
    for line in (
        "git worktree remove --force wt",
        "git worktree remove -f ../out",
        "git -C ../out checkout .",
    ):
        assert worktrees.before("Bash", command=line).decision is Decision.ASK, line
    assert worktrees.before("Bash", command="git worktree remove clean").decision is Decision.NONE
