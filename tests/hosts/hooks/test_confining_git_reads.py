"""Files that git reads by its own folder and configuration: none of a person's is read while git has keys."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sb.hosts.confinement.git_config import runs_others
from tests.hosts.confinement.conftest import GIT
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_confining_keys import person
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")
__all__ = ["person"]

LINES = ("git fetch", "git remote -v; git commit --allow-empty --no-edit; git log -1")


def is_asked(host: Host, command: str) -> bool:
    return "git may run" in host.before("Bash", command=command).reason


# Names that git reads, and some that it does not know today.
LINKS = (
    "MERGE_MSG", "SQUASH_MSG", "shallow", "packed-refs", "info/grafts", "info/attributes", "info/exclude", "logs/HEAD", "BISECT_LOG", "index",
    "rebase-merge/done", "rebase-apply/0001", "sequencer/todo", "refs/heads/x", "refs/heads/a/b/c", "objects/info/alternates",
    "objects/info/commit-graphs/commit-graph-chain", "objects/pack/multi-pack-index.d/x", "objects/ab", "lfs/objects/aa/bb/x", "x", "reftable/tables.list",
    "worktrees/w/MERGE_MSG", "worktrees/w/logs/HEAD", "worktrees/v",
)  # fmt: skip


@rows("name", LINKS)
def test_link_anywhere_in_a_git_folder_keeps_keys_away(name: str, host: Host, person: Path) -> None:
    path = host.project / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    assert not runs_others(str(host.project))
    path.symlink_to(person / ".ssh" / "id_ed25519")
    assert runs_others(str(host.project))
    path.unlink()


@pytest.mark.parametrize("command", LINES)
def test_line_with_keys_waits_where_git_would_read_through_a_link(
    command: str, host: Host, person: Path
) -> None:
    (host.project / ".git" / "MERGE_MSG").symlink_to(person / ".ssh" / "id_ed25519")
    assert is_asked(host, command)


def test_folder_of_git_with_more_than_can_be_looked_at_keeps_keys_away(
    host: Host, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not runs_others(str(host.project))
    monkeypatch.setattr("sb.hosts.confinement.git_reads._MOST_ENTRIES", 10)
    assert runs_others(str(host.project))


@pytest.mark.parametrize(
    "prepare",
    [
        "git commit -q --allow-empty -m x; git pack-refs --all; git gc -q",
        "git commit -q --allow-empty -m x; git worktree add -q -b y wt",
        "echo x > n; ln -s ../n l; git add .; git commit -qm x; git hash-object -w n",
        "mkdir a b; touch a/x b/x; git add .; git commit -qm x; git sparse-checkout set a",
    ],
)
def test_usual_repository_gives_git_its_keys(prepare: str, host: Host, person: Path) -> None:
    subprocess.run(["sh", "-c", prepare], cwd=host.project, check=True, env=GIT)
    assert not is_asked(host, LINES[1])
