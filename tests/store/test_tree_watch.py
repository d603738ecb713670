"""Watch of a project: a tree is not looked for again while nothing changed, and whatever changes is seen."""

from __future__ import annotations

import mmap
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.store.trees import watching
from sb.store.trees.open_calls import StoredTree
from sb.store.trees.part import Rules
from sb.store.trees.store import TreeStore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is of Linux")
PLENTY_S = 60.0


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A project with a queue, as the resident helper opens it."""
    folder = tmp_path / "shop"
    for name in ("src/cart/deep", "docs", "build", "empty"):
        (folder / name).mkdir(parents=True)
    for name in ("src/a.py", "src/cart/b.py", "src/cart/deep/c.py", "docs/d.md", "build/out.o"):
        (folder / name).write_text(name)
    (folder / ".gitignore").write_text("build/\n")
    subprocess.run(["git", "init", "-q", folder], check=True)
    assert watching.is_watchable(str(folder))
    assert watching.open_queue(str(folder))
    assert not watching.open_queue(str(folder))
    yield folder
    watching.close_queue(str(folder))


@pytest.fixture
def trees(tmp_path: Path, project: Path) -> TreeStore:
    store = store_of(tmp_path / "trees")
    store.store(str(project), PLENTY_S)
    store.watch(str(project), PLENTY_S)
    return store


def store_of(folder: Path) -> TreeStore:
    return TreeStore(folder, Rules(lambda path: path.endswith(".key"), [], 1000))


def facts(tree: StoredTree) -> list[object]:
    """A tree's facts of each folder, but for when it was looked at."""
    return [
        (part.work, part.tree, dict(part.modes), dict(part.folders), sorted(part.left_out), sorted(part.nested), {path: stored.blob for path, stored in part.repository.items()})
        for part in tree.parts
    ]  # fmt: skip


