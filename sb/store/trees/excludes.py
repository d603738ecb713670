"""The file of patterns that one stored work folder has besides its own `.gitignore` files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sb.base.files import read_regular
from sb.store.trees.repository_files import Repository

_MOST_IGNORED = 1 << 20  # bytes of a repository's own list of patterns
_SPECIAL = frozenset("\\*?[]!# ")


def write_excludes(path: str, work: str, repository: Repository | None, protected: Sequence[str]) -> bool:
    """Write the patterns of the repository's own list, and those that keep SecondBrain's files out.

    Returns:
        True if they are others than before.
    """
    ours = [name.removeprefix(f"{work}/") for name in protected if name.startswith(f"{work}/")]
    own = list[bytes]()
    if repository is not None:
        with suppress(OSError):
            own = [read_regular(f"{repository.shared}/info/exclude", _MOST_IGNORED)]
    content = b"\n".join([*own, *(b"/" + os.fsencode(_escaped(name)) for name in ours)]) + b"\n"
    excludes = Path(path)
    if excludes.exists() and excludes.read_bytes() == content:
        return False
    excludes.write_bytes(content)
    return True


def _escaped(name: str) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in name)
