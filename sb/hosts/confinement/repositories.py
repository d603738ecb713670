"""Repositories of a project: the folders that git writes, and what in them runs as a program.

No git is run here. A repository elsewhere counts only if it names the project itself: what a `.git` file says is an
agent's to write.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from sb.base.values.frozen import frozen
from sb.hosts.confinement import no_links
from sb.shell.places.git_files import LEADING

_LONGEST = 4096  # bytes of a file that names a folder
_MOST_NAMES = 200  # of submodules, and of linked worktrees
# By which a linked worktree's git folder names its repository, and its tree.
POINTERS = ("commondir", "gitdir")
_REMOTES = ("remotes", "branches")  # folders of files that name one each


@frozen
class Repository:
    """The repository of one working tree.

    Args:
        folders: git folders outside of the tree, which commands of git write.
        held: git folders, and links to them, that are not moved.
        programs: what git runs, and by what it finds that: folders of hooks, of submodules too.
    """

    folders: tuple[str, ...]
    held: tuple[str, ...]
    programs: tuple[str, ...]


def repository_of(root: str, home: str = "") -> Repository | None:
    """The repository of a working tree, or None.

    Args:
        root: the tree's folder, real path. home: of the user; no repository counts that is around it, or is it.
    """
    entry = os.path.join(root, ".git")
    if os.path.islink(entry):
        return None
    if os.path.isdir(entry):
        return Repository((), (entry,), tuple(_programs(entry)))
    common = _shared(root, entry, home)
    if not common:
        return None
    own = [folder for folder in (named_by(root),) if os.path.isdir(folder)]
    pointers = [os.path.join(folder, name) for folder in own for name in POINTERS]
    return Repository((common,), (entry, *own), (entry, *pointers, *_programs(common)))


def named_by(root: str) -> str:
    """The git folder of a linked worktree, as its `.git` file names it; "" for anything else.

    Whether that names the tree in turn, and its repository, an agent could have changed.
    """
    entry = os.path.join(root, ".git")
    text = _read(entry) if os.path.isfile(entry) and not os.path.islink(entry) else ""
    folder = os.path.realpath(os.path.join(root, text.removeprefix("gitdir:").strip())) if text else ""
    return folder if os.path.basename(os.path.dirname(folder)) == "worktrees" else ""


def linked_trees(root: str) -> list[str]:
    """The linked worktrees of a working tree's repository, real paths: those that name its record of them in turn."""
    return [
        tree
        for tree, record in recorded_trees(git_folder_of(root)).items()
        if named_by(tree) == os.path.realpath(record)
    ]


def recorded_trees(folder: str) -> dict[str, str]:
    """The linked worktrees that a git folder names, real paths, to its record of each, which an agent can write."""
    records = os.path.join(folder, "worktrees")
    trees = {}
    for name in _names(records) if os.path.isabs(records) else ():
        record = os.path.join(records, name)
        entry = os.path.normpath(os.path.join(record, _read(os.path.join(record, "gitdir")).strip() or "/"))
        if os.path.basename(entry) == ".git":
            trees[os.path.realpath(os.path.dirname(entry))] = record
    return trees


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


def _shared(root: str, entry: str, home: str = "") -> str:
    """The git folder that a linked tree shares with its repository; "" if there is none to believe."""
    folder = _linked(root, entry)
    common = _common(folder) if folder else ""
    around = os.path.realpath(home or os.path.expanduser("~"))
    return "" if f"{around}/".startswith(f"{common.rstrip('/')}/") else common


def _common(folder: str) -> str:
    """The folder that a worktree shares with its repository; "" for one that is not where git makes it.

    A git folder may name any folder in `commondir`, which an agent can write. So it counts only in COMMON/worktrees/NAME.
    """
    named = _read(os.path.join(folder, "commondir")).strip()
    if not named and not os.path.lexists(os.path.join(folder, "commondir")):
        return folder if _is_git_folder(folder) else ""
    worktrees = os.path.dirname(folder)
    common = os.path.dirname(worktrees)
    agrees = (
        os.path.realpath(os.path.join(folder, named)) == common and os.path.basename(worktrees) == "worktrees"
    )
    return common if agrees and _is_git_folder(common) else ""


def _is_git_folder(folder: str) -> bool:
    """True where git would see a repository, with nothing of it elsewhere."""
    parts = (("HEAD", os.path.isfile), ("objects", os.path.isdir), ("refs", os.path.isdir))
    paths = [(os.path.join(folder, name), is_kind) for name, is_kind in parts]
    return all(is_kind(path) and not os.path.islink(path) for path, is_kind in paths)


def _programs(folder: str) -> Iterator[str]:
    for git in (folder, *modules_of(folder)):
        hooks = os.path.join(git, "hooks")
        if os.path.isdir(hooks) and not os.path.islink(hooks):
            yield hooks


def modules_of(folder: str) -> Iterator[str]:
    """The git folders of submodules in a repository's git folder, of those in its linked worktrees too."""
    return (path for path in _in_modules(folder) if not os.path.islink(path))


def linked_records(folder: str) -> Iterator[str]:
    """The links in place of the folders that a git folder has for submodules and linked worktrees."""
    worktrees = os.path.join(folder, "worktrees")
    paths = (os.path.join(worktrees, name) for name in no_links.names_in(worktrees))
    yield from (path for path in (*_in_modules(folder), *paths) if os.path.islink(path))


def _in_modules(folder: str) -> Iterator[str]:
    """The git folders of submodules, and links among them."""
    worktrees = os.path.join(folder, "worktrees")
    own = (os.path.join(worktrees, name) for name in no_links.names_in(worktrees))
    for place in (folder, *(path for path in own if not os.path.islink(path))):
        yield from _modules(os.path.join(place, "modules"))


def leading(folder: str) -> Iterator[str]:
    """The entries of a git folder that lead git elsewhere: links, a `commondir`, and remotes as older versions kept them."""
    for name in dict.fromkeys(own[0] for own in LEADING):
        path = os.path.join(folder, name)
        if no_links.link_text(path) or (name == "commondir" and no_links.status(path) is not None):
            yield path
    for name in _REMOTES:
        path = os.path.join(folder, name)
        yield from (os.path.join(path, entry) for entry in no_links.names_in(path))


def _modules(folder: str, depth: int = 3) -> Iterator[str]:
    """The git folders of submodules, also of those in folders, and each link in place of a folder."""
    if os.path.islink(folder):
        yield folder
        return
    for name in _names(folder):
        path = os.path.join(folder, name)
        if os.path.islink(path):
            yield path
        elif os.path.isfile(os.path.join(path, "HEAD")):
            yield path
            yield from _modules(os.path.join(path, "modules"), depth)
        elif depth and os.path.isdir(path):
            yield from _modules(path, depth - 1)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST_NAMES]
    except OSError:
        return []


def _read(path: str) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            text = file.read(_LONGEST).decode(errors="surrogateescape")
    except OSError:
        return ""
    return "" if "\0" in text else text


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
    """The folder with the configuration and the hooks of a working tree; "" without a repository, or through a link."""
    entry = os.path.join(root, ".git")
    if os.path.islink(entry):
        return ""
    return entry if os.path.isdir(entry) else _shared(root, entry)


def ground_of(project: str) -> str:
    """The folder by which all working trees of one repository are known: their calls write the same git folder."""
    folder = git_folder_of(project)
    return os.path.dirname(folder) if os.path.basename(folder) == ".git" else folder or project


def trees_of(project: str) -> list[str]:
    """The working trees of a project's repository, and the project."""
    return list(dict.fromkeys((project, ground_of(project), *linked_trees(project))))
