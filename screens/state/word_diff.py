"""The words that differ between two texts."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from sb.base.fitting import Span

MOST_WORDS = 300  # of a text; comparing takes the square of their number
LONGEST = 4_000  # characters
LEAST_ALIKE = 0.3  # below which two texts are two, not one that was changed
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def changed_words(before: str, after: str) -> tuple[list[Span], list[Span]]:
    """Where words of the first text are missing from the second, and where the second has others.

    Texts that are too long, or share too little, have no words of their own: all of them differs.
    """
    old, new = ([match.span() for match in _WORDS.finditer(text[:LONGEST])] for text in (before, after))
    if max(len(before), len(after)) > LONGEST or max(len(old), len(new)) > MOST_WORDS:
        return [], []
    matcher = SequenceMatcher(
        None, [before[a:b] for a, b in old], [after[a:b] for a, b in new], autojunk=False
    )
    if matcher.ratio() < LEAST_ALIKE:
        return [], []
    removed: list[Span] = []
    added: list[Span] = []
    for tag, old_first, old_last, new_first, new_last in matcher.get_opcodes():
        if tag == "equal":
            continue
        if old_first < old_last:
            removed.append((old[old_first][0], old[old_last - 1][1]))
        if new_first < new_last:
            added.append((new[new_first][0], new[new_last - 1][1]))
    return removed, added
