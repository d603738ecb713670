"""Files that git reads by its own folder: with a link among them, it shows what lies elsewhere."""

from __future__ import annotations

import os

# Loose objects, of which there are many: git unpacks them, and says nothing of what is none.
_LOOSE = frozenset(f"{number:02x}" for number in range(256))
_MOST_ENTRIES = 50_000  # of a git folder; in one with more a link could hide


def holds_link(folder: str) -> bool:
    """True for a git folder with any link in it, or with more than can be looked at.

    Names are not told apart: git reads most of them, other versions read more, and it makes no link there by itself.
    """
    waiting, count, objects = [folder], 0, os.path.join(folder, "objects")
    while waiting:
        at = waiting.pop()
        try:
            with os.scandir(at) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_symlink() or count > _MOST_ENTRIES:
                        return True
                    is_loose = entry.name in _LOOSE and at == objects
                    if entry.is_dir(follow_symlinks=False) and not is_loose:
                        waiting.append(entry.path)
        except OSError:
            return True  # git may read by its name what nobody can list
    return False
