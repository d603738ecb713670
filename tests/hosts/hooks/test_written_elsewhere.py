"""A folder that a real program swaps for a link between the judgement of a file tool and its run: noticed, kept, told."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sb.hosts.hooks.event import HookVerdict
from tests.conftest import CommandLine
from tests.hosts.hooks.conftest import Host

SWAPS = (
    "import os, time, sys\nwhile not os.path.exists('go'): time.sleep(.005)\n"
    "os.rename('d', 'e'); os.symlink(sys.argv[1], 'd'); open('swapped', 'w').close()\n"
)


def wrote(host: Host, path: Path, content: str, use_id: str = "t1") -> HookVerdict:
    """The report of a file that the host has written."""
    given = {"file_path": str(path), "content": content}
    return host.tell(
        "PostToolUse", tool_name="Write", tool_use_id=use_id, tool_input=given, tool_response={"a": 1}
    )


@pytest.fixture
def swapped(host: Host, tmp_path: Path) -> Path:
    """The judged file, after a program in the background has put a link to another folder in place of its own."""
    folder, away = host.project / "d", tmp_path / "away"
    for place, text in ((folder, "old"), (away, "mine")):
        place.mkdir()
        (place / "f").write_text(text, encoding="utf-8")
    waiting = subprocess.Popen([sys.executable, "-c", SWAPS, str(away)], cwd=host.project)
    given = {"file_path": str(folder / "f"), "content": "new"}
    assert host.before("Write", "t1", **given) == HookVerdict()
    (host.project / "go").touch()
    assert waiting.wait(30) == 0
    return folder / "f"


def test_file_that_was_written_through_a_swapped_folder_is_told_and_on_record(
    host: Host, swapped: Path, tmp_path: Path, sb: CommandLine
) -> None:
    swapped.write_text("new", encoding="utf-8")
    away = tmp_path / "away" / "f"
    assert f"{swapped} while it was written; it leads to {away} now" in wrote(host, swapped, "new").context
    payload = host.events(kind="kernel.tool.dispatch")[-1].payload or {}
    assert payload["result"]["led_elsewhere"] == [{"path": str(swapped), "to": str(away)}]
    assert f"written to {away}, by a link" in sb("undo", "show").out


def test_link_that_is_gone_again_is_told_by_the_file_that_did_not_change(host: Host, swapped: Path) -> None:
    swapped.write_text("new", encoding="utf-8")
    swapped.parent.unlink()
    swapped.parent.with_name("e").rename(swapped.parent)
    assert "is as it was before this call" in wrote(host, swapped, "new").context


@pytest.mark.parametrize(
    "then",
    [
        lambda path: path.write_text("new", encoding="utf-8"),
        lambda path: path.write_text("new\r\n", encoding="utf-8"),  # a formatter came after
        lambda path: (path.write_text("new", encoding="utf-8"), path.rename(path.with_name("g"))),
    ],
)
def test_file_that_is_written_where_it_was_judged_is_told_of_nothing(
    host: Host, then: Callable[[Path], object]
) -> None:
    (host.project / "real").mkdir()
    (host.project / "linked").symlink_to("real")
    (host.project / "old").write_text("old", encoding="utf-8")
    for name in ("real/f", "linked/g2", "fresh/deep/f", "old"):
        path = host.project / name
        assert host.before("Write", name, file_path=str(path), content="new") == HookVerdict()
        path.parent.mkdir(parents=True, exist_ok=True)
        then(path)
        assert wrote(host, path, "new", name) == HookVerdict(), name


def test_edit_that_left_the_file_as_it_was_is_told(host: Host) -> None:
    path = host.project / "f"
    path.write_text("old", encoding="utf-8")
    for use_id, then in (("t1", "new"), ("t2", "new")):
        given = {"file_path": str(path), "old_string": "old", "new_string": then}
        assert host.before("Edit", use_id, **given) == HookVerdict()
        if use_id == "t1":
            path.write_text(then, encoding="utf-8")
        verdict = host.tell(
            "PostToolUse", tool_name="Edit", tool_use_id=use_id, tool_input=given, tool_response={"a": 1}
        )
        assert bool(verdict.context) == (use_id == "t2")


def test_noticing_reads_a_large_file_once_and_fast(host: Host) -> None:
    from sb.hosts.hooks.guards.astray import _misses

    path = host.project / "large"
    path.write_text("x" * 500_000, encoding="utf-8")
    begun = time.perf_counter()
    for _ in range(20):
        assert not _misses({"content": "x" * 500_000}, str(path))
    assert (time.perf_counter() - begun) / 20 < 0.02
