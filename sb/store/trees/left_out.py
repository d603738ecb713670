"""Files of a work folder, and repositories in it, that are not stored, and why."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sb.base.files import is_folder
from sb.store.trees.git_program import CannotStore, TooSlow
from sb.store.trees.repository_files import Signature, signature_of

CREDENTIAL, LARGE, ODD_KIND, ODD_NAME, UNREADABLE, UNSTEADY = (
    "may hold secrets",
    "is too large",
    "is a pipe, a socket or a device",
    "is named like git's own files, and over 500 of those are not stored",
    "cannot be read",
    "changed while it was stored",
)
_MOST_LOOKED_AT = 20_000  # entries of repositories that are not stored
_MOST_UNSTEADY = 20  # files; where more cannot be stored, something else is wrong


class LeftOut(NamedTuple):
    """A file that is not stored.

    Args:
        why: ends "path …". signature: by which a change of it is noticed.
    """

    why: str
    signature: Signature

    @property
    def is_odd(self) -> bool:
        """True for what is neither a file nor a link; git does not name it."""
        return self.why == ODD_KIND


def is_odd(status: os.stat_result) -> bool:
    """True for a pipe, a socket or a device."""
    mode = status.st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def left_out_of(why: str, status: os.stat_result) -> LeftOut:
    """A file that is not stored; what passes through a pipe does not change it."""
    return LeftOut(why, (0, 0, 0, status.st_ino) if is_odd(status) else signature_of(status))


def changed_repositories(folders: Sequence[str], since: float) -> dict[str, str]:
    """The repositories that were not stored and are gone or changed since a time, with the reason; a few are looked at whole."""
    left, named = _MOST_LOOKED_AT, dict[str, str]()
    for folder in folders:
        if not is_folder(folder):
            named[folder] = "is gone, and was one repository too many to be stored"
            continue
        waiting = [folder]
        while waiting and left > 0 and folder not in named:
            place = waiting.pop()
            try:
                left -= 1
                is_changed = os.lstat(place).st_ctime >= since
                with os.scandir(place) as entries:
                    for entry in entries:
                        left -= 1
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        else:
                            is_changed = is_changed or entry.stat(follow_symlinks=False).st_ctime >= since
            except OSError:
                is_changed = True
            if is_changed:
                named[folder] = "changed, and was one repository too many to be stored"
        if waiting and folder not in named:
            named[folder] = "may have changed, and was one repository too many to be stored"
    return named


def failing(names: Sequence[str], store: Callable[[Sequence[str]], None]) -> list[str]:
    """Store files; returns those that cannot be, found by halves.

    Args:
        store: stores all of some names, or raises CannotStore.

    Raises:
        CannotStore: too many cannot be stored. TooSlow: as `store`.
    """
    found, waiting = list[str](), [names]
    while waiting:
        some = waiting.pop()
        try:
            store(some)
        except TooSlow:
            raise
        except CannotStore:
            if len(found) >= _MOST_UNSTEADY:
                raise
            half = len(some) // 2
            if half:
                waiting += [some[half:], some[:half]]
            else:
                found += some
    return found
