"""Files with more than one name: a line that deletes all of them, or installed packages, asks nobody."""

from __future__ import annotations

import os

import pytest

from sb.hosts.hooks.event import Decision, HookVerdict
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import bash, run, tree, undo_all

MADE = """rmdir .git; git init -q; printf 'node_modules/\n' > .gitignore; echo 1 > a; git add .; git commit -qm one
mkdir -p node_modules/esbuild/bin node_modules/@esbuild/bin docs store ../cache; echo program > node_modules/@esbuild/bin/esbuild
ln node_modules/@esbuild/bin/esbuild node_modules/esbuild/bin/esbuild; echo 2 > docs/b; ln docs/b docs/c; echo 3 > store/c; ln store/c kept"""


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf node_modules",
        "rm -rf node_modules && nosuchprogram ci",
        "git clean -qfdx -e kept -e /store",
        "find . -name node_modules -prune -exec rm -rf {} +",
        "rm -rf docs",
    ],
)
def test_folder_that_holds_all_names_of_its_files_comes_back(host: Host, command: str) -> None:
    bash(MADE, host.project)
    before = tree(host.project)
    assert run(host, command, "t1") == HookVerdict()
    assert tree(host.project) != before
    assert undo_all(host) == ["reversed"]
    assert {path: state for path, state in tree(host.project).items() if not path.startswith(".git/")} == {
        path: state for path, state in before.items() if not path.startswith(".git/")
    }


def test_installed_packages_with_names_in_a_store_come_back(host: Host) -> None:
    bash(MADE, host.project)
    os.link(host.project / "node_modules/esbuild/bin/esbuild", host.project.parent / "cache" / "esbuild")
    assert run(host, "rm -rf node_modules", "t1") == HookVerdict()
    assert undo_all(host) == ["reversed"]
    assert (host.project / "node_modules/esbuild/bin/esbuild").read_text() == "program\n"


@pytest.mark.parametrize(
    "command", ["rm -rf store", "echo x > kept", "rm -rf dist", "git clean -qfdx store", "rm -rf vendor"]
)
def test_file_with_a_name_elsewhere_asks(host: Host, command: str) -> None:
    bash(f"{MADE}; mkdir dist vendor; ln kept dist/c; ln kept vendor/c", host.project)
    assert host.before("Bash", command=command).decision is Decision.ASK
