"""Programs that change files of a project: its tree is stored first, and what they changed comes back to the byte."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sb.config.home import Home
from sb.hosts.hooks.calls.context import SHELL_PREFIX
from sb.hosts.hooks.event import HookVerdict
from sb.runtime import Runtime
from sb.runtime.parts import open_snapshots
from sb.tools.hosted.guarding import confiner_path
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import ADA, bash, run, undo_all

SLOW = "undo: {tree_ms: 60000}\n"  # a busy machine is no reason to store none


@pytest.fixture
def shop(host: Host) -> Host:
    """A repository with one commit, whose programs are scripts of its own."""
    host.configure(SLOW)
    bash(
        "rmdir .git; git init -q -b main; mkdir src; printf 'a = 1\\r\\n' > src/a.py; echo 'b = 1' > src/b.py;"
        "printf '*.log\\nout/\\n' > .gitignore; git add .; git commit -qm one",
        host.project,
    )
    return host


def state(folder: Path) -> dict[bytes, tuple[int, bytes]]:
    """Everything in a project but what git may write again and caches: kind and mode, and content or target."""
    entries = {}
    for place, folders, files in os.walk(os.fsencode(folder)):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            else:
                content = Path(os.fsdecode(path)).read_bytes() if stat.S_ISREG(status.st_mode) else b""
            entries[path[len(os.fsencode(folder)) + 1 :]] = (status.st_mode, content)
    return entries


def of_work(folder: Path) -> dict[bytes, tuple[int, bytes]]:
    return {path: item for path, item in state(folder).items() if b".git/" not in path + b"/"}


def program(host: Host, text: str, name: str = "change.py") -> str:
    """A script outside of the project's files that the guard can read; returns the line that runs it."""
    (host.project / "tools").mkdir(exist_ok=True)
    (host.project / "tools" / name).write_text(f"import os, shutil, subprocess, pathlib\n{text}\n", "utf-8")
    return f"python3 tools/{name}"


def changes(host: Host, line: str, use_id: str = "t1") -> None:
    before = state(host.project)
    assert run(host, line, use_id) == HookVerdict()
    assert state(host.project) != before, f"{line} changed nothing"


def test_what_a_program_changed_created_removed_and_renamed_comes_back(shop: Host) -> None:
    line = program(
        shop,
        "p = pathlib.Path('src/a.py'); p.write_bytes(p.read_bytes().replace(b'\\r\\n', b'\\n'))\n"
        "os.rename('src/b.py', 'src/c.py'); os.makedirs('new/deep'); pathlib.Path('new/deep/x').write_text('x')\n"
        "os.unlink('untracked'); shutil.rmtree('gone'); os.rmdir('empty/inner'); os.chmod('mode', 0o755)\n"
        "os.chmod('private', 0o644); os.unlink('link'); os.symlink('src/c.py', 'link')\n"
        "os.unlink(b'odd\\xff name'); shutil.rmtree('folder'); pathlib.Path('folder').write_text('a file now')\n"
        "os.mkdir('void')",
    )
    bash(
        "echo u > untracked; mkdir -p gone/deep empty/inner folder; echo g > gone/deep/g; chmod 750 gone; echo m > mode;"
        "echo p > private; chmod 600 private; ln -s src/a.py link; printf o > $'odd\\xff name'; echo f > folder/f",
        shop.project,
    )
    before = of_work(shop.project)
    changes(shop, line)
    assert undo_all(shop) == ["reversed"]
    assert of_work(shop.project) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_what_a_program_closed_to_its_own_user_comes_back(shop: Host) -> None:
    bash("mkdir shut narrow; echo x > shut/x; echo y > narrow/y", shop.project)
    line = program(
        shop,
        "os.chmod('src/a.py', 0); os.chmod('shut', 0); os.unlink('src/b.py'); os.unlink('narrow/y')\n"
        "os.chmod('narrow', 0o555); os.chmod('.', 0o750)",
    )
    before = of_work(shop.project)
    assert run(shop, line, "t1") == HookVerdict()
    assert undo_all(shop) == ["reversed"]
    assert of_work(shop.project) == before


