"""Repositories of a project: the folders that git writes, and what in them runs as a program.

No git is run here. A repository elsewhere counts only if it names the project itself: what a `.git` file says is an
agent's to write.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from sb.frozen import frozen

_LONGEST = 4096  # bytes of a file that names a folder
_MOST_MODULES = 200


@frozen
class Repository:
    """The repository of one working tree.

    Args:
        folders: git folders outside of the tree, which commands of git write.
        held: git folders, and links to them, that are not moved.
        programs: what git runs: folders of hooks, of submodules too.
    """

    folders: tuple[str, ...]
    held: tuple[str, ...]
    programs: tuple[str, ...]


def repository_of(root: str) -> Repository | None:
    """The repository of a working tree, or None.

    Args:
        root: the tree's folder, real path.
    """
    entry = os.path.join(root, ".git")
    if os.path.islink(entry):
        return None
    if os.path.isdir(entry):
        return Repository((), (entry,), tuple(_programs(entry)))
    folder = _linked(root, entry)
    if folder is None:
        return None
    common = _common(folder)
    return Repository((common,), (entry,), (entry, *_programs(common)))


def _linked(root: str, entry: str) -> str | None:
    """The git folder that a `.git` file names, if that names the working tree in turn."""
    text = _read(entry)
    if not text.startswith("gitdir:"):
        return None
    folder = os.path.realpath(os.path.join(root, text[len("gitdir:") :].strip()))
    if os.path.realpath(os.path.join(folder, _read(os.path.join(folder, "gitdir")).strip() or "/")) == entry:
        return folder  # of a linked worktree
    above = os.path.dirname(root)
    while above != "/" and not os.path.isdir(os.path.join(above, ".git", "modules")):
        above = os.path.dirname(above)
    modules = os.path.join(above, ".git", "modules")
    return folder if folder.startswith(modules + "/") else None  # of a submodule


def _common(folder: str) -> str:
    """The folder that a worktree shares with its repository."""
    named = _read(os.path.join(folder, "commondir")).strip()
    return os.path.realpath(os.path.join(folder, named)) if named else folder


def _programs(folder: str) -> Iterator[str]:
    for git in (folder, *_modules(os.path.join(folder, "modules"))):
        hooks = os.path.join(git, "hooks")
        if os.path.isdir(hooks) and not os.path.islink(hooks):
            yield hooks


def _modules(folder: str, depth: int = 3) -> Iterator[str]:
    """The git folders of submodules, also of those in folders."""
    try:
        names = sorted(os.listdir(folder))[:_MOST_MODULES]
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isfile(os.path.join(path, "HEAD")):
            yield path
            yield from _modules(os.path.join(path, "modules"), depth)
        elif depth and os.path.isdir(path) and not os.path.islink(path):
            yield from _modules(path, depth - 1)


def _read(path: str) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            return file.read(_LONGEST).decode(errors="surrogateescape")
    except OSError:
        return ""


# Not found by PATH, which is an agent's to set.
_GIT = (
    "/usr/bin/git",
    "/usr/local/bin/git",
    "/opt/homebrew/bin/git",
    "/bin/git",
    "/run/current-system/sw/bin/git",
)


def git_program() -> str:
    """The system's git; "" if there is none."""
    return next((path for path in _GIT if os.access(path, os.X_OK)), "")


def git_folder_of(root: str) -> str:
    """The folder with the configuration and the hooks of a working tree; "" without a repository."""
    entry = os.path.join(root, ".git")
    if os.path.isdir(entry):
        return os.path.realpath(entry)
    folder = _linked(root, entry)
    return _common(folder) if folder else ""
