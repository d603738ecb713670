"""Random programs over a project: undo brings every byte, mode and link back, odd names included."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.store.trees.part import Rules
from sb.store.trees.store import TreeStore
from sb.tools.hosted.trees import HostedTrees
from tests.tools.test_pack_restoring import State, Undo, change, state

NAMES = ["a", "b", ".Git", ".git", "git~1", "new\nline", "\udc80x", ".gitmodules", "-rf", " lead", "é"]
MODES = [0o644, 0o600, 0o755, 0o4755, 0o400]
BUILD = st.lists(
    st.tuples(
        st.sampled_from(["file", "file", "folder", "link", "repository"]),
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
        st.integers(0, 4),
    ),
    max_size=10,
)
PROGRAM = st.lists(
    st.tuples(
        st.sampled_from(["rm", "mv", "write", "mkdir", "link", "chmod", "swap", "odd"]),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=6,
)


def build(top: Path, what: str, names: list[str], number: int) -> None:
    """One thing that is there before the program, where its name is free."""
    path = top.joinpath(*names)
    if os.path.lexists(path) or names[0] == ".git":
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if what == "file":
            path.write_bytes(b"%d" % number)
            path.chmod(MODES[number])
        elif what == "link":
            path.symlink_to(["a", "..", "/nowhere", "b/c", "git~1"][number])
        elif ".git" not in names:
            path.mkdir(mode=[0o755, 0o700, 0o750, 0o711, 0o2755][number])
            if what == "repository":
                subprocess.run(["git", "init", "-q", path], check=True)
                (path / "tracked").write_bytes(b"t")
    except (FileExistsError, NotADirectoryError, FileNotFoundError):
        return


def run(top: Path, what: str, number: int, other: int) -> None:
    """One step of the program.

    A repository is left where it is, since undo does not promise its folder `.git`.
    """
    if what == "odd":
        build(top, "file", [NAMES[number % len(NAMES)], NAMES[other % len(NAMES)]], number % 5)
        return
    with tempfile.TemporaryDirectory(dir=top.parent) as aside:
        inside = Path(aside) / "top"
        inside.mkdir()
        repositories = [path for path in top.iterdir() if path.name == ".git" or _holds_repository(path)]
        for path in (path for path in top.iterdir() if path not in repositories):
            path.rename(inside / path.name)
        try:
            if what != "mv" or not any(inside.rglob(".git")):
                change(inside, what, number, other)
        finally:
            for path in inside.iterdir():
                path.rename(top / path.name)


def _holds_repository(path: Path) -> bool:
    return any((folder / ".git" / "HEAD").is_file() for folder in (path, *path.rglob("*")) if folder.is_dir())


def seen(top: Path) -> State:
    """All that is there but what is in a repository's own folder."""
    own = [os.path.dirname(path) for path in state(top) if path.endswith("/.git/HEAD")]
    found = {
        path: item
        for path, item in state(top).items()
        if not any(f"{path}/".startswith(f"{entry}/") for entry in own)
    }
    return {**found, "": (top.stat().st_mode,)}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(things=BUILD, steps=PROGRAM, in_repository=st.booleans())
def test_what_any_program_did_to_a_project_is_undone(
    things: list[tuple[str, list[str], int]], steps: list[tuple[str, int, int]], in_repository: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        undo = Undo(Path(name).resolve())
        top = undo.top
        subprocess.run(["git", "init", "-q", top], check=True)
        for what, names, number in things:
            build(top, what, names, number)
        trees = TreeStore(Path(name).resolve() / "trees", Rules(lambda path: False, [], 1 << 20))
        hosted = HostedTrees(
            lambda: trees, lambda: undo.packs, seconds=60, bounds=(1 << 24, 2000), home=str(undo.top.parent)
        )
        assert hosted.begin(str(top), "k", "run") == ""
        before = seen(top)
        for what, step, other in steps:
            run(top, what, step, other)
        if in_repository:
            for path in top.rglob("tracked"):
                path.write_bytes(b"changed")
        done = hosted.end(str(top), "k", "run")
        assert done is not None
        assert (done.why, dict(done.unstored)) == ("", {})
        if done.rows:
            undo.restoring.restore(done.rows, "k")
        assert seen(top) == before
