"""Files that git's index refuses, which are stored beside the tree: what is named like git's own folder.

The index takes no path with a component `.git`, in any case of its letters, and no link `.gitmodules`. `git ls-files`
never names what lies in a `.git` itself, be it a file that leads elsewhere or a folder that is no repository.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

MOST_REFUSED = 500  # of one work folder


def is_refused(name: str, status: os.stat_result) -> bool:
    """True for a file, by its relative path, that git's index does not take."""
    components = name.lower().split("/")
    return ".git" in components or (stat.S_ISLNK(status.st_mode) and ".gitmodules" in components)


def in_git_entry(work: str) -> Iterator[tuple[str, os.stat_result]]:
    """The relative paths of a work folder's `.git` and, if it is a folder without a HEAD, of all that is in it."""
    waiting = [".git"]
    while waiting:
        name = waiting.pop()
        try:
            status = os.lstat(f"{work}/{name}")
            is_folder = stat.S_ISDIR(status.st_mode)
            if name == ".git" and is_folder and os.path.isfile(f"{work}/.git/HEAD"):
                return  # a repository
            if is_folder:
                waiting += (f"{name}/{entry}" for entry in os.listdir(f"{work}/{name}"))
        except OSError:
            continue
        yield name, status
