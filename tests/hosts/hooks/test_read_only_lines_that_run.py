"""Lines that only read by their text and may run what lies in the project: its tree is stored, and nobody is asked."""

from __future__ import annotations

import os
import sys

import pytest

from sb.hosts.hooks.event import HookVerdict
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import bash, undo_all
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")

FILES = "git init -q -b main 2>/dev/null; echo one > notes.md; git add -A; git commit -qm one || true"


def is_undone(host: Host, line: str) -> bool:
    """True if what a line changes beside its text comes back."""
    bash(FILES, host.project)
    notes = host.project / "notes.md"
    assert host.before("Bash", line, command=line) == HookVerdict(), line
    notes.write_text("two\n")
    host.after("Bash", line, {"stdout": ""}, command=line)
    states = undo_all(host)
    came_back = notes.read_text() == "one\n"
    assert came_back == (states[-1:] == ["reversed"])
    notes.write_text("one\n")
    return came_back


@rows(
    "line",
    [
        "cargo stat --help",
        "cargo --version",
        "rustup show",
        "ruff check .",
        "python3 -m json.tool x",
        "pip list",
        "uv pip list",
        "uv tree",
        "pylint --help",
        "mocha --version",
        "jest --version",
        "sbt --version",
        "git help status",
        "ls; cargo --version | head -1",
    ],
)
def test_what_a_program_of_the_project_changes_comes_back(line: str, apart: Host) -> None:
    assert is_undone(apart, line)


@rows(
    "line",
    ["ls", "grep -r one . | sort | head", "cd . && cat notes.md", "git status", "git log -1; git diff"],
)
def test_programs_of_the_system_that_only_read_store_nothing(line: str, apart: Host) -> None:
    assert not is_undone(apart, line)


def test_program_in_a_folder_of_the_project_is_the_projects(
    apart: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = apart.project / ".venv/bin"
    own.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{os.environ['PATH']}")
    assert not is_undone(apart, "ls")
    (own / "ls").write_text("#!/bin/sh\n")
    assert is_undone(apart, "ls -l")
    assert not is_undone(apart, "cat notes.md")
