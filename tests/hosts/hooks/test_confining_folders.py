"""Paths of a confined line that goes to another folder first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sb.hosts.hooks.event import Decision, HookVerdict
from tests.hosts.hooks.conftest import Host
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")


INSIDE = (
    "cd src && echo hi > ../n.txt",
    "(cd src && rm -f ../x.tmp); ls",
    "cd src && mkdir -p ../made/sub",
    "cd src/x && touch ../../note.tmp && rm ../../note.tmp && cd - >/dev/null; pwd",
    "pushd src; cp x.py ../x.py; popd",
    "mkdir -p src/y && cd src/y && tee ../../n.txt",
)


@rows("line", INSIDE)
def test_file_of_the_project_by_way_of_a_folder_in_it_asks_nobody(line: str, apart: Host) -> None:
    (apart.project / "src" / "x").mkdir(parents=True, exist_ok=True)
    assert apart.before("Bash", command=line) == HookVerdict()


OUTSIDE = (
    ("cd src && echo hi > ../../n.txt", "n.txt"),
    ("cd src && mkdir -p ../../made/sub", "made/sub"),
    ("(cd src && touch ../a); touch ../b", "b"),
    ("cd src; cd ..; touch ../b", "b"),
)


@rows("line, name", OUTSIDE)
def test_file_outside_is_asked_about_and_alone_is_made(line: str, name: str, apart: Host) -> None:
    (apart.project / "src" / "x").mkdir(parents=True, exist_ok=True)
    around = apart.project.parent
    before = {*around.iterdir(), around / Path(name).parts[0]}
    verdict = apart.before("Bash", command=line)
    assert verdict.decision is Decision.ASK
    assert verdict.reason.startswith(f"SecondBrain: writes {around / name}, outside of the project")
    assert verdict.reason.count("writes") == 1
    assert (around / name).exists()
    assert {*around.iterdir()} == before
    apart.tell("Stop")
    assert not (around / name).exists()
