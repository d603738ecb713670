"""Whose settings does git follow in a folder?

They name programs that git runs, so the settings of another repository than the session's are code that a command line does
not show.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_LONGEST = 4096  # bytes of a `.git` that says where the repository is


def settings_of(folder: str) -> str:
    """The folder that holds the settings of the repository that a folder is in, "" for none."""
    while True:
        own = os.path.join(folder, ".git")
        if os.path.isdir(own):
            return os.path.realpath(own)
        if os.path.isfile(own):
            return _elsewhere(own)
        if _is_bare(folder):
            return os.path.realpath(folder)
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def _is_bare(folder: str) -> bool:
    """Whether git takes a folder for a repository without working files: three names in it are enough."""
    return os.path.isfile(os.path.join(folder, "HEAD")) and all(
        os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs")
    )


def foreign(folders: Sequence[str], session: str) -> str:
    """The first of these folders in which git follows other settings than in the session's folder, or "".

    A folder that is taken for a repository by what lies in it is foreign too: an agent can write these files like any other.
    """
    own = settings_of(session)
    for folder in folders:
        settings = settings_of(folder)
        by_its_files = (os.path.realpath(folder) + "/").startswith(settings + "/")
        if settings and (settings != own or by_its_files):
            return folder
    return ""


def _elsewhere(file: str) -> str:
    with open(file, "rb") as opened:
        said = opened.read(_LONGEST).decode(errors="replace")
    place = os.path.join(os.path.dirname(file), said.partition("gitdir:")[2].strip().partition("\n")[0])
    return re.sub(
        r"/worktrees/[^/]+$", "", os.path.realpath(place)
    )  # a working folder has the settings of its repository