def write_unnoticed(path: Path, content: bytes) -> None:
    """Write as a program does that mapped the file before: the kernel tells nobody."""
    with open(path, "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    mapped[: len(content)] = content
    mapped.flush()


def test_nothing_is_looked_at_while_nothing_changed(trees: TreeStore, project: Path) -> None:
    before = trees.store(str(project), PLENTY_S, by_watch=True)
    with open(project / "src" / "a.py", "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    trees.store(str(project), PLENTY_S)  # closing it was a change
    mapped[:3] = b"new"
    assert facts(trees.store(str(project), PLENTY_S, by_watch=True)) == facts(before)
    assert facts(trees.store(str(project), PLENTY_S)) != facts(before)


def test_change_by_a_second_name_elsewhere_is_seen(trees: TreeStore, project: Path) -> None:
    os.link(project / "src" / "a.py", project / "build" / "h")
    trees.store(str(project), PLENTY_S)
    trees.watch(str(project), PLENTY_S)
    before = trees.store(str(project), PLENTY_S, by_watch=True)
    (project / "build" / "h").write_text("changed")
    assert facts(trees.store(str(project), PLENTY_S, by_watch=True)) != facts(before)


MAPPING = """\
import mmap, sys
file = open(sys.argv[1], "r+b")
mapped = mmap.mmap(file.fileno(), 0)
for line in sys.stdin:
    mapped[: len(line) - 1] = line[:-1].encode()
    print(flush=True)
"""


def test_each_write_through_a_file_that_a_program_has_mapped_is_seen(trees: TreeStore, project: Path) -> None:
    """Only the first one sets the file's time, and none is told by the kernel."""
    (project / "odd\nname").write_text("0000")
    for name, folder in (("src/a.py", project), ("odd\nname", project / "docs")):
        command = [sys.executable, "-c", MAPPING, str(project / name)]
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            for number, by_watch in enumerate((True, True, False, False, True), 1):
                before = trees.store(str(project), PLENTY_S, by_watch=by_watch).parts[0].tree
                program.stdin.write(f"{number:03}\n")
                program.stdin.flush()
                program.stdout.readline()
                assert trees.store(str(project), PLENTY_S, by_watch=by_watch).parts[0].tree != before, name
            before = trees.store(str(project), PLENTY_S, by_watch=True).parts[0].tree
            program.stdin.write("end\n")
            program.stdin.close()
            program.wait()
        assert trees.store(str(project), PLENTY_S, by_watch=True).parts[0].tree != before
        after = trees.store(str(project), PLENTY_S, by_watch=True)
        assert not after.parts[0].mapped
    assert facts(trees.store(str(project), PLENTY_S, by_watch=True)) == facts(after)


CHANGES = (
    "echo x >> src/a.py", "chmod 600 src/cart/b.py", "touch new.txt", "rm docs/d.md", "cp src/a.py docs/d.md", "mv src/a.py docs/; cp docs/a.py src", "ln -s a.py src/l", "mkdir made", "rmdir empty",
    "mkdir -p made/deep && echo x > made/deep/f", "mv src/cart src/car", "rm -rf src/car", "echo > .gitignore", "echo build/out.o >> .git/info/exclude",
    "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x", "git add src", "git init -q nested", "touch secret.key", "cp -r src copy",
    "python3 -c 'import os; os.replace(\"docs/d.md\", \"src/a.py\")'", "truncate -s 0 src/a.py", "git branch other 2>/dev/null; git tag x 2>/dev/null; true",
)  # fmt: skip


def test_each_change_is_seen(trees: TreeStore, project: Path, tmp_path: Path) -> None:
    other = store_of(tmp_path / "other")
    for change in CHANGES:
        trees.watch(str(project), PLENTY_S)
        trees.store(str(project), PLENTY_S, by_watch=True)
        subprocess.run(["sh", "-c", change], cwd=project, check=True)
        seen = trees.store(str(project), PLENTY_S, by_watch=True)
        assert facts(seen) == facts(other.store(str(project), PLENTY_S)), change


@pytest.mark.parametrize("seed", range(2))
def test_changes_in_any_order_are_seen(seed: int, trees: TreeStore, project: Path, tmp_path: Path) -> None:
    """Also in folders that were made, moved, or came into view after the watch began."""
    chance, other = random.Random(seed), store_of(tmp_path / "other")
    for number in range(25):
        folders = [path for path in project.rglob("*") if path.is_dir() and ".git" not in path.parts]
        folder = chance.choice([project, *folders])
        action = chance.randrange(7)
        if action == 0:
            (folder / f"d{number}").mkdir()
        elif action == 1 and folder != project:
            subprocess.run(["mv", folder, project / f"m{number}"], check=False, capture_output=True)
        elif action == 2 and folder != project:
            subprocess.run(["rm", "-rf", folder], check=True)
        elif action == 3:
            (project / ".gitignore").write_text("build/\n" if chance.random() < 0.5 else "")
        elif action == 4:
            trees.watch(str(project), PLENTY_S)  # as a process of the helper does after it has answered
        else:
            (folder / f"f{chance.randrange(3)}").write_text(str(number))
        seen = trees.store(str(project), PLENTY_S, by_watch=chance.random() < 0.8)
        assert facts(seen) == facts(other.store(str(project), PLENTY_S)), (number, action, folder)


def test_process_that_ends_in_between_leaves_nothing_unseen(trees: TreeStore, project: Path) -> None:
    trees.store(str(project), PLENTY_S)
    (project / "src" / "a.py").write_text("changed")
    pid = os.fork()
    if pid == 0:  # it has read the events, and stores nothing
        watching.Watch(next(trees.folder.glob("*/lock")).parent, str(project)).begin()
        os._exit(0)
    os.waitpid(pid, 0)
    before = facts(trees.store(str(project), PLENTY_S, by_watch=True))
    assert before == facts(trees.store(str(project), PLENTY_S))


def test_queue_of_another_helper_counts_for_nothing(trees: TreeStore, project: Path) -> None:
    trees.store(str(project), PLENTY_S)
    watching.close_queue(str(project))
    (project / "src" / "a.py").write_text("changed")
    assert watching.open_queue(str(project))
    seen = facts(trees.store(str(project), PLENTY_S, by_watch=True))
    assert seen == facts(trees.store(str(project), PLENTY_S))


def test_more_folders_than_can_be_watched_are_looked_at(
    trees: TreeStore, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST_FOLDERS", 2)
    (project / "made").mkdir()
    trees.store(str(project), PLENTY_S)
    trees.watch(str(project), PLENTY_S)
    write_unnoticed(project / "src" / "a.py", b"new")
    seen = facts(trees.store(str(project), PLENTY_S, by_watch=True))
    assert seen == facts(trees.store(str(project), PLENTY_S))


@pytest.mark.parametrize(
    ("line", "watchable"),
    [
        ("host:/x /mnt nfs4 rw 0 0", False),
        ("x /mnt fuse.sshfs rw 0 0", False),
        ("/dev/sda /mnt ext4 rw 0 0", True),
    ],
)
def test_folders_of_other_machines_are_not_watched(line: str, watchable: bool, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\n{line}\n")
    assert watching.is_watchable("/mnt/shop", mounts) is watchable
