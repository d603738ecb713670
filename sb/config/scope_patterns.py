"""Patterns of scopes and of agents' names: the one syntax of all settings and files of memory that name them.

A pattern is a name, or one with `*` for any characters: `project:shop`, `project:shop*`, `support-*`, `*`. Nothing else is
special.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

ANY = "*"


def matches(pattern: str, name: str) -> bool:
    """True if a name, or all that another pattern means, is among what a pattern means."""
    if ANY not in pattern:
        return pattern == name
    return pattern == ANY or _compiled(pattern).fullmatch(name) is not None


def any_matches(patterns: Iterable[str], name: str) -> bool:
    """True if a name is among those that one of these patterns means."""
    return any(matches(pattern, name) for pattern in patterns)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split(ANY))), re.DOTALL)
