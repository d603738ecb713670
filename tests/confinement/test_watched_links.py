"""Links, forged repositories and closed folders that a command leaves: nothing outside of the project is changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sb.confinement.repositories import git_folder_of, repository_of
from tests.confinement.conftest import Place, git


@pytest.fixture
def removed(tmp_path: Path) -> Path:
    return tmp_path / "removed"


@pytest.fixture
def worktree(place: Place) -> Path:
    """A linked worktree of the project, as an agent's host makes it."""
    git(place.project, "worktree", "add", "-q", ".claude/worktrees/w")
    return place.project / ".claude" / "worktrees" / "w"


class TestCommonFolder:
    def test_linked_worktree_has_its_repository(self, place: Place, worktree: Path) -> None:
        repository = repository_of(str(worktree))
        assert repository is not None
        assert repository.folders == (str(place.project / ".git"),)
        assert git_folder_of(str(worktree)) == str(place.project / ".git")

    def test_commondir_elsewhere_does_not_count(self, place: Place, worktree: Path) -> None:
        (place.project / ".git" / "worktrees" / "w" / "commondir").write_text(f"{place.home}\n")
        assert repository_of(str(worktree)) is None
        assert str(place.home) not in place.profile().writable
        assert git_folder_of(str(worktree)) == ""

    def test_forged_git_folder_does_not_count(self, place: Place, tmp_path: Path) -> None:
        tree, forged = place.project / ".claude" / "worktrees" / "f", tmp_path / "g1"
        tree.mkdir(parents=True)
        forged.mkdir()
        (tree / ".git").write_text(f"gitdir: {forged}\n")
        (forged / "gitdir").write_text(f"{tree / '.git'}\n")
        assert repository_of(str(tree)) is None
        (forged / "commondir").write_text(f"{place.home}\n")
        assert repository_of(str(tree)) is None
        assert str(place.home) not in place.profile().writable

    def test_folder_around_the_home_never_counts(self, place: Place, worktree: Path) -> None:
        common = place.project / ".git"
        assert repository_of(str(worktree), home=str(common / "user")) is None
        assert repository_of(str(worktree), home=str(common)) is None

    def test_linked_parts_of_a_git_folder_do_not_count(self, place: Place, worktree: Path) -> None:
        common = place.project / ".git"
        (common / "refs").rename(common / "refs2")
        os.symlink("refs2", common / "refs")
        assert repository_of(str(worktree)) is None
