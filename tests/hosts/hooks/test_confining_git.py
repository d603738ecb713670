"""Git's configuration and settings beside what a call named: put back as a session meets it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sb.config.home import Home
from sb.hosts.hooks.calls.context import SHELL_PREFIX
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.tools.hosted.guarding import confiner_path
from tests.hosts.confinement.conftest import git
from tests.hosts.hooks.conftest import Host
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")


@pytest.fixture
def repository(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A session whose commands are confined, in a repository."""
    monkeypatch.setenv(SHELL_PREFIX, str(confiner_path(Home(host.home))))
    host.configure("hooks: {approval: queue}\n")
    git(host.project, "init", "-q")
    return host


def value(project: Path, key: str) -> str:
    done = subprocess.run(["git", "config", key], cwd=project, capture_output=True, text=True, check=False)
    return done.stdout.strip()


@pytest.mark.parametrize(
    "command", ["python3 k.py; git remote -v; echo x", "git log config", "python3 k.py; git config --get x"]
)
def test_line_that_speaks_of_git_keeps_no_key(command: str, repository: Host) -> None:
    repository.before("Bash", "t1", command=command)
    git(repository.project, "config", "core.fsmonitor", "/x/evil.sh")
    repository.after("Bash", "t1", command=command)
    assert value(repository.project, "core.fsmonitor") == ""


def test_line_that_sets_a_key_keeps_that_value(repository: Host) -> None:
    command = "git config core.pager less"
    repository.before("Bash", "t1", command=command)
    git(repository.project, "config", "core.pager", "less")
    git(repository.project, "config", "core.fsmonitor", "/x/evil.sh")
    repository.after("Bash", "t1", command=command)
    assert (value(repository.project, "core.pager"), value(repository.project, "core.fsmonitor")) == (
        "less",
        "",
    )


# Set by a line of its own, a key is there to stay: what it runs is run by the person's own git.
ASKED = (
    "git config protocol.ext.allow always", "git config submodule.lib.update '!./x.sh'", "git config core.alternateRefsCommand ./x.sh",
    "git config remote.origin.uploadpack ./x.sh", "git config --add url.ext::./x.insteadOf https://", "git config sendemail.toCmd ./x", "git config core.worktree /srv",
    "git config http.proxy http://127.0.0.1:9", "git config gpg.ssh.defaultKeyCommand ./x", "git config core.editor 'vi -S x.vim'", "git config core.pager 'less -k keys'",
    "git config credential.helper ./x", "git config set core.fsmonitor ./x", "git config --local filter.a.clean ./x", "git config alias.st '!./x'", "git config alias.m 'merge -s x'", "git config alias.m 'merge -sx'", "git config alias.st 'fetch --upload-pack=./x .'", "git config alias.r 'rebase -x ./x'",
    "git config branch.main.mergeOptions '-s x'", "git config pull.twohead x", "git config http.curloptResolve h:443:127.0.0.1",
)  # fmt: skip
USUAL = (
    "git config user.name ada", "git config core.pager less", "git config core.pager 'less -FRX'", "git config core.editor 'code --wait'", "git config pull.rebase true",
    "git config alias.st status", "git config alias.m 'merge --ff-only'", "git config alias.c 'commit -s'", "git config credential.helper cache", "git lfs install", "git config --get core.pager", "git config branch.main.remote origin",
)  # fmt: skip


@rows("command", ASKED)
def test_key_that_runs_a_program_waits_for_a_person(command: str, repository: Host) -> None:
    verdict = repository.before("Bash", command=command)
    assert verdict.decision is Decision.DENY
    assert "git" in verdict.reason


def test_key_that_a_person_agreed_to_in_a_longer_line_stays(repository: Host) -> None:
    command = "mkdir -p .husky && git config core.hooksPath .husky"
    repository.configure("hooks: {approval: ask}\n")
    assert repository.before("Bash", "t1", command=command).decision is Decision.ASK
    git(repository.project, "config", "core.hooksPath", ".husky")
    repository.after("Bash", "t1", command=command)
    assert value(repository.project, "core.hooksPath") == ".husky"


