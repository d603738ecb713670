"""Paths of a confined line that goes to another folder first."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from sb.hosts.hooks.event import Decision, HookVerdict
from tests.hosts.confinement.conftest import git
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


def test_yes_to_a_worktree_holds_for_it_until_the_session_ends(apart: Host) -> None:
    shutil.rmtree(apart.project / ".git")
    git(apart.project, "init", "-q", "-b", "main")
    git(apart.project, "commit", "-q", "--allow-empty", "-m", "begin")
    tree = apart.project.parent / "hot"
    line = "git worktree add ../hot -b hot main"
    verdict = apart.before("Bash", "t1", command=line)
    assert verdict.decision is Decision.ASK
    assert f"writes {tree}, outside of the project (a yes holds for this worktree until" in verdict.reason
    git(apart.project, *line.split()[1:])
    apart.after("Bash", "t1", command=line)
    for line in (
        "echo x > ../hot/README.md",
        "cd ../hot && touch a && git add a && git commit -qm a",
        "npm --prefix ../hot ci",
    ):
        assert apart.before("Bash", command=line).reason == "", line
    (tree / "README.md").write_text("mine")
    other = apart.project.parent / "other"
    other.mkdir()
    (other / ".git").mkdir()
    forged = apart.project / ".git" / "worktrees" / "evil"
    forged.mkdir()
    (forged / "gitdir").write_text(f"{other}/.git\n")
    for line in (
        "echo x > ../other/README.md",
        "echo x > ../n.txt",
        "rm ../hot/README.md",
        "mkdir -p ../hot/.claude/agents && touch ../hot/.claude/agents/a.md",
    ):
        assert apart.before("Bash", command=line).decision is Decision.ASK
    apart.tell("SessionEnd", reason="other")
    apart.session = "session-2"
    assert apart.before("Bash", command="echo x > ../hot/README.md").decision is Decision.ASK


def test_first_call_of_a_session_in_a_linked_worktree_goes_on(apart: Host) -> None:
    shutil.rmtree(apart.project / ".git")
    git(apart.project, "init", "-q", "-b", "main")
    git(apart.project, "commit", "-q", "--allow-empty", "-m", "begin")
    tree = apart.project.parent / "hot"
    git(apart.project, "worktree", "add", "-q", "../hot", "-b", "hot", "main")
    linked = Host(apart.home, tree)
    linked.tell("SessionStart", source="startup")
    assert linked.before("Bash", command="python3 make.py") == HookVerdict()
    assert linked.before("Bash", command="git commit -q --allow-empty -m a") == HookVerdict()
