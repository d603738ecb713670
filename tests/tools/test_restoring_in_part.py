"""One path that the system does not let be restored keeps no other from it, and is named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sb.kernel.contracts import ToolError
from sb.kernel.results import Effect
from sb.tools.pack_restoring import PackRestoring
from sb.tools.roots import Roots
from tests.tools.test_pack_restoring import Undo, state


@pytest.fixture
def undo(tmp_path: Path) -> Undo:
    made = Undo(tmp_path)
    for name in ("a/one", "b/two", "z"):
        path = made.top / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    return made


def file_in_the_way(folder: Path) -> None:
    folder.write_text("in the way", encoding="utf-8")


def link_in_the_way(folder: Path) -> None:
    folder.symlink_to(folder.parent)


def pipe_in_the_way(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "one")


@pytest.mark.parametrize("block", [file_in_the_way, link_in_the_way, pipe_in_the_way])
def test_rest_comes_back_and_repeating_tries_what_did_not(block: Callable[[Path], None], undo: Undo) -> None:
    before = state(undo.top)
    undo.take("a/one", "b/two", "z")
    for name in ("a", "b"):
        shutil.rmtree(undo.top / name)
    (undo.top / "z").write_text("changed")
    block(undo.top / "a")
    rows = undo.rows()
    with pytest.raises(ToolError, match=rf"^restored 2 paths; not restored: {undo.top}/a") as first:
        undo.restoring.restore(rows, "k")
    assert first.value.effect is Effect.PARTIAL
    assert [(undo.top / name).read_text() for name in ("b/two", "z")] == ["b/two", "z"]
    with pytest.raises(ToolError, match=rf"^'?{undo.top}/a") as again:
        undo.restoring.restore(rows, "k")
    assert again.value.effect is Effect.UNSTATED
    if (undo.top / "a").is_dir() and not (undo.top / "a").is_symlink():
        (undo.top / "a" / "one").unlink()
    else:
        (undo.top / "a").unlink()
    undo.restoring.restore(rows, "k")
    assert state(undo.top) == before


def test_folder_that_stays_behind_a_refusal_keeps_its_mode(undo: Undo) -> None:
    (undo.top / "a").chmod(0o500)
    undo.take("a", "z")
    (undo.top / "a").chmod(0o700)
    shutil.rmtree(undo.top / "a")
    (undo.top / "z").unlink()
    rows = undo.rows()
    restoring = PackRestoring(Roots([Path("/")], [undo.top / "a" / "one"]), undo.packs)
    with pytest.raises(ToolError, match=r"restored 2 paths; not restored: .*a/one belongs to SecondBrain"):
        restoring.restore(rows, "k")
    assert (undo.top / "a").stat().st_mode & 0o777 == 0o500
    assert (undo.top / "z").exists()


def test_what_somebody_changed_since_still_keeps_all_as_it_is(undo: Undo) -> None:
    undo.take("a/one", "z")
    for name in ("a/one", "z"):
        (undo.top / name).write_text("by the call")
    rows = undo.rows()
    (undo.top / "z").write_text("by somebody")
    with pytest.raises(ToolError, match="z was changed since"):
        undo.restoring.restore(rows, "k")
    assert (undo.top / "a" / "one").read_text() == "by the call"


def test_what_the_call_made_too_deep_or_of_another_kind_keeps_no_other_from_it(undo: Undo) -> None:
    undo.take("made", "z")
    deep = undo.top / "made" / "/".join(["d"] * 80)
    deep.mkdir(parents=True)
    (deep / "f").write_text("x")
    os.mkfifo(undo.top / "made" / "pipe")
    (undo.top / "z").unlink()
    with pytest.raises(ToolError, match=r"not restored: .*made/pipe"):
        undo.restoring.restore(undo.rows(), "k")
    assert (undo.top / "z").exists()
    assert [path.name for path in (undo.top / "made").iterdir()] == ["pipe"]
