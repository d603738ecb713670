"""A process may be killed at any point of a snapshot, a restoration or a removal: nothing is half there."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import SteeredClock
from sb.store.packs import PackStore
from sb.store.path_states import rows_after
from sb.tools.pack_restoring import PackRestoring
from sb.tools.roots import Roots
from tests.faults.pack_child import LATER, NOW
from tests.forked import Forks
from tests.tools.test_pack_restoring import state

CHILD = Path(__file__).with_name("pack_child.py")
KILLS = int(os.environ.get("SB_PROVE_ROUNDS", "10"))  # points of each work at which it is killed


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks("tests.faults.pack_child") as forks:
        yield forks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tree, and a store that holds a snapshot of it under "k"."""
    folder = tmp_path.resolve()
    (folder / "top" / "d" / "empty").mkdir(parents=True)
    for number in range(5):
        (folder / "top" / "d" / f"f{number}").write_bytes(b"%d" % number * 1000)
    (folder / "top" / "link").symlink_to("d")
    (folder / "top" / "changed").write_bytes(b"before")
    store(folder).take("k", [str(folder / "top")], session="run", now=NOW)
    return folder


def store(folder: Path) -> PackStore:
    return PackStore(folder / "packs", clock=SteeredClock(), durable=False)


def killed(forks: Forks, folder: Path, what: str) -> Iterator[int]:
    """Kill that work at points spread over all of it; yields after each kill, and ends when it ran to its end."""
    total = 0
    while True:  # how many steps it has is found out on a copy
        copy = folder.with_name(f"{folder.name}-copy{total}")
        shutil.copytree(folder, copy, symlinks=True)
        code = forks.run(str(CHILD), str(copy), what, str(total)).returncode
        shutil.rmtree(copy)
        if code == 0:
            break
        total = total * 2 or 8
    for count in sorted({total * number // KILLS for number in range(KILLS)}):
        if forks.run(str(CHILD), str(folder), what, str(count)).returncode == 0:
            return
        yield count


def test_a_snapshot_is_there_whole_or_not_at_all(folder: Path, forks: Forks) -> None:
    packs, points = store(folder), list[int]()
    for point in killed(forks, folder, "take"):
        points.append(point)
        assert set(packs.list_keys()) <= {"k", "new"}
        for key in packs.list_keys():
            contents = [packs.content(key, entry) for entry in packs.get(key).entries if entry.kind == "file"]
            assert len(contents) == 6
        packs.purge(["new"])
        assert {path.name for path in packs.folder.iterdir()} <= {"k.pack", ".lock", ".usage"}
        assert packs.has_room(1, "run", 1)
    assert len(points) >= 3


def test_a_restoration_that_was_killed_is_finished_by_repeating_it(folder: Path, forks: Forks) -> None:
    top, packs = folder / "top", store(folder)
    before = state(top)
    shutil.rmtree(top / "d")
    (top / "changed").write_bytes(b"after")
    (top / "new").mkdir()
    (top / "new" / "f").write_bytes(b"new")
    rows = rows_after(packs.get("k"))
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    restoring = PackRestoring(Roots([Path("/")], [packs.folder]), packs)
    killed_at = [
        forks.run(str(CHILD), str(folder), "restore", str(count)).returncode == -signal.SIGKILL
        for count in range(0, 60, max(60 // KILLS, 1))
    ]
    assert killed_at[0]
    restoring.restore(rows, "k")
    assert state(top) == before


def test_a_removal_that_was_killed_loses_nothing_that_was_promised(folder: Path, forks: Forks) -> None:
    packs = store(folder)
    for number in range(4):
        packs.take(f"old{number}", [str(folder / "top")], session="run", now=NOW)
    for _ in killed(forks, folder, "expire"):
        assert "k" in packs.list_keys()
        assert all(packs.get(key).entries for key in packs.list_keys())
    packs.expire(LATER, lambda key: key == "k")
    assert packs.list_keys() == ["k"]
    assert packs.size().packs == 1
