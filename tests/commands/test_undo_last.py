"""`sb undo` without a name: the last call or none, and what it says before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_undo import write
from tests.conftest import CommandLine
from tests.hosts.hooks.conftest import Host


@pytest.fixture
def host(home: Path, tmp_path: Path) -> Host:
    project = (tmp_path / "shop").resolve()
    (project / ".git").mkdir(parents=True)
    return Host(home, project)


@pytest.mark.parametrize("options", [(), ("--yes",), ("--force", "--yes"), ("last", "--yes")])
def test_a_last_call_that_was_not_kept_is_named_and_no_older_one_is_offered(
    sb: CommandLine, host: Host, options: tuple[str, ...]
) -> None:
    cart = write(host, "cart.py", "x", "t1")
    host.before("Bash", "t2", command="npm install left-pad")
    host.after("Bash", "t2", command="npm install left-pad")
    older = sb("undo", "--list", "--json").json["items"][1]["mutation_id"]
    refused = sb("undo", *options)
    assert refused.code != 0
    assert "the last call (npm install left-pad) was not kept" in refused.err
    assert older not in refused.err + refused.out
    assert "--force" not in refused.err
    assert cart.read_text(encoding="utf-8") == "x"
    assert sb("undo", older, "--yes").code == 0, "by its id"


def test_after_undoing_it_says_what_was_restored_and_not_what_would_be(sb: CommandLine, host: Host) -> None:
    path = write(host, "cart.py", "first", "t1")
    write(host, "cart.py", "second", "t2")
    done = sb("undo", "--yes")
    assert "restored cart.py" in done.out
    assert "would restore" not in done.out + done.err
    assert path.read_text(encoding="utf-8") == "first"
    assert "would delete" in (asked := sb("undo", "--dry-run")).out + asked.err, "before"


def test_a_list_says_how_many_more_there_are(sb: CommandLine, host: Host) -> None:
    for number in range(3):
        write(host, f"{number}.py", "x", f"t{number}")
    cut = sb("undo", "--list", "--limit", "2")
    assert "the newest 2 of 3: --limit 0 lists all" in cut.err
    assert "newest" not in sb("undo", "--list").err
