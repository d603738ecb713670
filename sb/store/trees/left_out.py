"""Files of a work folder that are not stored, and why."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from typing import NamedTuple

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