def test_makefiles_and_formatters_are_undone(shop: Host) -> None:
    (shop.project / "Makefile").write_text(
        "fmt:\n\t@sed -i s/1/2/ src/b.py; rm src/a.py; echo built > built\n"
    )
    before = of_work(shop.project)
    changes(shop, "make fmt")
    assert undo_all(shop) == ["reversed"]
    assert of_work(shop.project) == before


def test_refs_index_and_stash_come_back_with_their_commits(shop: Host) -> None:
    bash(
        "git checkout -qb topic; echo t > topic; git add topic; git commit -qm topic; git checkout -q main;"
        "echo 'b = 9' > src/b.py; git stash -q; echo 's = 1' > src/staged.py; git add src/staged.py",
        shop.project,
    )
    before = state(shop.project)
    topic = subprocess.check_output(["git", "rev-parse", "topic"], cwd=shop.project, text=True).strip()
    line = program(
        shop,
        "for c in ('branch -D topic', 'stash drop', 'reset -q'):\n"
        "    subprocess.run(['git', *c.split()], check=True, capture_output=True)",
    )
    changes(shop, line)
    bash("git reflog expire --expire=now --all; git prune --expire=now", shop.project)
    assert subprocess.run(["git", "cat-file", "-e", topic], cwd=shop.project, check=False).returncode != 0
    assert undo_all(shop) == ["reversed"]
    after = state(shop.project)
    names = (b".git/HEAD", b".git/index", b".git/refs", b".git/logs/refs/stash", b"src")
    assert {path for path in before if path.startswith(names) and before[path] != after.get(path)} == set()
    assert subprocess.check_output(["git", "show", "topic:topic"], cwd=shop.project, text=True) == "t\n"
    bash("git fsck; git stash pop -q; grep -q 9 src/b.py", shop.project)


def test_nested_repositories_submodules_and_linked_worktrees_come_back(shop: Host) -> None:
    bash(
        "git init -q inner; cd inner; echo i > i; git add i; git commit -qm i; echo loose > loose; cd ..;"
        "git init -q bare-of-commits; echo n > bare-of-commits/n;"
        "git -c protocol.file.allow=always submodule add -q ./inner sub; git worktree add -q wt",
        shop.project,
    )
    line = program(
        shop,
        "for p in ('inner/i', 'inner/loose', 'bare-of-commits/n', 'sub/i', 'wt/src/a.py'):\n"
        "    pathlib.Path(p).write_text('changed')\n"
        "for f in ('inner', 'sub', 'wt'):\n"
        "    subprocess.run(['git', 'checkout', '-q', '--detach'], check=True, cwd=f)",
    )
    before = state(shop.project)
    changes(shop, line)
    assert undo_all(shop) == ["reversed"]
    after = state(shop.project)
    differs = {
        path
        for path in before
        if before[path] != after.get(path) and not path.endswith((b"/HEAD", b"/index"))
    }
    assert differs == set()
    heads = (b"inner/.git/HEAD", b".git/modules/sub/HEAD", b".git/worktrees/wt/HEAD")
    assert all(before[path] == after[path] for path in heads)


