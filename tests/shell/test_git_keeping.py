"""Files that git commands destroy come back: read from its files, with real git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.shell import classify
from sb.shell.snapshots.area import Area, plan
from sb.shell.snapshots.git_ignore import Ignored
from sb.store.packs import PackStore
from sb.store.path_states import rows_after
from sb.tools.pack_restoring import PackRestoring
from sb.tools.roots import Roots
from tests.rows import rows

Git = Callable[[str], str]
MADE = """
git init -q . && mkdir -p src/deep && echo one > a.txt && echo two > src/b.py && echo three > src/deep/c.py
ln -s a.txt l && printf 'x.log\\nout/\\n*.tmp\\n!keep.tmp\\n' > .gitignore && git add -A && git commit -qm one
echo more >> a.txt && git commit -qam two && git gc -q
echo stashed >> a.txt && echo s > with && git add with && git stash -q
echo dirty >> a.txt; echo staged > src/b.py; git add src/b.py; echo both >> src/b.py; echo new > src/new.py
git add src/new.py; rm src/deep/c.py; echo u > untracked; mkdir -p out un/deep; echo o > out/o; echo z > un/deep/z
echo t > x.log; echo k > keep.tmp; echo k > un/q.tmp; chmod +x untracked
"""
SNAPSHOT = [
    "git reset --hard",
    "git reset --hard HEAD~1",
    "git checkout -- .",
    "git checkout a.txt",
    "git checkout HEAD~1 -- src a.txt",
    "git restore -SW src",
    "git restore --source=HEAD~1 a.txt",
    "git checkout -- l .gitignore",  # where nothing is lost
    "git clean -fd src",
    "git clean -fd",
    "git clean -fdx",
    "cd src && git checkout -- .",
    "git stash drop",
    "git stash clear",
    "git reset --hard && git clean -fd",
    "git restore --staged . && git checkout -- .",
    "git restore --staged src/b.py && git restore src/b.py",
    "git reset -q && git restore .",
    "git reset -q HEAD src; git checkout src",
    "git rm -rqf src",
    "rm -r src/deep && git checkout -- src/deep",
    "git rm -qf a.txt l && git rm -q .gitignore --cached",
]
ASKED = [
    "git restore --staged . && git clean -fd",
    "echo > .gitignore; git clean -fd",
    "git stash drop && git stash drop",
    "git rm -rqf src; git clean -fd",
    "git rm --cached src/b.py && git restore src",
    "git restore --staged --source=HEAD~1 . && git restore .",
    "git rm -r ':/src'",
    "git checkout -- '*.txt'",
    "git reset --hard no-such-commit",
    "git pull; git checkout -- .",
    "git clean -fdi",
    "GIT_WORK_TREE=/ git clean -fd",
    "git -C src clean -fd",
    "git checkout feature && rm -rf src",  # may be a branch of a remote
    "git checkout HEAD~1 && rm -rf src",
    "git stash && rm -rf src",
]


def bash(command: str, folder: Path) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "shop"
    folder.mkdir()
    bash(MADE, folder)
    return folder


@pytest.fixture
def shop(made: Path, tmp_path: Path) -> Path:
    """A repository with changes of every kind."""
    bash(f"cp -a {made} {tmp_path}", tmp_path)
    return tmp_path / "shop"


def tree(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        if ".git" not in path.relative_to(folder).parts:
            content = (
                os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            )
            found[str(path.relative_to(folder))] = (content, path.lstat().st_mode)
    return found


def state(folder: Path) -> object:
    """All that a person has in a repository: files, index, branch and stashes."""
    output = bash("git ls-files -s; git rev-parse HEAD; git stash list", folder)
    return tree(folder), output


def judged(command: str, folder: Path) -> tuple[list[str] | None, dict[str, bytes]]:
    found = classify(command, cwd=folder, home=folder.parent / "nobody", protected=[], env={}).changes
    if found.changes is None:
        return None, {}
    planned = plan(found.changes, Area(str(folder), str(folder.parent / "nobody")))
    return (None if planned.why else list(planned.keep)), dict(found.extra)


def undone(command: str, shop: Path, packs: PackStore) -> None:
    """Run a command after a snapshot of what it destroys, and restore that."""
    paths, extra = judged(command, shop)
    assert paths, command
    pack = packs.take(f"key{packs.size().packs}", paths, session="one", extra=extra)
    bash(command, shop)
    PackRestoring(Roots([Path("/")], []), packs).restore(rows_after(pack), pack.header.key)


def test_what_git_destroyed_comes_back(shop: Path, tmp_path: Path) -> None:
    before, packs = state(shop), PackStore(tmp_path / "packs", durable=False)
    for command in SNAPSHOT:
        undone(command, shop, packs)
        assert state(shop) == before, command


@rows("command", ASKED)
def test_what_is_not_known_for_sure_is_asked(command: str, made: Path) -> None:
    assert judged(command, made)[0] is None


EXCLUDED = [
    ("git clean -fdx -e out", {"out/o"}),
    ("git clean -fdx --exclude=out/ --exclude '*.log'", {"out/o", "x.log"}),
    ("git clean -xdf -e un/deep -- un", {"un/deep/z"}),
    ("git clean -fdx -e '*.tmp' -e '!keep.tmp'", {"un/q.tmp"}),
    ("git clean -fdx -e '!out' -e un", {"un/deep/z", "un/q.tmp"}),
    ("git clean -fdx -e un -e '!un/deep'", {"un/deep/z", "un/q.tmp"}),
    ("git clean -fd -e /untracked", {"untracked", "x.log"}),
    ("git clean -fd -e '!x.log' -e '!out'", set()),
    ("git clean -fdX -e '!x.log' -e '!un/q.tmp'", {"x.log"}),
    ("git clean -fdX -e untracked", set()),
    ("git clean -fdX -e '!x.log' -e '[x].log'", set()),
    ("git clean -fdX -e '!X.LOG'", set()),
    ("git clean -fdX -e '!x.log/' -e '!x.[l]og'", set()),
    ("git clean -fdx -e 'out '", set()),
    ("cd un && git clean -fdx -e deep", {"un/deep/z"}),
    ("cd un && git clean -fdx -e /deep", set()),
]


@pytest.mark.parametrize(("command", "stays"), EXCLUDED)
def test_what_clean_excludes_is_not_stored(command: str, stays: set[str], shop: Path) -> None:
    before = {name for name in tree(shop) if not (shop / name).is_dir() or (shop / name).is_symlink()}
    paths, _ = judged(command, shop)
    assert paths is not None
    stored = {name for name in before if any(f"{shop}/{name}/".startswith(f"{path}/") for path in paths)}
    bash(command, shop)
    gone = before - set(tree(shop))
    assert gone <= stored
    assert stays <= before - gone
    assert not stays & stored


def test_dropped_stash_comes_back_after_its_objects_were_collected(shop: Path, tmp_path: Path) -> None:
    before, packs = state(shop), PackStore(tmp_path / "packs", durable=False)
    collected = "git stash drop -q && git reflog expire --expire=now --all && git gc -q --prune=now"
    paths, extra = judged("git stash drop", shop)
    pack = packs.take("key", paths or [], session="one", extra=extra)
    bash(collected, shop)
    PackRestoring(Roots([Path("/")], []), packs).restore(rows_after(pack), "key")
    assert state(shop) == before
    assert "stashed" in bash("git stash show -p", shop)


@pytest.mark.parametrize(
    "prepared",
    [
        "git config core.worktree /",
        "git config include.path other",
        "git update-index --split-index",
        "touch .git/MERGE_HEAD",
        "mkdir -p .git/objects/info && echo /elsewhere > .git/objects/info/alternates",
        "rm .git/index && ln -s /elsewhere .git/index",
        "echo rubbish > .git/index",
    ],
)
def test_repository_that_is_not_read_is_asked_about(prepared: str, shop: Path) -> None:
    bash(prepared, shop)
    assert judged("git reset --hard", shop)[0] is None


def test_settings_of_a_repository_run_nothing(shop: Path) -> None:
    trap = shop.parent / "ran"
    script = shop.parent / "trap.sh"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    bash(
        f"git config core.fsmonitor {script}; git config filter.x.clean {script}; echo '* filter=x' > .gitattributes",
        shop,
    )
    judged("git reset --hard && git clean -fd", shop)
    judged("git stash drop", shop)
    assert not trap.exists()


@pytest.mark.parametrize("version", [3, 4])
def test_index_of_every_version_is_read(version: int, shop: Path, tmp_path: Path) -> None:
    bash(f"git add -N untracked; git update-index --index-version {version}", shop)
    before = state(shop)
    undone("git reset --hard", shop, PackStore(tmp_path / "packs", durable=False))
    assert state(shop) == before


NAMES = st.sampled_from(["a", "b", "a.log", "build", "x"])
RULES = st.lists(
    st.tuples(
        st.sampled_from(["", "!"]),
        st.sampled_from(["", "/", "**/", "b/"]),
        st.sampled_from(["a", "b", "*.log", "build", "x", "a*", "?", "**", "b/**", "[ab]"]),
        st.sampled_from(["", "/"]),
    ).map("".join),
    max_size=4,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RULES, RULES, st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=6))
def test_what_is_surely_ignored_is_ignored_by_git(
    tmp_path_factory: pytest.TempPathFactory, rules: list[str], deeper: list[str], paths: list[str]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "ignoring"
    if not folder.exists():
        (folder / "b").mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    texts = {"": "\n".join(rules), "b": "\n".join(deeper)}
    for name, text in texts.items():
        (folder / name / ".gitignore").write_text(text)
    ignored = Ignored(lambda name: texts.get(name, ""))
    data = "\n".join(paths).encode()
    asked = ["git", "check-ignore", "--stdin", "--no-index"]
    matches = (
        subprocess.run(asked, cwd=folder, input=data, capture_output=True, check=False)
        .stdout.decode()
        .splitlines()
    )
    assert {path for path in paths if ignored.surely(path, folder=False)} <= set(matches)
