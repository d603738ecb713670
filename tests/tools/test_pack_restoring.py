"""Files of a pack come back to the byte; files that somebody changed since are left alone."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.errors import NotFoundError, SBError
from sb.kernel.contracts import ToolError
from sb.store.packs import PackStore
from sb.store.path_states import rows_after
from sb.tools.pack_restoring import PackRestoring
from sb.tools.roots import Roots

NAMES = ["a", "b", "a-b", "c d", "é", "\udc80x"]
State = dict[str, tuple[object, ...]]


class Undo:
    """A pack store beside a folder, and what restores from it."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "top"
        self.top.mkdir()
        self.packs = PackStore(folder / "packs", durable=False)
        self.restoring = PackRestoring(Roots([Path("/")], [folder / "packs"]), self.packs)

    def take(self, *names: str, key: str = "k") -> None:
        self.packs.take(key, [str(self.top / name) for name in names], session="run")

    def rows(self, key: str = "k") -> list[dict[str, object]]:
        return rows_after(self.packs.get(key))


def state(top: Path) -> State:
    """Every path below a folder with its kind, mode and content."""
    found: State = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                found[path] = ("link", os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                found[path] = ("folder", stat.S_IMODE(status.st_mode))
            else:
                found[path] = ("file", stat.S_IMODE(status.st_mode), Path(path).read_bytes())
    return found


@pytest.fixture
def undo(tmp_path: Path) -> Undo:
    return Undo(tmp_path)


MODES = st.sampled_from([0o600, 0o644, 0o755, 0o700, 0o4755, 0o750])
LEAVES = st.one_of(
    st.tuples(st.just("file"), st.binary(max_size=40), MODES),
    st.tuples(st.just("link"), st.sampled_from(["a", "../b", "/nowhere", "c d"]), st.just(0)),
)
TREES = st.recursive(
    st.dictionaries(st.sampled_from(NAMES), LEAVES, max_size=3),
    lambda below: st.dictionaries(
        st.sampled_from(NAMES), st.one_of(LEAVES, st.tuples(st.just("folder"), below, MODES)), max_size=4
    ),
    max_leaves=8,
)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["rm", "mv", "write", "mkdir", "link", "chmod", "swap"]),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    max_size=6,
)


def build(folder: Path, tree: dict[str, tuple[str, object, int]]) -> None:
    for name, (kind, content, mode) in tree.items():
        path = folder / name
        if kind == "file":
            path.write_bytes(content)  # type: ignore[arg-type]
            path.chmod(mode)
        elif kind == "link":
            path.symlink_to(str(content))
        else:
            path.mkdir()
            build(path, content)  # type: ignore[arg-type]
            path.chmod(mode | 0o700)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def change(top: Path, what: str, number: int, other: int) -> None:
    """One thing that a command may do to a tree."""
    paths = sorted(top.rglob("*"), key=os.fsencode)
    if not paths or (what == "mkdir" and not number % 3):
        paths = [top]
    path, second = paths[number % len(paths)], paths[other % len(paths)]
    if path == top and what != "mkdir":
        return
    if what == "rm":
        remove(path)
    elif what == "swap":
        was_folder = path.is_dir() and not path.is_symlink()
        remove(path)
        if was_folder:
            path.write_bytes(b"now a file")
        else:
            (path / "deep").mkdir(parents=True)
            (path / "file").write_bytes(b"now a folder")
    elif what == "mv":
        try:
            os.rename(path, second)
        except OSError:
            return
    elif what == "write" and not path.is_dir() and not path.is_symlink():
        path.write_bytes(b"changed %d" % other)
    elif what == "mkdir" and path.is_dir() and not path.is_symlink():
        (path / f"made{other}" / "deep").mkdir(parents=True, exist_ok=True)
        (path / f"made{other}" / "file").write_bytes(b"made")
    elif what == "link" and not path.is_dir():
        path.unlink()
        path.symlink_to("elsewhere")
    elif what == "chmod" and not path.is_symlink():
        path.chmod(0o711)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tree=TREES, changes=CHANGES, again=st.integers(0, 12))
