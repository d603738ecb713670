"""`sb undo` of a program that keeps the tree after it from being stored, or makes more than undo takes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CommandLine
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import bash, run
from tests.hosts.hooks.test_trees import program

LOSES = "shutil.rmtree('keep'); "


def prepare(host: Host, settings: str = "") -> Path:
    host.configure(f"undo: {{tree_ms: 60000{settings}}}\n")
    bash("rmdir .git; git init -q; mkdir keep; echo a > keep/a; echo c > cart.py; git add .", host.project)
    bash("git commit -qm one; echo only > keep/untracked", host.project)
    return host.project / "keep" / "untracked"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("os.unlink('cart.py'); os.mkfifo('cart.py')", 6),
        ("os.mkfifo('.gitignore')", 6),
        ("[(os.makedirs(f'n{n}/.git'), pathlib.Path(f'n{n}/.git/HEAD').touch()) for n in range(60)]", 6),
        ("os.unlink('.git/info/exclude'); os.mkfifo('.git/info/exclude')", 6),
        ("os.unlink('.git/config'); os.mkfifo('.git/config')", 6),
        ("os.mkdir('x'); [pathlib.Path(f'x/{n}').touch() for n in range(2500)]", 6),
        ("[pathlib.Path(f'{n}').touch() for n in range(2500)]", 6),
        (
            (
                "os.makedirs('n/.git/refs'); pathlib.Path('n/.git/HEAD').write_text('ref: refs/x');"
                "os.mkdir('n/.git/objects'); pathlib.Path('n/.git/commondir').write_text('')"
            ),
            6,
        ),
    ],
)
def test_what_a_program_deleted_comes_back_whatever_it_left_behind(
    sb: CommandLine, host: Host, text: str, code: int
) -> None:
    lost = prepare(host)
    run(host, program(host, LOSES + text), "t1")
    assert not lost.exists()
    undone = sb("undo", "--yes")
    assert lost.exists(), undone.err + undone.out
    assert lost.read_text() == "only\n"
    assert undone.code == code
    assert ("not restored: " in undone.err + undone.out) == (code == 6)


def test_tree_that_is_larger_than_the_store_is_compared_with_what_is_on_disk(
    sb: CommandLine, host: Host
) -> None:
    lost = prepare(host, ", store_max_bytes: 2000000")
    large = "[pathlib.Path(f'{n}').write_bytes(os.urandom(1 << 19)) for n in range(12)]"
    run(host, program(host, LOSES + large), "t1")
    undone = sb("undo", "--yes")
    assert (lost.read_text(), undone.code) == ("only\n", 6)
    assert f"not restored: {host.project} (keeps what was made in it" in undone.err
    assert "in part" in sb("undo", "--list").out or "undone" in sb("undo", "--list").out


def test_deleted_files_come_back_where_they_are_more_than_a_call_may_change(
    sb: CommandLine, host: Host
) -> None:
    lost = prepare(host)
    bash("seq 40 | (cd keep; xargs touch)", host.project)
    host.configure("undo: {tree_ms: 60000, call_max_files: 9}\n")
    run(host, program(host, LOSES + "pathlib.Path('cart.py').write_text('x')"), "t1")
    assert not lost.exists()
    undone = sb("undo", "--yes")
    assert (undone.code, len([*lost.parent.iterdir()])) == (0, 42), undone.err


def test_what_is_left_is_named_everywhere_however_many_files_the_call_changed(
    sb: CommandLine, host: Host
) -> None:
    lost = prepare(host)
    bash("seq 3000 | (cd keep; xargs touch)", host.project)
    host.configure("undo: {tree_ms: 60000, call_max_files: 500}\n")
    run(host, program(host, LOSES), "t1")
    record = sb("undo", "--list").out.split()[-1]
    answers = [sb("undo", "--dry-run"), sb("undo", "show", record), sb("undo", "--yes")]
    assert [answer.code for answer in answers] == [6, 6, 6]
    assert len([*lost.parent.iterdir()]) == 2499
    named = f"not restored: {lost.parent} (503 paths in it: each is one path too many"
    assert [named in answer.err + answer.out for answer in answers] == [True, True, True]
