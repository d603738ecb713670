"""Folder of a host's settings that is there while a session lasts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sb.hosts.hooks.confined.session_settings import (
    is_made_settings,
    make_settings,
    remove_settings,
    removes_ignored,
)
from sb.shell import classify


def test_folder_is_made_and_removed_with_what_was_put_in_it_kept(tmp_path: Path) -> None:
    assert make_settings(str(tmp_path))
    assert not make_settings(str(tmp_path))
    assert is_made_settings(str(tmp_path / ".claude"))
    (tmp_path / ".claude" / "settings.json").write_text("{}")
    assert not is_made_settings(str(tmp_path / ".claude"))
    remove_settings(str(tmp_path))
    assert os.listdir(tmp_path / ".claude") == ["settings.json"]
    (tmp_path / ".claude" / "settings.json").unlink()
    remove_settings(str(tmp_path))
    assert not (tmp_path / ".claude").exists()


def test_link_that_is_put_in_its_place_leads_to_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process in the background puts one there as soon as the folder is made."""
    project, theirs = tmp_path / "shop", tmp_path / "settings.json"
    project.mkdir()
    theirs.write_text("mine")
    mkdir = os.mkdir

    def raced(path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        mkdir(path, mode, dir_fd=dir_fd)
        (project / ".claude" / ".gitignore").symlink_to(theirs)

    monkeypatch.setattr(os, "mkdir", raced)
    assert not make_settings(str(project))
    assert theirs.read_text() == "mine"
    monkeypatch.undo()
    remove_settings(str(project))
    assert (project / ".claude" / ".gitignore").is_symlink()
    assert theirs.read_text() == "mine"


REMOVES = (
    "git clean -fdx",
    "git clean -xdf -e '!.env'",
    "git clean -fX",
    "git stash -a",
    "git stash push --all -m x",
    "git clean -fdx && make",
    "make; git clean -dfx; git pull",
)
OTHERS = (
    "git clean -fd",
    "git clean -n",
    "git stash -u",
    "git stash pop",
    "git",
    "make clean",
    "git clean -fdx && git status",
    "git clean -fdx; git add -A",
    "echo git clean -fdx",
    "git clean -fd -e x",
    "",
)


@pytest.mark.parametrize("line", [*REMOVES, *OTHERS])
def test_line_that_removes_ignored_files_is_known(line: str, tmp_path: Path) -> None:
    commands = classify(line, cwd=tmp_path, home=tmp_path, protected=[]).commands
    assert removes_ignored(commands) == (line in REMOVES)


@pytest.mark.parametrize(
    ("line", "removes"),
    [
        ("git clean -fdx", True),
        ("git -C . clean -fdx", True),
        ("git --no-pager clean -fdx", True),
        ("git clean -fdx -e status", True),
        ("git clean -fdx; git status", False),
        ("git clean -fd", False),
        ("git stash -a", True),
        ("git stash push -m a", False),
    ],
)
def test_line_in_which_git_removes_ignored_files_is_told(line: str, removes: bool) -> None:
    assert removes_ignored([command.split() for command in line.split("; ")]) == removes
