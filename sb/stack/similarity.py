"""Similarity of short statements, word by word.

Words are alike by their stems, by one beginning with the other, or by their vectors: "faster" and "quicker" are, "small" and
"large" are not, nor are "tabs" and "spaces". Whole texts cannot be told apart so: their vectors are as near for "read the
logs" and "read the documentation" as for the same said twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sb.base.values.frozen import frozen
from sb.memory.ranking.terms import STOP_WORDS, stem, words

if TYPE_CHECKING:
    from sb.memory.ranking.lexicon import Lexicon

_ALIKE = 0.45  # cosine of two words from which they count as the same; opposites stay below 0.35
_BEGINNING = 4  # letters that a word at least has which another one begins with
_LONGER = 0.5  # of the words they share, that the longer one may have more
_NEGATIONS = frozenset(
    "no not never nor neither without avoid cannot don doesn didn won isn aren wasn shouldn mustn stop".split()
)
# Words that a lesson is put in, whatever it is about.
_LIGHT = frozenset(
    """
    add again always back bad begin better check do doing done easy enough every find first get gets getting give go
    going good got help helps important it keep keeps know learn learned let like look looking make makes making matter
    matters much must need needed needs one ought prior put really remember run running see set should start starting
    still sure take takes thing things try trying use used useful using want way well work working works write
    """.split()
)
# What stands before what: turned around it says something else.
_ORDER = re.compile(
    r"(?P<one>.+?)\b(?P<how>before|after|than|instead of|over)\b(?P<other>.+)", re.IGNORECASE | re.DOTALL
)
_ORDER_AHEAD = re.compile(
    r"\W*(?P<how>before|after)\b(?P<other>[^,]+),(?P<one>.+)", re.IGNORECASE | re.DOTALL
)


@frozen
class Statement:
    """A short text, and what it is about."""

    text: str

    @cached_property
    def _words(self) -> list[str]:
        return words(self.text)

    @cached_property
    def about(self) -> dict[str, str]:
        """Stem to word, without those that say nothing of the matter; all, if none of them did."""
        terms = [word for word in self._words if word not in STOP_WORDS and word not in _NEGATIONS]
        return {stem(word): word for word in [term for term in terms if term not in _LIGHT] or terms}

    @cached_property
    def denies(self) -> bool:
        return not _NEGATIONS.isdisjoint(self._words)

    @cached_property
    def figures(self) -> frozenset[str]:
        return frozenset(word for word in self._words if any(letter.isdigit() for letter in word))

    @cached_property
    def order(self) -> tuple[frozenset[str], frozenset[str]]:
        """The stems that come first, or are put first, and those that come second; none where it says no order."""
        found = _ORDER_AHEAD.match(self.text) or _ORDER.match(self.text)
        if found is None:
            return frozenset(), frozenset()
        first, second = (
            frozenset(map(stem, words(found[side]))) & self.about.keys() for side in ("one", "other")
        )
        return (second, first) if found["how"].lower() == "after" else (first, second)


class Similarity:
    """Compares statements.

    Args:
        lexicon: gives what is known of words, once that is needed.
    """

    def __init__(self, lexicon: Callable[[], Lexicon]) -> None:
        self._lexicon = lexicon

    def same(self, first: Statement, second: Statement) -> bool:
        """True if they say the same; a denial, another figure or another order makes it something else."""
        if first.denies != second.denies or first.figures != second.figures or _turned(first, second):
            return False
        short, long = sorted((first.about, second.about), key=len)
        left, right = short.keys() - long.keys(), long.keys() - short.keys()
        shared = len(short) - len(left)
        if not shared or len(long) - len(short) > _LONGER * len(short):
            return False
        return not left or self._matched([short[each] for each in left], [long[each] for each in right])

    def _matched(self, left: list[str], right: list[str]) -> bool:
        """True if each word of the one has its own like in the other."""
        pairs = sorted(((-like, at, to) for at, to, like in self._pairs(left, right)), key=lambda pair: pair)
        taken_left, taken_right = set[int](), set[int]()
        for _, at, to in pairs:
            if at not in taken_left and to not in taken_right:
                taken_left.add(at)
                taken_right.add(to)
        return len(taken_left) == len(left)

    def _pairs(self, left: list[str], right: list[str]) -> Iterable[tuple[int, int, float]]:
        lexicon = self._lexicon()
        with lexicon.lock:
            numbers = (lexicon.numbers(left), lexicon.numbers(right))
            like = lexicon.similarity(*(_array(some) for some in numbers))
        for at, item in enumerate(left):
            for to, other in enumerate(right):
                value = 1.0 if _begins(item, other) else float(like[at, to])
                if value >= _ALIKE:
                    yield at, to, value

    def groups(self, statements: Iterable[Statement]) -> list[list[Statement]]:
        """Groups statements that say the same; each is compared with the first of a group, in the given order."""
        groups: list[list[Statement]] = []
        by_stem: dict[str, list[int]] = {}
        for statement in statements:
            near = dict.fromkeys(group for each in statement.about for group in by_stem.get(each, ()))
            home = next((group for group in near if self.same(groups[group][0], statement)), None)
            if home is not None:
                groups[home].append(statement)
                continue
            for each in statement.about:
                by_stem.setdefault(each, []).append(len(groups))
            groups.append([statement])
        return groups


def _array(numbers: Sequence[int]) -> Any:
    import numpy as np  # for who compares, not for who opens a stack

    return np.array(numbers, np.intp)


def _turned(left: Statement, right: Statement) -> bool:
    (first, second), (others_first, others_second) = left.order, right.order
    return bool(first & others_second or second & others_first)


def _begins(left: str, right: str) -> bool:
    short, long = sorted((stem(left), stem(right)), key=len)
    return len(short) >= _BEGINNING and long.startswith(short)
