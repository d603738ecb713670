"""Scratch: folders that a build makes again, and that may go without a snapshot."""

from __future__ import annotations

import os
from collections.abc import Callable

from sb.base.repository import git_root
from sb.shell.snapshots.git_ignore import Ignored
from sb.shell.snapshots.git_index import read_index
from sb.shell.snapshots.git_objects import Repository, Unreadable, blob_id

BUILT = frozenset(
    "node_modules dist build target out .venv venv __pycache__ .next .nuxt .turbo .parcel-cache .cache .pytest_cache "
    ".mypy_cache .ruff_cache .tox .nox .gradle .eggs coverage htmlcov .svelte-kit .angular .dart_tool".split()
)


def scratch(project: str, begun: float) -> Callable[[str], str]:
    """A function that returns the reason why a folder of a project is not scratch, or "".

    Args:
        project: real path. begun: when the session began, in seconds since the epoch.
    """
    return lambda path: _why_not(path, project, begun)


def _why_not(path: str, project: str, begun: float) -> str:
    if os.path.basename(path) not in BUILT:
        return "it is no folder that a build makes"
    try:
        # A folder's own time of change is that of its last entry, or of its renaming.
        if os.lstat(path).st_ctime >= begun:
            return "it was changed in this session"
        root = git_root(os.path.dirname(path))
        if not root or not f"{root}/".startswith(f"{project}/"):
            return "no repository of the project ignores it"
        return _committed(Repository(root), path[len(root) + 1 :])
    except (Unreadable, OSError) as problem:
        return str(problem)


def _committed(git: Repository, path: str) -> str:
    """The reason why the committed ignore rules do not cover a path, or ""."""
    head = git.commit("HEAD")
    if not head:
        return "nothing is committed"
    index = read_index(f"{git.folder}/index")
    if git.entry(head, path) is not None or any(
        entry == path or entry.startswith(f"{path}/") for entry in index.entries
    ):
        return "it holds tracked files"

    def text(folder: str) -> str:
        name = f"{folder}/.gitignore" if folder else ".gitignore"
        entry = git.entry(head, name)
        try:
            with open(
                os.open(f"{git.root}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb"
            ) as file:
                working = file.read(1 << 20)
        except FileNotFoundError:
            working = None
        if (None if working is None else blob_id(working)) != (entry[1] if entry else None):
            raise Unreadable(f"{name} is not as it is committed")
        return (working or b"").decode("utf-8", "replace")

    return "" if Ignored(text).surely(path, folder=True) else "the committed ignore rules do not cover it"
