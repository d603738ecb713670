"""Files that unpacking and patching replace, as the archive or the patch lists them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sb.shell.parsing.words import compiled
from sb.shell.snapshots.overwriting import Effect, Unknown, written

# All that these replace is what an archive or a patch lists, but with these options.
_UNPACKING = frozenset(("tar", "unzip", "patch"))
_OTHERWISE = frozenset(("--index", "--cached", "-3", "--3way", "--recursive-unlink", "--unlink-first", "-U"))
_EXTRACTS = "-?[a-zA-Z]*x[a-zA-Z]*|--extract|--get"
_MOST_BYTES = 32 << 20  # of more the snapshot is one in part, and nobody is asked


def unpacks(program: str, arguments: Sequence[str]) -> bool:
    """True if a command does nothing but unpack an archive, or apply a patch to files."""
    if program == "git":
        return arguments[:1] == ["apply"] and not _OTHERWISE.intersection(arguments)
    extracts = program != "tar" or any(map(compiled(_EXTRACTS).fullmatch, arguments))
    return program in _UNPACKING and extracts and not _OTHERWISE.intersection(arguments)


def unpacked(program: str, replaced: Sequence[str]) -> Effect:
    """The changes of files that are replaced.

    Raises:
        Unknown: they are more than a snapshot should hold.
    """
    if sum(map(os.path.getsize, filter(os.path.isfile, replaced))) > _MOST_BYTES:
        raise Unknown(f"{program} replaces more than a snapshot holds")
    return Effect([change for place in replaced for change in written("/", place)])
