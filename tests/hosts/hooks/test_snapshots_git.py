"""Lines in a git repository: the index, tracked files and folders come back with what was deleted."""

from __future__ import annotations

import subprocess

import pytest

from sb.hosts.hooks.event import Decision, HookVerdict
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import bash, run, tree, undo_all


@pytest.mark.parametrize(
    "command",
    [
        'rm -rf "$PWD/src"',
        "rm -rf ${PWD}/src",
        'cd src && rm -rf "$PWD/../src"',
        "make -s >/dev/null 2>&1; rm -rf src",
        "git rm -rq src",
        "git rm -rf src && rm a",
        "git restore --staged a && git restore a",
        "git restore --staged . && git restore .",
        "git reset -q && git checkout -- .",
        "git reset -q HEAD a; git checkout a",
    ],
)
def test_what_everyday_lines_delete_comes_back_with_the_index(host: Host, command: str) -> None:
    bash(
        "rmdir .git; git init -q; mkdir src; echo 1 > src/x; echo 1 > a; echo 1 > b; git add .; git commit -qm one;"
        "echo 2 > a; git add a; echo 3 > a; echo 2 > b; printf 'all:\\n\\techo 9 > built\\n' > Makefile; echo 4 > src/new",
        host.project,
    )
    before = tree(host.project)
    assert run(host, command, "t1") == HookVerdict()
    assert tree(host.project) != before
    assert undo_all(host) == ["reversed"]
    lost = {path: state for path, state in before.items() if tree(host.project).get(path) != state}
    assert [path for path in lost if not path.startswith(".git/")] == []
    assert ".git/index" not in lost


@pytest.mark.parametrize(
    "command",
    [
        "git mv Readme.md README.md",
        "mv Readme.md README.md",
        "git mv src Src",
        "mv src Src",
        "git mv src/x src/y lib",
        "git mv src lib",
        "cd src && git mv x ../Readme2.md",
        "git mv -f src/x Readme.md",
        "git mv -v src/x src/X && git commit -qm two",
    ],
)
def test_renamed_files_have_their_old_names_again(host: Host, command: str) -> None:
    bash(
        "rmdir .git; git init -q; mkdir src lib; echo 1 > src/x; echo 2 > src/y; echo 3 > lib/z; echo 4 > Readme.md;"
        "git add .; git commit -qm one; echo 5 > src/new; echo 6 >> src/y",
        host.project,
    )
    before = tree(host.project)
    assert run(host, command, "t1") == HookVerdict()
    after = tree(host.project)
    assert {path for path in after if not path.startswith(".git")} != {
        path for path in before if not path.startswith(".git")
    }
    assert undo_all(host) == ["reversed"]
    left = tree(host.project)
    assert {path: left.get(path) for path in before if not path.startswith(".git/")} == {
        path: state for path, state in before.items() if not path.startswith(".git/")
    }
    assert [path for path in left if path not in before and not path.startswith(".git/")] == []
    assert left[".git/index"] == before[".git/index"] or "commit" in command


@pytest.mark.parametrize(
    "command",
    ["git mv -k src/x lib", "git mv src/new lib/", "git mv 'src/*' lib", "git mv src/x", "git mv -n src/x a"],
)
def test_renaming_that_is_not_followed_goes_on_as_a_write(host: Host, command: str) -> None:
    bash(
        "rmdir .git; git init -q; mkdir src lib; echo 1 > src/x; git add .; git commit -qm one", host.project
    )
    assert host.before("Bash", command=command) == HookVerdict()


@pytest.mark.parametrize(
    "command",
    [
        "git pull; rm -rf src",
        "git mv src lib && rm -rf lib",
        "make & rm -rf src",
        "make; rm -rf src/*",
        "make; git clean -fdx",
        "PWD=/; rm -rf $PWD/src",
        "for d in src x; do make; rm -rf $d; done",
        "git rm -r '*.py'",
        "git reset -q --keep HEAD~1; git checkout -- .",
    ],
)
def test_lines_like_them_whose_deletions_are_not_known_are_asked_about(host: Host, command: str) -> None:
    bash("rmdir .git; git init -q; mkdir src; echo 1 > src/x.py; git add .; git commit -qm one", host.project)
    assert host.before("Bash", command=command).decision is Decision.ASK


def test_folder_that_git_makes_again_goes_when_that_is_undone(host: Host) -> None:
    bash(
        "rmdir .git; git init -q; mkdir -p src/deep; echo 1 > src/deep/x; git add .; git commit -qm one; rm -r src",
        host.project,
    )
    before = tree(host.project)
    assert run(host, "git checkout -- .", "t1") == HookVerdict()
    assert (host.project / "src" / "deep" / "x").exists()
    assert undo_all(host) == ["reversed"]
    assert not (host.project / "src").exists()
    assert {path for path in before if path not in tree(host.project)} == set()


@pytest.mark.parametrize("command", ["git reset -q --hard", "git rm -rqf a", "git restore --staged a"])
def test_index_comes_back_though_git_wrote_it_again_since(host: Host, command: str) -> None:
    bash(
        "rmdir .git; git init -q; echo 1 > a; echo 1 > b; git add .; git commit -qm one; echo 2 > a; git add a",
        host.project,
    )
    before = subprocess.check_output(["git", "ls-files", "-s"], cwd=host.project)
    assert run(host, command, "t1") == HookVerdict()
    bash("touch -d 2001-01-01 b; git status", host.project)
    assert undo_all(host) == ["reversed"]
    assert subprocess.check_output(["git", "ls-files", "-s"], cwd=host.project) == before


def test_index_in_which_something_else_was_staged_since_is_left_alone(host: Host) -> None:
    bash(
        "rmdir .git; git init -q; echo 1 > a; git add .; git commit -qm one; echo 2 > a; git add a",
        host.project,
    )
    assert run(host, "git reset -q --hard", "t1") == HookVerdict()
    bash("echo 1 > c; git add c", host.project)
    assert undo_all(host) != ["reversed"]
    assert b"\tc\n" in subprocess.check_output(["git", "ls-files", "-s"], cwd=host.project)
