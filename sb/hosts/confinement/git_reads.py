"""Files that git reads by its own folder and configuration: where one lies elsewhere, git shows what is in it."""

from __future__ import annotations

import os
import re

from sb.hosts.confinement.profile import contains

# Loose objects, of which there are many: git unpacks them, and says nothing of what is none.
_LOOSE = frozenset(f"{number:02x}" for number in range(256))
_MOST_ENTRIES = 50_000  # of a git folder; in one with more a link could hide
# Keys whose value names a file that git never shows: a public key, and logins of servers.
_NEVER_SHOWN = re.compile(r"user\.signingkey|http\.(?:.+\.)?ssl(?:cert|key)")
_BEFORE_PATH = re.compile(r":\(\w+\)|file://")
_OF_INSTALLATION = "%(prefix)"  # by which git means a folder of its own


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


def person_configs() -> list[str]:
    """The files of a person's own configuration of git."""
    own = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    paths = (os.path.expanduser("~/.gitconfig"), os.path.join(own, "git", "config"))
    return [os.path.realpath(path) for path in paths if os.path.exists(path)]


def names_file_elsewhere(name: str, value: str, project: str, file: str, *, is_persons: bool = False) -> bool:
    """True for a value that is the path of an existing file outside of a project, whatever its key is for.

    A list of the keys that name files would be one of today's git, and one of its complaints shows any of them.

    Args:
        name: of the key. file: of the configuration. is_persons: it is the person's own, who names files elsewhere; a
            relative path in it may have become a link.
    """
    text = _BEFORE_PATH.sub("", value.strip(), count=1)
    if _NEVER_SHOWN.fullmatch(name.lower()):
        return False
    if text.startswith(_OF_INSTALLATION):
        return not is_persons
    path = os.path.expanduser(text)
    if is_persons and os.path.isabs(path):
        return False
    own = [project] if is_persons else [project, os.path.dirname(file)]
    for base in own if "\0" not in path else ():
        real = os.path.realpath(os.path.join(base, path))
        if os.path.exists(real) and not (os.path.isdir(real) or any(contains(place, real) for place in own)):
            return True
    return False
