"""Projects with more repositories than are stored: none is lost unnamed, and none for a line that nobody approved."""

from __future__ import annotations

import pytest

from sb.hosts.hooks.event import Decision
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_confining import confined, repository  # noqa: F401 - fixtures
from tests.hosts.hooks.test_snapshots import bash, run, undo_all
from tests.hosts.hooks.test_trees import outcome, program, shop  # noqa: F401 - fixtures

MAKES = """for n in range(60):
    for d in ('objects', 'refs'): os.makedirs(f'a{n:02}/.git/{d}')
    pathlib.Path(f'a{n:02}/.git/HEAD').write_text('ref: refs/heads/main')"""
MINE = "git init -q zlib; cd zlib; echo mine > u; git add u; git commit -qm x; echo work > w"


def not_restored(host: Host) -> list[str]:
    rows: object = outcome(host).get("not_restored")
    return [str(row["path"]) for row in rows] if isinstance(rows, list) else []


def test_new_repositories_push_out_none_that_was_stored(shop: Host) -> None:  # noqa: F811
    bash(MINE, shop.project)
    run(shop, program(shop, MAKES), "t1")
    run(shop, program(shop, "shutil.rmtree('zlib')", "lose.py"), "t2")
    assert not (shop.project / "zlib").exists()
    undo_all(shop)
    assert (shop.project / "zlib" / "w").read_text() == "work\n"


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("shutil.rmtree('zlib')", True),
        ("pathlib.Path('zlib/w').write_text('x')", True),
        ("os.unlink('zlib/w')", True),
        ("os.rename('zlib', 'other')", True),
        ("pathlib.Path('src/a.py').write_text('x')", False),
        ("open('zlib/w').read()", False),
    ],
)
def test_repository_that_is_too_many_is_named_where_it_changes(
    text: str,
    is_named: bool,
    shop: Host,  # noqa: F811
) -> None:
    run(shop, program(shop, MAKES), "t1")
    bash(MINE, shop.project)
    run(shop, program(shop, "pathlib.Path('n').touch()", "some.py"), "t2")
    run(shop, program(shop, f"pathlib.Path('m').touch(); {text}", "lose.py"), "t3")
    assert (str(shop.project / "zlib") in not_restored(shop)) == is_named


def test_line_is_not_let_go_for_a_tree_that_is_not_whole(repository: Host) -> None:  # noqa: F811
    line = "make; git clean -fd lib; git restore cart.py"
    assert repository.before("Bash", "t1", command=line).decision is Decision.NONE
    repository.after("Bash", "t1", command=line)
    for number in range(52):
        bash(f"git init -q r{number}", repository.project)
    assert repository.before("Bash", "t2", command=line).decision is Decision.DENY
    assert repository.before("Bash", "t3", command="make").decision is Decision.NONE
