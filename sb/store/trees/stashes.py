"""Stashes that a call made: whether one holds files that no tree does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sb.store.trees.git_program import Deadline, Git, entries_of

STASH = ("/refs/stash", "/logs/refs/stash")  # the files by which a repository knows its stashes
_OF_UNTRACKED = 3  # the parent of a stash whose tree has files that git did not track


def unstored_in(
    stashes: Iterable[str],
    git: Git,
    deadline: Deadline,
    stored_at: Callable[[Sequence[str]], Mapping[str, tuple[str, str]]],
) -> list[str]:
    """The files that stashes hold and of which the tree before had another content or none, by relative path.

    Args:
        stashes: ids of commits. git: on the repository's objects.
        stored_at: gives the id and the kind of what a tree has under names.

    Raises:
        CannotStore: a stash cannot be read.
    """
    missing = list[str]()
    for stash in stashes:
        commits = git.run("rev-list", "--parents", "-n", "1", stash, deadline=deadline).decode().split()
        if len(commits) > _OF_UNTRACKED:
            files = {name: blob for _, blob, name in entries_of(git, commits[_OF_UNTRACKED], deadline)}
            stored = stored_at(list(files))
            missing += [name for name, blob in files.items() if stored.get(name, ("", ""))[0] != blob]
    return missing
