"""Paths of a project that lead git elsewhere: links and files in place of its folders, and files that name one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

from sb.hosts.confinement import no_links
from sb.hosts.confinement.profile import contains
from sb.hosts.confinement.repositories import (
    git_folder_of,
    leading,
    linked_records,
    modules_of,
    named_by,
    recorded_trees,
)
from sb.shell.snapshots.git_index import read_index
from sb.shell.snapshots.git_objects import Unreadable

_COMMON = b"../.."  # of a worktree, as git writes it
_GITLINK = 0o160000
_GITLINK_BYTES = b"\0\0\xe0\0"  # that mode, as the index has it
# Of an index: its header, and in each entry the places of the mode and of the flags, with the name behind.
_HEADER, _MODE_AT, _FLAGS_AT, _EXTENDED = 12, 24, 60, 0x40
_COMPRESSED = b"\0\0\0\4"  # its version, in which names are cut
_NOT_INSIDE = frozenset(("", ".", "..", ".git"))
_MOST_INDEX = 64 << 20  # bytes
_LONGEST = 4096  # bytes of a file that names a folder
_DEEPEST = 4  # submodules in each other


def leading_paths(project: str) -> Iterator[str]:
    """The paths that lead git elsewhere: a link or a file in place of its folder, and what is not git's in there."""
    entry = os.path.join(project, ".git")
    if no_links.link_text(entry) or no_links.is_regular(entry):
        yield entry
    yield from _wrong_pointers(project)
    folder = git_folder_of(project)
    if not folder:
        return
    for git in (folder, *modules_of(folder), *inner_folders(project)):
        yield from leading(git)
    for tree in _inner_trees(project):
        yield from bare_head(tree)
    yield from linked_records(folder)
    worktrees = os.path.join(folder, "worktrees")
    for name in no_links.names_in(worktrees):
        path = os.path.join(worktrees, name, "commondir")
        if no_links.status(path) is not None and not _is_common(path):
            yield path


def former(path: str, project: str) -> bytes | None:
    """The text of a file that leads git where it has to, of which no copy is needed; None for any other path."""
    if path.endswith("/commondir") and "/worktrees/" in path:
        return _COMMON + b"\n"
    if path.endswith("/gitdir") and path.startswith(f"{named_by(project)}/"):
        return os.fsencode(f"{project}/.git\n")
    return None


def bare_head(folder: str) -> Iterator[str]:
    """The `HEAD` that makes a folder without `.git` a repository for git, by what lies beside it."""
    names = {name: no_links.status(os.path.join(folder, name)) is not None for name in _OF_BARE}
    if names["HEAD"] and (names["commondir"] or (names["objects"] and names["refs"])):
        yield os.path.join(folder, "HEAD")


_OF_BARE = ("HEAD", "commondir", "objects", "refs")


def pointers(project: str) -> dict[str, str]:
    """The `.git` files of submodules and linked worktrees inside of a project, and links there, to their texts."""
    entries = (os.path.join(tree, ".git") for tree in _inner_trees(project))
    return {path: text for path in entries if (text := _state(path))}


def _state(path: str) -> str:
    """The text of a file, that of a link behind a NUL; "" for anything else."""
    return _text(path) or (f"\0{link}" if (link := no_links.link_text(path)) else "")


def inner_folders(project: str) -> list[str]:
    """The git folders that lie in working trees inside of a project, of repositories that its index names."""
    entries = (os.path.join(tree, ".git") for tree in _inner_trees(project))
    return [path for path in entries if no_links.is_folder(path)]


def wrong_entries(project: str, before: dict[str, str]) -> Iterator[str]:
    """The `.git` files that name none of git's own folders, links and folders in their place; but those that were there.

    Args:
        before: of `pointers`, when the calls began.
    """
    folder = git_folder_of(project)
    known = {*modules_of(folder), *(os.path.join(folder, "worktrees", name) for name in _records(folder))}
    for path in {**before, **pointers(project)}:
        state = _state(path)
        is_own = no_links.status(path) is None or (no_links.is_regular(path) and _named(path, state) in known)
        if not is_own and state != before.get(path):
            yield path


