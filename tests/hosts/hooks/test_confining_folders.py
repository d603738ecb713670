"""Paths of a confined line that goes to another folder first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sb.config.home import Home
from sb.hosts.hooks.calls.context import SHELL_PREFIX
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.tools.hosted.guarding import confiner_path
from tests.hosts.hooks.conftest import Host
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")


@pytest.fixture
def confined(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A session whose commands the host starts by `sb-confine`, in a project that is in no temporary folder."""
    monkeypatch.setenv(SHELL_PREFIX, str(confiner_path(Home(host.home))))
    monkeypatch.setattr("sb.hosts.hooks.confined.confining.temporary_folders", list)
    monkeypatch.setattr("sb.hosts.hooks.confined.confining.SHARED_MEMORY", "/data/none")
    host.configure("undo: {tree_ms: 60000}\n")
    (host.project / "src" / "x").mkdir(parents=True)
    return host


INSIDE = (
    "cd src && echo hi > ../n.txt",
    "(cd src && rm -f ../x.tmp); ls",
    "cd src && mkdir -p ../made/sub",
    "cd src/x && touch ../../note.tmp && rm ../../note.tmp && cd - >/dev/null; pwd",
    "pushd src; cp x.py ../x.py; popd",
    "mkdir -p src/y && cd src/y && tee ../../n.txt",
)


@rows("line", INSIDE)
def test_file_of_the_project_by_way_of_a_folder_in_it_asks_nobody(line: str, confined: Host) -> None:
    assert confined.before("Bash", command=line) == HookVerdict()


OUTSIDE = (
    ("cd src && echo hi > ../../n.txt", "n.txt"),
    ("cd src && mkdir -p ../../made/sub", "made/sub"),
    ("(cd src && touch ../a); touch ../b", "b"),
    ("cd src; cd ..; touch ../b", "b"),
)


@rows("line, name", OUTSIDE)
def test_file_outside_is_asked_about_and_alone_is_made(line: str, name: str, confined: Host) -> None:
    around = confined.project.parent
    before = {*around.iterdir(), around / Path(name).parts[0]}
    verdict = confined.before("Bash", command=line)
    assert verdict.decision is Decision.ASK
    assert verdict.reason.startswith(f"SecondBrain: writes {around / name}, outside of the project")
    assert verdict.reason.count("writes") == 1
    assert (around / name).exists()
    assert {*around.iterdir()} == before
    confined.tell("Stop")
    assert not (around / name).exists()
