"""The git repository that a folder lies in."""

from __future__ import annotations

import os
from pathlib import Path


def git_root(folder: str, *, bare: bool = False) -> str:
    """The nearest folder, at or above an absolute one, that has a `.git`; "" if there is none.

    Args:
        bare: also a folder that git takes for a repository without working files.
    """
    while not os.path.exists(os.path.join(folder, ".git")) and not (bare and _is_bare(folder)):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def project_folder(folder: Path) -> str:
    """The root of the git repository that holds a folder, or the folder itself."""
    return git_root(str(folder)) or str(folder)


def _is_bare(folder: str) -> bool:
    """True if a folder has the three names by which git recognises a repository without working files."""
    return os.path.isfile(os.path.join(folder, "HEAD")) and all(
        os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs")
    )
