"""Files that a call moved or uncovered: undo never removes content that is stored nowhere else."""

from __future__ import annotations

import os
from pathlib import Path
from zlib import crc32

from sb.hosts.hooks.event import HookVerdict
from sb.present.undo import not_restored
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import ADA, bash, run, undo_all
from tests.hosts.hooks.test_trees import changes, of_work, program, shop
from tests.rows import rows

__all__ = ["shop"]

MOVES = [
    "os.rename('app.log', 'app.bak')",
    "os.rename('out/x', 'src/x')",
    "os.rename('.env', 'env.txt')",
    "os.rename('ln.log', 'ln')",
    "os.makedirs('new/deep'); os.rename('app.log', 'new/deep/app.bak')",
    "os.rename('app.log', 'app.bak'); os.link('app.bak', 'second')",
    "os.rename('../report', 'report')",
    "shutil.copy2('../report', 'report'); os.unlink('../report')",  # as where /tmp is mounted
    "os.rename(next(name for name in os.listdir() if name == 'src'), 'lib')",
    "os.unlink('.gitignore'); open('app.log', 'a').write('more'); open('out/x', 'r+').write('p')",
]
LINES = [
    'for f in *.log; do mv "$f" "$f.bak"; done',
    "find . -name 'app.log' -exec mv {} {}.bak \\;",
    "git add -f app.log && git mv app.log app.txt",
]


def contents(folder: Path) -> set[bytes]:
    """The contents below a folder that begin as the tests' do."""
    found = set()
    for place, _, files in os.walk(folder):
        for name in files:
            path = Path(place, name)
            text = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            if text[:8].lower() == b"precious" and ".git/" not in str(path):
                found.add(text.lower()[:10])
    return found


def fill(host: Host) -> None:
    bash(
        "git checkout -qf main; git clean -fdxq; echo precious1 > app.log; mkdir -p out src/out; echo precious2 > out/x;"
        "echo precious3 > .env; ln -s precious4 ln.log; echo precious5 > src/out/y; echo precious6 > ../report",
        host.project,
    )


def test_what_a_program_moved_or_uncovered_stays(shop: Host) -> None:
    bash("printf '.env\\n' >> .gitignore; git commit -qam env", shop.project)
    for number, text in enumerate(MOVES):
        fill(shop)
        before = contents(shop.project.parent)
        assert len(before) == 6
        changes(shop, program(shop, text), f"t{number}")
        with shop.open() as runtime:
            ref = runtime.recovery.mutations.last()
            plan = runtime.recovery.plan(ref)
            undone = runtime.recovery.undo(ref, ADA, "not wanted")
        assert contents(shop.project.parent) == before, text
        assert undone.state in ("in part", "failed"), (text, undone)
        assert "stored nowhere else" in plan.detail, (text, plan.detail)
        assert "stored nowhere else" in undone.detail, (text, undone)


def test_what_a_line_moved_stays(shop: Host) -> None:
    bash("printf '.env\\n' >> .gitignore; git commit -qam env", shop.project)
    for number, line in enumerate(LINES):
        fill(shop)
        before = contents(shop.project.parent)
        assert run(shop, line, f"t{number}") == HookVerdict(), line
        with shop.open() as runtime:
            runtime.recovery.undo(runtime.recovery.mutations.last(), ADA, "not wanted")
        assert contents(shop.project.parent) == before, line


