"""The repository whose settings git follows in a folder.

Settings name programs that git runs, so those of another repository than the session's are code that the command line does
not show.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from sb.base.repository import git_root

_LONGEST = 4096  # bytes of a `.git` that says where the repository is


def settings_of(folder: str) -> str:
    """The folder that holds the settings of the repository that a folder is in, "" for none."""
    root = git_root(folder, bare=True)
    own = os.path.join(root, ".git")
    if os.path.isfile(own):
        return _elsewhere(own)
    return os.path.realpath(own if os.path.isdir(own) else root) if root else ""


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
        text = opened.read(_LONGEST).decode(errors="replace")
    place = os.path.join(os.path.dirname(file), text.partition("gitdir:")[2].strip().partition("\n")[0])
    return re.sub(
        r"/worktrees/[^/]+$", "", os.path.realpath(place)
    )  # a working folder has the settings of its repository
