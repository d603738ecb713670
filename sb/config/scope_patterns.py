"""Patterns of scopes: the one syntax of all settings and files that name scopes, and which of several counts.

A pattern is a scope, or one with `*` for any characters: `project:shop`, `project:shop*`, `customer:*`, `*`. Nothing else is
special.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

ANY = "*"
Rule = TypeVar("Rule")


def matches(pattern: str, scope: str) -> bool:
    """True if a scope, or a pattern taken as one, is among those that a pattern means."""
    if ANY not in pattern:
        return pattern == scope
    return pattern == ANY or _compiled(pattern).fullmatch(scope) is not None


def any_matches(patterns: Iterable[str], scope: str) -> bool:
    """True if a scope is among those that one of these patterns means."""
    return any(matches(pattern, scope) for pattern in patterns)


def rule_of(rules: Mapping[str, Rule], scope: str) -> Rule | None:
    """The rule that a scope follows: that of its own name, else of the longest pattern; None where there is none."""
    if scope in rules:
        return rules[scope]
    fitting = [pattern for pattern in rules if matches(pattern, scope)]
    return rules[max(fitting, key=len)] if fitting else None


def rules_of(rules: Mapping[str, Rule], scope: str) -> list[Rule]:
    """All rules whose patterns mean a scope, the shortest first and that of its own name last."""
    fitting = [pattern for pattern in rules if matches(pattern, scope)]
    return [
        rules[pattern] for pattern in sorted(fitting, key=lambda pattern: (pattern == scope, len(pattern)))
    ]


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split(ANY))), re.DOTALL)