def test_repository_that_names_programs_runs_none_of_them(shop: Host, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\necho $0 $* >> {ran}\ncat\n")
    evil.chmod(0o755)
    (tmp_path / "included").write_text(f"[core]\n\tfsmonitor = {evil}\n")
    bash(
        f"echo '*.py filter=evil diff=evil text eol=crlf ident' > .gitattributes; mkdir -p hooks inner; git init -q inner;"
        f"echo 1 > inner/1; cp {evil} hooks/post-index-change; cp {evil} hooks/reference-transaction;"
        f"for r in . inner; do cd $OLDPWD$PWD 2>/dev/null || true; done",
        shop.project,
    )
    config = (
        f"\n[core]\n\tfsmonitor = {evil}\n\thooksPath = {shop.project}/hooks\n\tpager = {evil}\n\tsshCommand = {evil}\n"
        f'[filter "evil"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n\trequired = true\n'
        f'[diff "evil"]\n\ttextconv = {evil}\n\tcommand = {evil}\n[include]\n\tpath = {tmp_path}/included\n'
        f'[includeIf "gitdir:/"]\n\tpath = {tmp_path}/included\n'
    )
    for folder in (shop.project, shop.project / "inner"):
        with (folder / ".git" / "config").open("a") as file:
            file.write(config)
        (folder / ".git" / "objects" / "info" / "alternates").write_text(f"{tmp_path}\n")
    (shop.project / "src" / "a.py").write_bytes(b"$Id$ \r\n mixed \n")
    line = program(shop, "pathlib.Path('src/a.py').write_text('x'); pathlib.Path('inner/1').write_text('x')")
    before = of_work(shop.project)
    changes(shop, line)
    assert undo_all(shop) == ["reversed"]
    assert of_work(shop.project) == before
    assert not ran.exists(), ran.read_text()


def test_credentials_are_left_out_and_named(shop: Host) -> None:
    (shop.project / ".env.production").write_text("TOKEN=geheim-4711\n")
    line = program(
        shop, "pathlib.Path('.env.production').write_text('x'); pathlib.Path('src/b.py').write_text('x')"
    )
    changes(shop, line)
    stored = subprocess.run(["grep", "-rl", "geheim", shop.home / "trees"], capture_output=True, check=False)
    assert stored.stdout == b""
    left_out: Any = outcome(shop)["not_restored"]
    assert [item["path"] for item in left_out] == [str(shop.project / ".env.production")]
    assert undo_all(shop) == ["reversed"]
    assert (shop.project / "src" / "b.py").read_text() == "b = 1\n"
    assert (shop.home / "trees").stat().st_mode & 0o777 == 0o700


def outcome(host: Host) -> dict[str, object]:
    payload = host.events(kind="kernel.tool.dispatch")[-1].payload or {}
    return dict(payload["result"])


def test_tree_that_takes_too_long_is_stored_behind_the_call_and_the_reason_is_on_record(shop: Host) -> None:
    shop.configure("undo: {tree_ms: 1}\n")
    changes(shop, 'touch named && python3 -c \'open("src/b.py", "w")\' && sort -o src/a.py src/b.py')
    assert outcome(shop)["tree_why"] == "it takes longer than 1 ms (undo.tree_ms)"
    assert undo_all(shop) == ["reversed"]
    assert (shop.project / "src" / "a.py").read_bytes() == b"a = 1\r\n"  # the line names it
    changes(shop, program(shop, "open('new', 'w')"), "t2")
    with shop.open() as runtime:
        newest = runtime.recovery.mutations.last(undoable=False)
    assert "takes longer than 1 ms" in newest.no_way_back


def test_line_that_names_all_that_it_changes_needs_no_tree(shop: Host) -> None:
    shop.configure("undo: {tree_ms: 1}\n")
    (shop.project / "src" / "b.py").write_text("b = 2\n", "utf-8")
    before = of_work(shop.project)
    assert run(shop, "git restore --staged src/b.py && git restore src/b.py", "t1") == HookVerdict()
    assert of_work(shop.project) != before
    assert undo_all(shop) == ["reversed"]
    assert of_work(shop.project) == before


def test_call_that_changes_nothing_leaves_no_undo_record(shop: Host) -> None:
    assert run(shop, "ruff format src/none.py || true", "t1") == HookVerdict()
    with shop.open() as runtime:
        assert runtime.recovery.mutations.newest() == []


def test_trees_can_be_switched_off(shop: Host) -> None:
    for text in ("hooks: {keep: false}\n", "undo: {tree_ms: 0}\n"):
        shop.configure(text)
        assert shop.before("Bash", command="make fmt") == HookVerdict()
    assert not (shop.home / "trees").exists()


def test_calls_of_two_sessions_at_once_are_undone_each(shop: Host) -> None:
    other = Host(shop.home, shop.project, "session-2", forks=shop.forks)
    first, second = {"command": "make one"}, {"command": "make two"}
    assert shop.before("Bash", "t1", **first) == HookVerdict()
    (shop.project / "src" / "a.py").write_text("one")
    assert other.before("Bash", "t2", **second) == HookVerdict()
    (shop.project / "src" / "b.py").write_text("two")
    other.after("Bash", "t2", {"stdout": ""}, **second)
    assert outcome(shop)["overlapping"] == 1
    shop.after("Bash", "t1", {"stdout": ""}, **first)
    with shop.open() as runtime:
        two, item = (ref.mutation_id for ref in runtime.recovery.mutations.newest()[::-1])
        for mutation_id, left in ((two, "b = 1\n"), (item, "b = 1\n")):
            ref = runtime.recovery.mutations.get(mutation_id)
            assert runtime.recovery.undo(ref, ADA, "not wanted").state == "reversed"
            assert (shop.project / "src" / "b.py").read_text() == left
    assert (shop.project / "src" / "a.py").read_bytes() == b"a = 1\r\n"


def test_call_in_the_background_ends_with_the_next_stored_tree(shop: Host) -> None:
    given = {"command": "make watch", "run_in_background": True}
    assert shop.before("Bash", "t1", **given) == HookVerdict()
    shop.after("Bash", "t1", {"stdout": ""}, **given)
    (shop.project / "src" / "a.py").write_text("by the watcher")
    shop.tell("Stop")
    assert shop.phases()[-1] == "intent"
    assert run(shop, "make other", "t2") == HookVerdict()
    (shop.project / "src" / "a.py").chmod(0o644)
    assert undo_all(shop)[-1] == "reversed"
    assert (shop.project / "src" / "a.py").read_bytes() == b"a = 1\r\n"


def test_call_whose_report_is_lost_ends_with_the_next_tree(shop: Host) -> None:
    assert shop.before("Bash", "t1", command="make lost") == HookVerdict()
    (shop.project / "src" / "a.py").write_text("by the lost call")
    other = Host(shop.home, shop.project, "session-2", forks=shop.forks)
    assert other.before("Bash", "t2", command="make more") == HookVerdict()
    (shop.project / "src" / "b.py").write_text("by the other")
    shop.tell("Stop")
    with shop.open() as runtime:
        (doubtful,) = (item for item in runtime.executor.in_doubt() if item.step == "t1")
        rows = shop_files(runtime, doubtful.idempotency_key)
    assert rows == {str(shop.project / "src" / "a.py")}


def shop_files(runtime: Runtime, key: str) -> set[str]:
    return {entry.path for entry in open_snapshots(runtime.config).packs.get(key).entries}


def test_last_call_that_cannot_be_undone_is_named_and_no_other_offered(shop: Host) -> None:
    shop.write(shop.project / "src" / "a.py", "by the agent", "t1")
    assert run(shop, "make -s nothing", "t2") == HookVerdict()
    assert shop.before("Bash", "t3", command="curl -s https://example.org") == HookVerdict()
    shop.after("Bash", "t3", {"stdout": ""}, command="curl -s https://example.org")
    assert shop.forks is not None
    done = shop.forks.run("-m", "sb", "undo", "--yes", env=shop._env(), cwd=shop.project)
    assert done.returncode != 0
    assert (shop.project / "src" / "a.py").read_text() == "by the agent"
    assert "it changed no file of the project" in done.stderr
    assert "the last call (curl -s https://example.org) was not kept" in done.stderr
    assert "mut_" not in done.stderr.partition("was not kept")[2], "no older one is offered"


# Lines of which the snapshot of what they name is not all: the index, refs, and what is unpacked.
MORE_THAN_NAMED = (
    "sed -i s/1/2/ src/a.py && git add src", "sed -i s/1/2/ src/a.py && git add src && git -c user.name=a -c user.email=a@b commit -qm two", "echo x > src/a.py; git tag v9",
    "tar -xf pack.tar", "cp src/b.py src/c.py && git add src/c.py", "patch -p1 < more.patch",
)  # fmt: skip


@pytest.mark.parametrize("line", MORE_THAN_NAMED)
def test_what_a_line_does_beside_the_files_that_it_names_comes_back(line: str, shop: Host) -> None:
    bash(
        "printf 'c = 1\\n' > src/new.py; tar -cf pack.tar src/new.py src/b.py; git diff --no-index --output=more.patch /dev/null src/new.py || true; rm src/new.py",
        shop.project,
    )
    before, refs = of_work(shop.project), of_git(shop.project)
    changes(shop, line)
    assert undo_all(shop) == ["reversed"]
    assert of_work(shop.project) == before
    assert of_git(shop.project) == refs


def of_git(folder: Path) -> bytes:
    shown = "git for-each-ref; git rev-parse HEAD; git ls-files -s; git status"
    return subprocess.run(["sh", "-c", shown], cwd=folder, check=True, capture_output=True).stdout


@pytest.mark.parametrize("command", ["git rebase other", "git cherry-pick other", "git merge other"])
def test_operation_that_stops_on_a_conflict_leaves_nothing_behind(command: str, shop: Host) -> None:
    bash(
        "git checkout -qb other; echo o > src/b.py; git commit -qam o; git checkout -q main; echo m > src/b.py; git commit -qam m",
        shop.project,
    )
    line = program(
        shop, f"subprocess.run('GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b {command}', shell=True)"
    )
    shown = of_git(shop.project)
    changes(shop, line)
    assert undo_all(shop) == ["reversed"]
    assert of_git(shop.project) == shown


def test_folder_that_a_call_moved_comes_back_and_goes_from_where_it_is(shop: Host) -> None:
    line = program(shop, "os.rename('src', 'moved')")
    before = of_work(shop.project)
    changes(shop, line)
    assert undo_all(shop) == ["reversed"]
    assert of_work(shop.project) == before


def test_scratch_that_a_longer_line_deletes_comes_back(
    shop: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lies beside the project, in no tree: the line's snapshot has it."""
    monkeypatch.setenv(SHELL_PREFIX, str(confiner_path(Home(shop.home))))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "notes").write_text("mine")
    line = program(shop, "pathlib.Path('src/a.py').write_text('changed')")
    changes(shop, f"{line}; rm -rf {tmp_path}/kept && git checkout -q src/b.py")
    assert not (tmp_path / "kept").exists()
    assert undo_all(shop) == ["reversed"]
    assert (tmp_path / "kept" / "notes").read_text() == "mine"
    assert (shop.project / "src" / "a.py").read_bytes() == b"a = 1\r\n"


def test_folder_that_a_call_replaced_by_a_link_comes_back(shop: Host) -> None:
    line = program(shop, "os.rename('src', 'moved'); os.symlink('moved', 'src'); os.unlink('.gitignore')")
    before = of_work(shop.project)
    changes(shop, line)
    assert undo_all(shop) == ["reversed"]
    assert of_work(shop.project) == before


def test_modes_of_folders_come_back(shop: Host) -> None:
    bash("mkdir gone opened; echo k > gone/k; echo k > opened/k; chmod 700 gone opened", shop.project)
    line = program(shop, "shutil.rmtree('gone'); os.chmod('opened', 0o777)")
    before = of_work(shop.project)
    changes(shop, line)
    undo_all(shop)
    assert of_work(shop.project) == before


def test_deep_tree_comes_back_with_what_is_after_it(shop: Host) -> None:
    deep = shop.project.joinpath(*["dd"] * 200)
    deep.mkdir(parents=True)
    (deep / "f").write_text("f")
    (shop.project / "zz").write_text("precious")
    line = program(shop, "shutil.rmtree('dd'); os.unlink('zz')")
    before = of_work(shop.project)
    changes(shop, line)
    assert undo_all(shop) == ["reversed"]
    assert of_work(shop.project) == before