def test_husky_asks_once_for_the_key_that_it_sets(repository: Host) -> None:
    repository.configure("hooks: {approval: ask}\n")
    for command in ("npx husky init", "npx --yes husky", "husky install"):
        assert "sets core.hookspath=.husky" in repository.before("Bash", command=command).reason
    assert repository.before("Bash", command="npx husky --version").reason == ""
    assert repository.before("Bash", "t0", command="npx husky init").decision is Decision.ASK
    git(repository.project, "config", "core.hooksPath", ".husky/_")
    repository.after("Bash", "t0", command="npx husky init")
    assert value(repository.project, "core.hooksPath") == ".husky/_"


@rows("command", USUAL)
def test_usual_key_does_not(command: str, repository: Host) -> None:
    assert repository.before("Bash", command=command) == HookVerdict()


def test_innocent_neighbour_allows_nothing_beside_it(repository: Host) -> None:
    command = "echo '{}' > .vscode/extensions.json"
    vscode = repository.project / ".vscode"
    repository.before("Bash", "t1", command=command)
    vscode.mkdir()
    (vscode / "extensions.json").write_text("{}")
    (vscode / "tasks.json").write_text("evil")
    repository.after("Bash", "t1", command=command)
    assert [path.name for path in vscode.iterdir()] == ["extensions.json"]