def _records(folder: str) -> list[str]:
    worktrees = os.path.join(folder, "worktrees")
    return [
        name for name in no_links.names_in(worktrees) if no_links.is_folder(os.path.join(worktrees, name))
    ]


def _inner_trees(project: str) -> list[str]:
    """The working trees inside of a project that its git enters or that share its repository."""
    folder = git_folder_of(project)
    if not folder:
        return []
    inside = (tree for tree in recorded_trees(folder) if contains(project, tree) and tree != project)
    own = named_by(project) or folder
    return list(dict.fromkeys((*_submodules(project, own, _DEEPEST), *inside)))


def _submodules(tree: str, folder: str, depth: int) -> Iterator[str]:
    for path in _gitlinks(os.path.join(folder, "index")):
        inner = os.path.join(tree, path)
        yield inner
        entry = os.path.join(inner, ".git")
        named = entry if no_links.is_folder(entry) else _named(entry, _text(entry))
        if named and depth:
            yield from _submodules(inner, named, depth - 1)


def _gitlinks(index: str) -> tuple[str, ...]:
    """The paths of the repositories in this one, as an index has them; none of one that cannot be read."""
    entry = no_links.status(index)
    state = (entry.st_ino, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns) if entry else ()
    return _gitlinks_as_of(index, state)


@lru_cache(64)
def _gitlinks_as_of(index: str, _state: tuple[int, ...]) -> tuple[str, ...]:
    try:
        data = no_links.read(index, _MOST_INDEX)
        if _GITLINK_BYTES not in data:
            return ()
        paths = _scanned(data) if data[4:8] != _COMPRESSED else _parsed(index)
    except (OSError, Unreadable):
        return ()
    # An agent can write any path there, also one of the person's other repositories.
    return tuple(path for path in paths if path and not _NOT_INSIDE.intersection(path.split("/")))


def _parsed(index: str) -> Iterator[str]:
    return (path for path, entry in read_index(index).entries.items() if entry.mode == _GITLINK)


def _scanned(data: bytes) -> Iterator[str]:
    """The names beside the mode of a repository: to read all of 10,000 entries takes 20 ms."""
    at = data.find(_GITLINK_BYTES)
    while at >= 0:
        start = at - _MODE_AT
        flags = data[start + _FLAGS_AT : start + _FLAGS_AT + 2]
        name = start + _FLAGS_AT + (4 if flags[:1] and flags[0] & _EXTENDED else 2)
        end = data.find(b"\0", name)
        if (start - _HEADER) % 8 == 0 and end > 0:
            yield os.fsdecode(data[name:end])
        at = data.find(_GITLINK_BYTES, at + 1)


def _named(entry: str, text: str) -> str:
    """The folder that a `.git` file names; "" for none."""
    head, _, rest = text.partition(":")
    return os.path.normpath(os.path.join(os.path.dirname(entry), rest.strip())) if head == "gitdir" else ""


def _text(path: str) -> str:
    try:
        return os.fsdecode(no_links.read(path, _LONGEST))
    except OSError:
        return ""


def _wrong_pointers(project: str) -> Iterator[str]:
    """The files of a linked worktree's git folder that do not name its repository or its tree, as git writes them."""
    folder = named_by(project)
    if folder and not _is_common(os.path.join(folder, "commondir")):
        yield os.path.join(folder, "commondir")
    if folder and not _is_back(os.path.join(folder, "gitdir"), project):
        yield os.path.join(folder, "gitdir")


def _is_back(path: str, project: str) -> bool:
    named = _text(path).strip()
    return bool(named) and os.path.normpath(os.path.join(os.path.dirname(path), named)) == os.path.join(
        project, ".git"
    )


def _is_common(path: str) -> bool:
    return os.fsencode(_text(path)).strip() == _COMMON
