"""The files that a patch in the form of `apply_patch` changes.

Its parsers differ in how they trim a line, so a path is given in each way that one of them may read it: a file too many
costs a snapshot, one too few could not be restored.
"""

from __future__ import annotations

import re

from sb.hosts.hooks.calls.spellings import SPACE

# A line break is "\n", for some parsers "\r" too; spaces may stand before a header. What a file is given begins with "+",
# "-" or a space. Some parsers cut a path at a colon.
_HEADERS = re.compile(r"^[^\S\n]*\*\*\* (?:Add File|Update File|Delete File|Move to):(.*)$", re.MULTILINE)
_SPACE = f"{SPACE}\x85"  # Unicode White_Space, as these parsers trim it


def changed_paths(patch: str) -> list[str]:
    """The paths that a patch adds, updates, deletes and moves to, in order."""
    found: dict[str, None] = {}
    for text in (patch, patch.replace("\r", "\n")) if "\r" in patch else (patch,):
        for header in _HEADERS.finditer(text):
            exact = header[1].removesuffix("\r").removeprefix(" ")
            cut = exact.partition(":")[0]
            for path in (exact.strip(_SPACE), exact.rstrip(_SPACE), exact, cut.strip(_SPACE)):
                if path.strip(_SPACE):
                    found[path] = None
    return list(found)
