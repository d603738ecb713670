"""Storing the tree of a project that did not change, against `git status` of the same project."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from evals.bench.timing import compare
from sb.store.trees.part import Rules
from sb.store.trees.store import TreeStore
from sb.store.trees.watching import close_queue, open_queue

FILES = (5_000, 50_000)
BAR, WATCHED_BAR = 2.0, 0.2  # times git status
_FOLDER, _ABOVE = 20, 400  # files in a folder, and in the one above
_PLAIN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": "/usr/bin:/bin"}


def report() -> Iterator[str]:
    """One line for each size; the first storing, which a call does not wait for, is not in it."""
    for number in FILES:
        with tempfile.TemporaryDirectory() as name:
            top = Path(name).resolve()
            project = top / "project"
            _make(project, number)
            rules = Rules(lambda path: False, [str(top / "trees")], 64 << 20)
            store = TreeStore(top / "trees", rules)
            store.store(str(project), 600)
            status = partial(_git, project, "status", "--porcelain")
            action = partial(store.store, str(project), 60)
            what = f"tree of {number} files, unchanged"
            yield compare(what, action, "git status", status, calls=1, bar=BAR, rounds=7).line()
            if sys.platform == "linux" and open_queue(str(project)):
                store.watch(str(project), 600)
                action = partial(store.store, str(project), 60, by_watch=True)
                what = f"tree of {number} files, watched, unchanged"
                yield compare(what, action, "git status", status, calls=1, bar=WATCHED_BAR, rounds=7).line()
                close_queue(str(project))


def _make(project: Path, number: int) -> None:
    for item in range(number):
        folder = project / f"p{item // _ABOVE}" / f"q{item // _FOLDER}"
        if item % _FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"f{item}.py").write_text(f"x = {item}\n" * (10 + item % 80), "utf-8")
    _git(project, "init", "-q")
    _git(project, "add", ".")
    _git(project, "-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "-qm", "all")


def _git(project: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=project, env=_PLAIN, check=True, stdout=subprocess.DEVNULL)
