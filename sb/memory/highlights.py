"""Highlight the words of a text that match a query, stemmed as in the full-text index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sb.memory.ranking.terms import MOST_CHARACTERS, STOP_WORDS, stem, words

_WORD = re.compile(r"\w+")


def spans(query: str, text: str) -> Iterator[tuple[int, int]]:
    """Returns start and end of a query's words in a text; stop words count only if there are no others.

    Of a long text only the first `MOST_CHARACTERS` count, as for ranking.
    """
    asked = words(query)
    wanted = {stem(word) for word in asked if word not in STOP_WORDS} or {stem(word) for word in asked}
    for match in _WORD.finditer(text, 0, MOST_CHARACTERS):
        if any(stem(part) in wanted for part in words(match[0])):
            yield match.span()


def beginnings(typed: Iterable[str], text: str) -> Iterator[tuple[int, int]]:
    """Returns start and end of what begins a word of a text, as the filter of the records looks for it.

    Args:
        typed: words of the filter, in any case.
    """
    any_word = "|".join(re.escape(word) for word in sorted(typed, key=len, reverse=True))
    if any_word:
        for match in re.finditer(rf"(?<![a-zA-Z0-9])(?:{any_word})", text[:MOST_CHARACTERS], re.IGNORECASE):
            yield match.span()


def excerpt(query: str, text: str, length: int) -> str:
    """At most so many characters of a text, from a little before the first word that was asked for.

    What is cut off is marked by an ellipsis.
    """
    if len(text) <= length:
        return text
    first = next(iter(spans(query, text)), (0, 0))[0]
    start = max(0, min(first - length // 4, len(text) - length))
    begin = text.find(" ", start) + 1 if start else 0
    begin = begin if begin <= first else start
    cut = text[begin : begin + length - 2]
    return ("…" if begin else "") + cut + ("…" if begin + len(cut) < len(text) else "")
