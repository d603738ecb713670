"""Names of tools against the patterns of trajectories: whole names, globs, and regular expressions after `re:`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from functools import lru_cache
from typing import Any

REGEX = "re:"
LONGEST_PATTERN = 1_000  # characters
_SECONDS = 0.1  # for one name: a pattern may take exponential time
_GLOB = re.compile(r"[*?\[]")


class BadPattern(ValueError):
    """A pattern that matches no name, or cannot be read."""


def is_pattern(name: str) -> bool:
    """True if it stands for more than one name."""
    return name.startswith(REGEX) or _GLOB.search(name) is not None


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Callable[[str], bool | None]:
    """True if a whole name matches the pattern; None if that takes too long to say.

    Raises:
        BadPattern: it is empty, too long, or no regular expression.
    """
    if not pattern.removeprefix(REGEX):
        raise BadPattern("must not be empty")
    if len(pattern) > LONGEST_PATTERN:
        raise BadPattern(f"is longer than {LONGEST_PATTERN} characters")
    if pattern.startswith(REGEX):
        return _regular(pattern.removeprefix(REGEX))
    glob = re.compile(translate(pattern))  # its groups are atomic, so a hostile name costs linear time
    return lambda name: glob.match(name) is not None


def _regular(pattern: str) -> Callable[[str], bool | None]:
    import regex  # 15 ms, for who writes regular expressions; unlike `re`, it stops in time

    try:
        compiled: Any = regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"is no regular expression: {error}") from None

    def match(name: str) -> bool | None:
        try:
            return compiled.fullmatch(name, timeout=_SECONDS) is not None
        except TimeoutError:
            return None

    return match


def matches(pattern: str, name: str, *, undecided: bool = False) -> bool:
    """True if a name is what `forbid` or `tool_pattern` name.

    Args:
        undecided: what counts where the pattern takes too long.
    """
    if not is_pattern(pattern):
        return pattern == name
    verdict = compile_pattern(pattern)(name)
    return undecided if verdict is None else verdict