@pytest.fixture
def linked(repository: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """The same with a commit and a worktree beside the project, in a folder that no command writes."""
    monkeypatch.setattr("sb.hosts.hooks.confined.confining.temporary_folders", list)
    monkeypatch.setattr("sb.hosts.hooks.confined.confining.SHARED_MEMORY", "/data/none")
    git(repository.project, "commit", "-q", "--allow-empty", "-m", "begin")
    for name in ("../wt", "../wt2", "inner"):
        git(repository.project, "worktree", "add", "-q", name)
    (repository.project / "docs").mkdir()
    for name in ("link", "docs/link"):
        (repository.project / name).symlink_to(repository.project.parent / "wt")
    (repository.project / "other").symlink_to(repository.project / "inner")
    return repository


# Git takes a worktree by its path, from wherever the line is by then, or by the end of its path.
REMOVES = (
    "git worktree remove ../wt", "git worktree remove --force ../wt", "git worktree remove wt", "git worktree remove -f -- wt; ls", "cd docs && git worktree remove ../../wt",
    "git -C inner worktree remove wt", "cd ../wt && git worktree remove .", "git worktree remove $PWD/../wt", "git worktree remove \"$WT\"", "git worktree move ../wt ../wt3", "bash -c 'git worktree remove ../wt'",
    "git worktree list | awk '{print $1}' | xargs -n1 git worktree remove", "for w in wt; do git worktree remove $w; done", "env A=1 git worktree remove ../wt", "git worktree remove link", "git worktree remove docs/link",
)  # fmt: skip


@rows("command", REMOVES)
def test_worktree_outside_is_named_before_git_deletes_it(command: str, linked: Host) -> None:
    verdict = linked.before("Bash", command=command)
    assert verdict.decision is Decision.DENY
    assert f"writes {linked.project.parent / 'wt'}, outside of the project" in verdict.reason


@rows(
    "command",
    [
        "git worktree remove inner",
        "git worktree list",
        "git worktree prune",
        "git worktree remove ../nothing",
        "git worktree remove other",
        "git remote remove wt",
        "echo git worktree remove ../wt",
    ],
)
def test_line_that_deletes_no_worktree_outside_asks_for_none(command: str, linked: Host) -> None:
    assert linked.before("Bash", command=command) == HookVerdict()


def test_record_that_no_worktree_names_in_turn_opens_nothing(linked: Host, tmp_path: Path) -> None:
    """An agent writes git's records of worktrees, and could have one name a folder of the person."""
    photos = tmp_path / "photos"
    (photos / ".git").mkdir(parents=True)
    record = linked.project / ".git" / "worktrees" / "wt" / "gitdir"
    record.write_text("\0/.git\n")
    assert linked.before("Bash", command="git worktree remove wt") == HookVerdict()
    record.write_text(f"{photos}/.git\n")
    assert linked.before("Bash", command="git worktree remove photos") == HookVerdict()


def options_of(host: Host) -> bytes:
    return b"".join(path.read_bytes() for path in (host.home / "confine" / "tickets").glob("*.options"))


@pytest.mark.parametrize("command", ["git clean -fdx", "git stash -a", "git clean -fdX && npm test"])
def test_placeholder_is_passed_over_by_git_that_removes_ignored_files(command: str, repository: Host) -> None:
    repository.configure("hooks: {approval: ask}\nundo: {tree_ms: 60000}\n")
    assert repository.before("Bash", "t1", command=command).decision is not Decision.DENY
    placeholder = repository.project / ".claude"
    assert f"denied/repository\0{placeholder}\0".encode() in options_of(repository)
    repository.after("Bash", "t1", command=command)
    (placeholder / "settings.json").write_text("{}")  # the person's: git is to see it as it is
    repository.before("Bash", "t2", command=command)
    assert b"denied/repository" not in options_of(repository)
    repository.after("Bash", "t2", command=command)
    (placeholder / "settings.json").unlink()


def test_agent_is_told_that_the_placeholder_is_nothing_to_see_to(repository: Host) -> None:
    command = "git clean -fdx; git status"
    error = "warning: failed to remove .claude/.gitignore: Read-only file system"
    repository.before("Bash", "t1", command="make")
    fields = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": command}}
    context = repository.tell("PostToolUseFailure", **fields, error=error).context
    assert f"SecondBrain keeps {repository.project}/.claude/.gitignore there" in context
    assert "repeat" not in context
    context = repository.tell(
        "PostToolUseFailure", **fields, error=f"{error}\ntouch: /srv/x: Read-only file system"
    ).context
    assert "it may not write /srv/x" in context
    assert ".claude" not in context


HOOKS = b"--ro-bind-try\0%b/.git/hooks\0"


@pytest.mark.parametrize(
    "command", ["chmod -R u+w .", "chmod -R u+w . 2>/dev/null && chmod 755 a.txt; echo done"]
)
def test_agreed_modes_of_a_whole_folder_are_those_of_hooks_too(command: str, repository: Host) -> None:
    repository.configure("hooks: {approval: ask}\n")
    assert repository.before("Bash", "t1", command=command).decision is Decision.ASK
    assert options_of(repository)
    assert HOOKS % os.fsencode(repository.project) not in options_of(repository)
    repository.after("Bash", "t1", command=command)


@pytest.mark.parametrize(
    "command",
    [
        "chmod -R u+w . && python3 x.py",
        "chmod -R u+w . > .git/hooks/pre-push",
        "chmod -R u+w . > x",
        "chmod -R u+w $(python3 x.py)",
        "chmod -R u+w .; ./chmod",
        "chmod +x a.txt",
        "PATH=. chmod -R u+w .",
        "chmod -R u+w . & sh x.sh",
    ],
)
def test_line_that_does_more_changes_no_hooks(command: str, repository: Host) -> None:
    repository.configure("hooks: {approval: ask}\n")
    repository.before("Bash", "t1", command=command)
    folders = [path.read_bytes() for path in (repository.home / "confine").glob("folders/**/options")]
    hooks_option = HOOKS % os.fsencode(repository.project)
    assert all(hooks_option in options for options in (options_of(repository) or hooks_option, *folders))
    repository.after("Bash", "t1", command=command)


@pytest.mark.parametrize("folder", [".git", "sub/.git", ".git/modules/lib", ".git/worktrees/topic"])
def test_file_tool_asks_before_it_changes_a_repository(folder: str, host: Host) -> None:
    """All but a few files decide: which settings git reads, what it runs, what is in its records."""
    host.configure("hooks: {approval: ask}\n")
    decisive = "config config.worktree commondir gitdir HEAD index hooks/pre-push remotes/x branches/x info/attributes"
    decisive += " rebase-merge/git-rebase-todo sequencer/todo packed-refs refs/heads/description unknown remotes/x.lock"
    for name in decisive.split():
        verdict = host.before("Write", file_path=str(host.project / folder / name), content="x")
        assert verdict.decision is Decision.ASK, name
    for name in "info/exclude COMMIT_EDITMSG MERGE_MSG SQUASH_MSG description index.lock config.lock".split():
        verdict = host.before("Write", file_path=str(host.project / folder / name), content="x")
        assert verdict == HookVerdict(), name


@pytest.mark.parametrize("place", ["commondir", "comm*r", "config.worktree", "modules/a/config", "remotes/x"])
def test_line_that_leads_git_elsewhere_asks(place: str, host: Host) -> None:
    host.configure("hooks: {approval: ask}\n")
    assert host.before("Bash", command=f"echo x > .git/{place}").decision is Decision.ASK
    assert host.before("Bash", command=f"cat .git/{place}; rm -f .git/index.lock") == HookVerdict()