@rows(
    "text",
    [
        "os.rename('src/a.py', 'src/z.py')",
        "os.rename('src', 'lib')",
        "shutil.copytree('src', 'copy'); shutil.copy2('src/a.py', 'b.py')",
        "subprocess.run('git archive HEAD | tar xf - -C .. && mkdir un && git archive HEAD src | tar xf - -C un', shell=True)",
        "os.link('app.log', 'second')",
        "pathlib.Path('built').write_text('x'); os.utime('built', (1, 1))",
        "subprocess.run(['git', 'branch', '-m', 'main', 'trunk'])",
        "subprocess.run(['git', 'mv', 'src/a.py', 'c.py'])",
        "pathlib.Path('new').write_text('x'); os.rename('new', 'newer')",
    ],
)
def test_what_a_program_made_or_moved_in_the_tree_goes(shop: Host, text: str) -> None:
    bash(
        "git checkout -qf main 2>/dev/null || git branch -m trunk main; git clean -fdq; echo 1 > app.log",
        shop.project,
    )
    line = program(shop, text)
    before = of_work(shop.project)
    changes(shop, line, f"t{crc32(text.encode())}")
    with shop.open() as runtime:
        undone = runtime.recovery.undo(runtime.recovery.mutations.last(), ADA, "not wanted")
    assert (undone.state, of_work(shop.project)) == ("reversed", before), undone


def test_moved_repository_stays_whole(shop: Host) -> None:
    bash("git init -q inner; cd inner; echo i > i; git add i; git commit -qm i", shop.project)
    changes(shop, program(shop, "os.rename('inner', 'outer')"))
    undo_all(shop)
    bash("cd outer; git fsck; git show HEAD:i", shop.project)


def test_forced_undo_keeps_what_it_removes(shop: Host) -> None:
    fill(shop)
    changes(shop, program(shop, "os.rename('app.log', 'app.bak')"))
    with shop.open() as runtime:
        ref = runtime.recovery.mutations.last()
        assert runtime.recovery.undo(ref, ADA, "not wanted", force=True).state == "reversed"
        assert not (shop.project / "app.bak").exists()
        again = runtime.recovery.mutations.last()
        assert runtime.recovery.undo(again, ADA, "wanted").state == "reversed"
    assert (shop.project / "app.bak").read_text() == "precious1\n"


@rows("options", ["-a", "-aq", "push --all", "save -a", "push -u -a -m mine", "-u -q -a"])
def test_stash_with_ignored_files_stays(shop: Host, options: str) -> None:
    bash(
        "git stash clear; git checkout -qf; git clean -fdxq; echo precious1 > app.log; echo n > new",
        shop.project,
    )
    (shop.project / "src/a.py").write_text("changed")
    assert run(shop, f"git stash {options}", f"t{crc32(options.encode())}") == HookVerdict()
    assert not (shop.project / "app.log").exists()
    with shop.open() as runtime:
        ref = runtime.recovery.mutations.last()
        assert runtime.recovery.undo(ref, ADA, "not wanted").state == "reversed"
        assert [line for line in not_restored(ref, runtime.log) if "refs/stash" in line]
    assert ((shop.project / "src/a.py").read_text(), (shop.project / "new").read_text()) == ("changed", "n\n")
    bash("git show stash@{0}^3:app.log | grep precious1", shop.project)


@rows("options", ["", "-u", "push -u -m mine", "push --keep-index"])
def test_stash_of_what_the_tree_holds_goes(shop: Host, options: str) -> None:
    bash(
        "git stash clear; git checkout -qf; git clean -fdxq; echo precious1 > app.log; echo n > new",
        shop.project,
    )
    (shop.project / "src/a.py").write_text("changed")
    before = of_work(shop.project)
    assert run(shop, f"git stash {options}", f"t{crc32(options.encode())}") == HookVerdict()
    with shop.open() as runtime:
        ref = runtime.recovery.mutations.last()
        assert runtime.recovery.undo(ref, ADA, "not wanted").state == "reversed"
        assert list(not_restored(ref, runtime.log)) == []
    assert of_work(shop.project) == before
    assert not (shop.project / ".git/refs/stash").exists()


def test_stash_beside_an_older_one_stays(shop: Host) -> None:
    bash("echo 1 > src/a.py; git stash -q; echo precious1 > app.log; echo 2 > src/a.py", shop.project)
    changes(shop, program(shop, "subprocess.run(['git', 'stash', '-a', '-q'], check=True)"))
    undo_all(shop)
    bash("git show stash@{0}^3:app.log; git show stash@{1}:src/a.py | grep 1", shop.project)
