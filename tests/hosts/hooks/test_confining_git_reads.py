"""Files that git reads by its own folder and configuration: none of a person's is read while git has keys."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sb.hosts.confinement.git_config import runs_others
from tests.hosts.confinement.conftest import GIT, git
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


# Settings of the project's own configuration, whose values git opens and shows, also in its complaints.
ELSEWHERE = (
    "commit.template ~/.ssh/id_ed25519", "core.excludesFile ~/.netrc", "core.attributesFile HOME/.netrc", "include.path ~/.netrc", "includeIf.gitdir:/.path ~/.netrc",
    "gpg.ssh.allowedSignersFile ~/.netrc", "gpg.ssh.revocationFile ~/.netrc", "mailmap.file ~/.netrc", "blame.ignoreRevsFile ~/.netrc", "sendemail.aliasesfile ~/.netrc",
    "format.signatureFile ~/.netrc", "fsck.skipList ~/.netrc", "diff.orderFile ~/.netrc", "trailer.x.y ~/.netrc", "some.newKey ~/.netrc",
    "commit.template :(optional)~/.netrc", "commit.template ../ada/.netrc", "commit.template link", "commit.template .git/../link", "mailmap.file %(prefix)/../HOME/.netrc",
    "commit.template ~root/.profile", "fetch.bundleURI file://HOME/.netrc", "worktree.guessRemote HOME/.netrc",
)  # fmt: skip
INSIDE = (
    "commit.template .gitmessage", "commit.template PROJECT/.gitmessage", "commit.template ~/none", "blame.ignoreRevsFile .git-blame-ignore-revs",
    "user.signingKey ~/.ssh/id_ed25519.pub", "core.commentChar /", "branch.main.merge refs/heads/main", "user.name ~ada", "log.date iso", "core.excludesFile .gitmessage",
)  # fmt: skip


def _configured(host: Host, person: Path, setting: str, file: Path) -> bool:
    """True if a setting keeps keys away; it is taken out again."""
    (person / ".ssh" / "id_ed25519.pub").write_text("public")
    (host.project / ".gitmessage").write_text("x")
    link = host.project / "link"
    if not link.is_symlink():
        link.symlink_to(person / ".netrc")
    key, _, text = setting.partition(" ")
    text = (
        text.replace("/HOME", str(person)).replace("HOME", str(person)).replace("PROJECT", str(host.project))
    )
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    git(host.project, "config", "--file", str(file), key, text)
    try:
        return runs_others(str(host.project))
    finally:
        file.write_text(before, encoding="utf-8")


@rows("setting", ELSEWHERE)
def test_setting_that_names_a_file_elsewhere_keeps_keys_away(setting: str, host: Host, person: Path) -> None:
    assert _configured(host, person, setting, host.project / ".git" / "config")


@rows("setting", INSIDE)
def test_setting_that_names_a_file_of_the_project_does_not(setting: str, host: Host, person: Path) -> None:
    assert not _configured(host, person, setting, host.project / ".git" / "config")


@rows(
    "setting, keeps_away",
    [
        ("commit.template link", True),
        ("commit.template .gitmessage", False),
        ("commit.template ~/.netrc", False),
    ],
)
def test_link_at_a_name_of_the_persons_own_configuration_keeps_keys_away(
    setting: str, keeps_away: bool, host: Host, person: Path
) -> None:
    for name in (".gitconfig", ".config/git/config"):
        (person / name).parent.mkdir(parents=True, exist_ok=True)
        assert _configured(host, person, setting, person / name) is keeps_away


@pytest.mark.parametrize("command", LINES)
def test_line_with_keys_waits_where_a_setting_names_a_file_elsewhere(
    command: str, host: Host, person: Path
) -> None:
    git(host.project, "config", "commit.template", "~/.ssh/id_ed25519")
    assert is_asked(host, command)
