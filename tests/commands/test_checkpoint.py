"""Checkpoints on the command line: kept, compared, and restored with a way back."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CommandLine


def saved(sb: CommandLine, *arguments: str) -> str:
    """The id of a checkpoint that a command kept."""
    done = sb("checkpoint", "save", *arguments)
    assert done.code == 0, done.err
    return done.out.strip()


def stacks(sb: CommandLine, agent: str = "ada") -> list[str]:
    """The stacks of a core, the active stack first."""
    shown = sb("entity", "status", "--agent", agent, "--json").json["stacks"]
    return sorted(shown, key=lambda name: not shown[name]["active"])


@pytest.fixture
def two(sb: CommandLine) -> tuple[str, str]:
    """A core that had one stack, and now has two."""
    assert sb("stack", "create", "work").code == 0
    return saved(sb, "--agent", "ada", "-m", "as it began"), saved(
        sb, "--agent", "ada", "--stack", "work", "--stack", "default", "-m", "two stacks"
    )


def test_what_was_kept_is_listed_the_newest_first(sb: CommandLine, two: tuple[str, str]) -> None:
    saved(sb, "--agent", "bob")
    assert [
        item["checkpoint_id"] for item in sb("checkpoint", "list", "--agent", "ada", "--json").json["items"]
    ] == [
        two[1],
        two[0],
    ]
    lines = sb("checkpoint", "list").out.splitlines()
    assert len(lines) == 4
    assert lines[2].split()[0] == two[1]
    assert "work*, default" in lines[2]
    assert "two stacks" in lines[2]


def test_the_core_goes_on_with_what_was_kept_last(sb: CommandLine, two: tuple[str, str]) -> None:
    assert stacks(sb) == ["work", "default"]
    assert stacks(sb, "bob") == ["default"]


def test_a_checkpoint_says_what_restoring_it_would_change(sb: CommandLine, two: tuple[str, str]) -> None:
    shown = sb("checkpoint", "show", two[0])
    assert "message: as it began" in shown.out
    assert "active stack: default" in shown.out
    assert "restoring it: active stack: work → default" in shown.out
    assert "in this state now" in sb("checkpoint", "show", "last").err
    assert [change["part"] for change in sb("checkpoint", "show", two[0], "--json").json["changes"]] == [
        "active stack",
        "stack work",
    ]


def test_two_checkpoints_are_compared_and_one_with_the_present(sb: CommandLine, two: tuple[str, str]) -> None:
    assert sb("checkpoint", "diff", *two).out.splitlines()[0] == "active stack: default → work"
    assert sb("checkpoint", "diff", two[0]).out == sb("checkpoint", "diff", *two).out
    same = sb("checkpoint", "diff", two[1], "--json")
    assert (same.json, same.err) == ({"items": []}, "")
    assert sb("checkpoint", "diff", two[1]).err == "no differences\n"


def test_restoring_says_what_changes_and_how_to_go_back(sb: CommandLine, two: tuple[str, str]) -> None:
    dry = sb("checkpoint", "restore", two[0], "--dry-run")
    assert (dry.code, dry.out, stacks(sb)) == (0, "", ["work", "default"])
    assert "active stack: work → default" in dry.err
    done = sb("checkpoint", "restore", two[0], "--reason", "one is enough", "--yes")
    assert (done.code, stacks(sb)) == (0, ["default"])
    back = next(line for line in done.err.splitlines() if line.endswith("goes back")).split()[3]
    assert sb("checkpoint", "restore", back, "--reason", "both after all", "--yes").code == 0
    assert stacks(sb) == ["work", "default"]
    again = sb("checkpoint", "restore", "last", "--reason", "again", "--yes")
    assert (again.code, again.out, "nothing changes" in again.err) == (0, "", True)
    output = sb("log", "tail", "--kind", "checkpoint.restored").out
    assert output.count("checkpoint.restored") == 2


def test_restoring_needs_a_reason_and_a_person_or_yes(sb: CommandLine, two: tuple[str, str]) -> None:
    assert sb("checkpoint", "restore", two[0], "--yes").code == 2
    asked = sb("checkpoint", "restore", two[0], "--reason", "one is enough")
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert stacks(sb) == ["work", "default"]


def test_on_a_terminal_it_asks(sb: CommandLine, two: tuple[str, str], home: Path) -> None:
    for answer, left in ((b"n\n", ["work", "default"]), (b"y\n", ["default"])):
        leader, follower = pty.openpty()
        command = [sys.executable, "-m", "sb", "checkpoint", "restore", two[0], "--reason", "one is enough"]
        process = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, env=dict(os.environ)
        )
        os.close(follower)
        os.write(leader, answer)
        process.wait(60)
        os.close(leader)
        assert stacks(sb) == left


def test_a_checkpoint_of_another_home_is_restored_from_its_file(
    sb: CommandLine, two: tuple[str, str], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "checkpoints" / f"{two[1]}.json"
    monkeypatch.setenv("SB_HOME", str(tmp_path / "other"))
    assert sb("init").code == 0
    assert sb("stack", "create", "work").code == 0
    assert sb("checkpoint", "restore", str(file), "--reason", "moved here", "--yes").code == 0
    assert stacks(sb) == ["work", "default"]


def test_an_edited_and_a_cut_checkpoint_are_named_and_not_restored(
    sb: CommandLine, two: tuple[str, str], home: Path
) -> None:
    edited, cut = (home / "checkpoints" / f"{item}.json" for item in two)
    edited.write_text(edited.read_text("utf-8").replace("as it began", "as it was"), "utf-8")
    listed = next(line for line in sb("checkpoint", "list").out.splitlines() if line.startswith(two[0]))
    assert "  edited  " in listed
    assert listed.endswith("  as it was")
    assert "cannot be restored" in sb("checkpoint", "show", two[0]).err
    refused = sb("checkpoint", "restore", two[0], "--reason", "?", "--yes")
    assert refused.code == 1
    cut.write_text(cut.read_text("utf-8")[:40], "utf-8")
    assert "  unreadable  " in sb("checkpoint", "list").out
    items = sb("checkpoint", "list", "--json").json["items"]
    assert [bool(item["problem"]) for item in items] == [True, False]
    assert sb("checkpoint", "show", two[1]).code == 1


def test_what_others_wrote_does_nothing_to_a_terminal(sb: CommandLine) -> None:
    hostile = "\x1b]0;owned\x07[red]\u202eevil\nada_fake"
    checkpoint = saved(sb, "--agent", hostile, "-m", hostile)
    for shown in (
        sb("checkpoint", "list"),
        sb("checkpoint", "show", checkpoint),
        sb("entity", "status", "--agent", hostile),
    ):
        assert not set("\x1b\x07\u202e") & set(shown.out + shown.err)
        assert "\nada_fake" not in shown.out


def test_nothing_is_there_yet(sb: CommandLine) -> None:
    assert sb("checkpoint", "list").code == 3
    assert sb("init").code == 0
    empty = sb("checkpoint", "list")
    assert (empty.code, empty.out, "sb checkpoint save" in empty.err) == (0, "", True)
    assert sb("checkpoint", "list", "--json").json == {"items": []}
    assert sb("checkpoint", "save", "--agent", " ").code == 2
    missing = sb("checkpoint", "show", "nothing", "--json")
    assert (missing.code, missing.json["error"]["kind"]) == (1, "not_found")
