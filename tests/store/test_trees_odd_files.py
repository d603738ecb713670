"""Pipes, sockets and devices in the place of files: they are named, nothing waits at them, and the rest is stored."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sb.base.files import read_regular
from sb.base.sources import SteeredClock
from sb.store.trees.git_program import Deadline, TooSlow
from sb.store.trees.left_out import ODD_KIND
from sb.store.trees.pipes import Pipes
from sb.store.trees.store import TreeStore
from tests.store.test_trees import PLENTY_S, compared, project, trees

__all__ = ["project", "trees"]  # fixtures
SOON_S = 8.0  # a pipe that git does not know yet is looked for after one second


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.mark.parametrize("make", [os.mkfifo, listen], ids=["pipe", "socket"])
def test_pipe_or_socket_in_place_of_a_file_keeps_nothing_else_from_being_stored(
    trees: TreeStore, project: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "cart.py").write_text("cart")
    monkeypatch.chdir(project)  # a socket's path has few characters
    before = trees.store(str(project), PLENTY_S)
    (project / "src" / "a").unlink()
    (project / "cart.py").unlink()
    make(Path("cart.py"))
    result = compared(trees, before)
    found = {entry.path: content for entry, content in result.before}
    assert found == {str(project / "src" / "a"): b"one", str(project / "cart.py"): b"cart"}
    second = trees.store(str(project), PLENTY_S)
    assert second.parts[0].left_out["cart.py"].why == ODD_KIND
    assert not compared(trees, second).changed
    (project / "cart.py").unlink()
    assert list(compared(trees, second).unstored) == [str(project / "cart.py")]


@pytest.mark.parametrize(
    "name",
    [
        *(".gitignore", "src/.gitignore", "new/.gitignore", ".gitattributes", "src/.gitattributes"),
        *(".gitmodules", ".git/info/exclude", ".git/config", ".git/packed-refs", "inner/.git/HEAD"),
        *("inner/.git/config", "inner/.git/refs/heads/x", "other/.git"),
    ],
)
def test_nothing_waits_at_a_pipe_that_git_reads(trees: TreeStore, project: Path, name: str) -> None:
    subprocess.run(["git", "init", "-q", project / "inner"], check=True)
    (project / "inner" / "i").write_text("i")
    before = trees.store(str(project), PLENTY_S)
    path = project / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    (project / "src" / "a").unlink()
    (path.parent if ".git" not in path.parent.parts else project).joinpath("made").write_text("made")
    begun = time.monotonic()
    result = compared(trees, before)
    assert time.monotonic() - begun < SOON_S
    assert str(project / "src" / "a") in [entry.path for entry, _ in result.before]
    begun = time.monotonic()
    trees.store(str(project), PLENTY_S)
    assert time.monotonic() - begun < SOON_S


def test_pipe_that_git_waited_at_is_named_and_known_the_next_time(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S)
    os.mkfifo(project / "src" / ".gitignore")
    assert compared(trees, before).unstored == {str(project / "src" / ".gitignore"): ODD_KIND}
    begun = time.monotonic()
    trees.store(str(project), PLENTY_S)
    assert time.monotonic() - begun < 0.9


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every pipe")
def test_pipe_that_nobody_may_write_is_no_obstacle(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S)
    os.mkfifo(project / ".gitignore", 0o400)
    (project / "src" / "a").unlink()
    assert [entry.path for entry, _ in compared(trees, before).before] == [str(project / "src" / "a")]
    assert (project / ".gitignore").stat().st_mode & 0o777 == 0o400


def test_loops_of_links_and_closed_folders_are_no_obstacle(trees: TreeStore, project: Path) -> None:
    (project / "keep").write_text("keep")
    before = trees.store(str(project), PLENTY_S)
    shutil.rmtree(project / "src")
    (project / "src").symlink_to("src")
    (project / ".gitignore").symlink_to(".gitignore")
    (project / "keep").unlink()
    (project / "shut").mkdir(mode=0)
    found = {entry.path for entry, _ in compared(trees, before).before}
    assert {str(project / "keep"), str(project / "src" / "a")} <= found


def test_repository_in_place_of_a_file_is_stored(trees: TreeStore, project: Path) -> None:
    (project / "plan").write_text("plan")
    before = trees.store(str(project), PLENTY_S)
    (project / "plan").unlink()
    subprocess.run(["git", "init", "-q", project / "plan"], check=True)
    result = compared(trees, before)
    assert {entry.path: content for entry, content in result.before}[str(project / "plan")] == b"plan"


def test_file_that_grows_and_shrinks_meanwhile_keeps_no_other_from_being_stored(
    trees: TreeStore, project: Path
) -> None:
    trees.rules = trees.rules._replace(max_bytes=1 << 26)
    stop, path = threading.Event(), project / "log"

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            with path.open("ab") as file:
                file.write(os.urandom(200_000))
            if number % 20 == 0:
                os.truncate(path, 10)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        named = {
            why
            for _ in range(20)
            for part in trees.store(str(project), PLENTY_S).parts
            for why in part.left_out
        }
    finally:
        stop.set()
        writing.join()
    assert named <= {"log"}
    assert not compared(trees, trees.store(str(project), PLENTY_S)).changed


def test_reading_a_regular_file_never_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "file").write_text("text")
    (tmp_path / "other").symlink_to("file")
    assert (read_regular(str(tmp_path / "file")), read_regular(str(tmp_path / "other"), 2)) == (
        b"text",
        b"te",
    )
    for path, follow in (("pipe", True), ("pipe", False), ("link", True), ("other", False), (".", True)):
        with pytest.raises(OSError, match=r"regular|symbolic|directory"):
            read_regular(str(tmp_path / path), follow=follow)


def test_looking_for_pipes_ends_when_there_is_no_more_time(tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / str(number)).touch()
    clock = SteeredClock()
    deadline = Deadline.after(clock, 1.0)
    clock.sleep(2.0)
    with pytest.raises(TooSlow):
        Pipes(str(tmp_path)).look(deadline.left)
