"""Lines that move ignored files and delete where they are then: these are stored first, or a person is asked."""

from __future__ import annotations

import sys

import pytest

from sb.hosts.hooks.event import Decision
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import bash, run, undo_all
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")

FILES = """git init -q -b main 2>/dev/null; git checkout -qf main 2>/dev/null || true; rm -rf a d pk; mkdir -p a/data pk/x/data
printf 'data/\\n*.db\\n' > .gitignore; echo t > a/t.txt; echo k > pk/x/k.txt; echo PRECIOUS > a/data/p.bin; echo P2 > pk/x/data/p2.bin
git add -A; git commit -qm one || true"""

LINES = (
    "mv a d && rm -rf d",
    "git mv a d && rm -rf d",
    "git mv a pk/z && rm -rf pk/*/data",
    "git mv a d && rm -rf */data",
    "mv a/data d && rm -rf d",
    "git mv a pk/z && git clean -fdx",
    "git mv a pk/z && find pk -name '*.bin' -delete",
    "cd pk && git mv ../a z && rm -rf */data",
    "mv a pk/z; cd pk && rm -rf z",
    'for f in a; do mv "$f" d; done; rm -rf d',
    "find . -maxdepth 1 -name a -exec mv {} d \\; && rm -rf d",
    "rsync -a --remove-source-files a/ d/ && rm -rf d",
    "git stash -a -q && git stash drop -q",
    "git stash --all; git stash clear",
    "git rm -rq --cached . && git clean -fdxq",
)


@rows("line", LINES)
def test_ignored_files_that_a_line_moved_and_deleted_come_back(line: str, apart: Host) -> None:
    bash(FILES, apart.project)
    verdict = run(apart, line, f"t{LINES.index(line)}")
    if verdict.decision is Decision.NONE:
        undo_all(apart)
    assert (apart.project / "a/data/p.bin").read_text() == "PRECIOUS\n"
    assert (apart.project / "pk/x/data/p2.bin").read_text() == "P2\n"


@rows(
    "line",
    [
        "mv a d && rm -rf d",
        "git mv a pk/z && rm -rf pk/*/data",
        "mv a/t.txt a/u.txt; rm -rf pk",
        "git mv a d && git commit -qm moved && rm -rf pk/*/data",
        "git stash -q && rm -rf pk/x/data; git stash pop -q",
        "find pk -name '*.bin' -delete",
        "rm -rf pk/*/data",
    ],
)
def test_line_whose_moved_files_are_stored_asks_nobody(line: str, apart: Host) -> None:
    bash(FILES, apart.project)
    assert apart.before("Bash", command=line).reason == ""