def test_any_tree_that_was_kept_comes_back_to_the_byte(
    tree: dict[str, tuple[str, object, int]], changes: list[tuple[str, int, int]], again: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        undo = Undo(Path(name).resolve())
        build(undo.top, tree)
        before = state(undo.top)
        undo.packs.take("k", [str(undo.top)], session="run")
        for what, item, other in changes:
            change(undo.top, what, item, other)
        rows = orjson.loads(orjson.dumps(undo.rows()))  # as an undo record keeps them
        half_done(undo, rows, again)
        undo.restoring.restore(rows, "k")
        assert state(undo.top) == before
        assert undo.restoring.changes(rows, "k") == []


class Killed(BaseException):
    """Stands for the death of the process at one of its system calls."""


def half_done(undo: Undo, rows: list[dict[str, object]], calls: int) -> None:
    """Restore until that many changes of the disk were made, as a killed process leaves them."""
    left = [calls]
    names = ("mkdir", "rmdir", "unlink", "replace", "fchmod", "symlink", "write", "link")
    real = {name: getattr(os, name) for name in names}

    def counted(name: str) -> Callable[..., object]:
        def run(*args: object, **keywords: object) -> object:
            if left[0] <= 0:
                raise Killed
            left[0] -= 1
            return real[name](*args, **keywords)

        return run

    try:
        for name in names:
            setattr(os, name, counted(name))
        undo.restoring.restore(rows, "k")
    except Killed:
        pass
    finally:
        for name in names:
            setattr(os, name, real[name])


def test_contents_of_a_read_only_folder_come_back_and_it_stays_read_only(undo: Undo) -> None:
    folder = undo.top / "d"
    folder.mkdir()
    (folder / "f").write_bytes(b"x")
    folder.chmod(0o500)
    before = state(undo.top)
    undo.take("d")
    folder.chmod(0o700)
    (folder / "f").unlink()
    folder.chmod(0o500)
    undo.restoring.restore(undo.rows(), "k")
    assert state(undo.top) == before
    folder.chmod(0o700)


def test_what_was_put_into_a_removed_folder_since_stays_beside_what_comes_back(undo: Undo) -> None:
    (undo.top / "d").mkdir()
    (undo.top / "d" / "old").write_bytes(b"old")
    undo.take("d")
    shutil.rmtree(undo.top / "d")
    rows = undo.rows()
    (undo.top / "d").mkdir()
    (undo.top / "d" / "mine").write_bytes(b"mine")
    undo.restoring.restore(rows, "k")
    assert {name: (undo.top / "d" / name).read_bytes() for name in ("old", "mine")} == {
        "old": b"old",
        "mine": b"mine",
    }


def test_a_folder_that_the_call_made_is_not_removed_with_what_somebody_put_into_it(undo: Undo) -> None:
    undo.take("made")
    (undo.top / "made").mkdir()
    rows = undo.rows()
    (undo.top / "made" / "mine").write_bytes(b"mine")
    with pytest.raises(ToolError, match="was created since"):
        undo.restoring.restore(rows, "k")
    assert (undo.top / "made" / "mine").read_bytes() == b"mine"


def test_a_parent_that_became_a_link_is_not_followed(undo: Undo, tmp_path: Path) -> None:
    folder, elsewhere = undo.top / "d", tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "f").write_bytes(b"old")
    undo.take("d/f")
    (folder / "f").write_bytes(b"new")
    rows = undo.rows()
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    with pytest.raises((ToolError, SBError), match="is a link"):
        undo.restoring.restore(rows, "k")
    assert (elsewhere / "f").read_bytes() == b"new"


def test_a_named_content_is_put_back_where_nothing_is_and_never_over_something(undo: Undo) -> None:
    gone, there = undo.top / "objects" / "ab" / "1", undo.top / "there"
    there.write_bytes(b"mine")
    extra = {str(gone): b"object", str(there): b"other", "note": b"n"}
    undo.packs.take("k", [], session="run", extra=extra)
    undo.restoring.restore([], "k")
    assert (gone.read_bytes(), there.read_bytes()) == (b"object", b"mine")
    assert [path.name for path in gone.parent.iterdir()] == ["1"]


def test_a_row_of_another_path_than_the_snapshot_holds_restores_nothing(undo: Undo) -> None:
    (undo.top / "f").write_bytes(b"x")
    undo.take("f")
    with pytest.raises(NotFoundError, match="does not hold"):
        undo.restoring.restore([{"path": "/etc/passwd", "sha256": None, "mode": None}], "k")


def test_protected_files_are_not_restored(undo: Undo) -> None:
    home = undo.top / "home"
    home.mkdir()
    (home / "f").write_bytes(b"old")
    undo.take("home/f")
    (home / "f").write_bytes(b"new")
    restoring = PackRestoring(Roots([Path("/")], [home]), undo.packs)
    with pytest.raises(ToolError, match="belongs to SecondBrain"):
        restoring.restore(undo.rows(), "k")
    assert (home / "f").read_bytes() == b"new"


def test_a_folder_in_which_too_much_differs_comes_back_by_force_alone(
    undo: Undo, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = undo.top / "d"
    folder.mkdir()
    for number in range(5):
        (folder / f"f{number}").write_bytes(b"old")
    before = state(undo.top)
    undo.take("d")
    for number in range(5):
        (folder / f"f{number}").write_bytes(b"new")
    monkeypatch.setattr("sb.store.path_states.MOST_ROWS", 3)
    rows = undo.rows()
    with pytest.raises(ToolError):
        undo.restoring.restore(rows, "k")
    undo.restoring.restore(rows, "k", force=True)
    assert state(undo.top) == before
