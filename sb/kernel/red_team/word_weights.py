"""Weights of words, wherever they stand and where they begin a sentence, and of pairs of neighbours."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

STEM = 5  # letters that words share which count as one
_CACHED = 65_536  # words
# Begins with a set of characters, since `re` finds these fastest.
_FIRST = re.compile(r"[.!?:;\n\"(]\s{0,12}([^\W_]+(?:['\u2019_\-][^\W_]+)*)")
_BEGINNING = re.compile(r"\s*([^\W_]+(?:['\u2019_\-][^\W_]+)*)")


class Words(NamedTuple):
    """The words of a text in lower case.

    Args:
        text: addresses in it are blank. words: in order. starts: the character at which each begins.
    """

    text: str
    words: Sequence[str]
    starts: Sequence[int]

    def sentence_starts(self) -> Iterator[tuple[int, str]]:
        """Each word that begins a sentence, a clause, a quotation or a line, with its number."""
        if beginning := _BEGINNING.match(self.text):
            yield 0, beginning[1]
        for match in _FIRST.finditer(self.text):
            yield bisect_left(self.starts, match.start(1)), match[1]


class WordWeights(dict[str, float]):
    """The weight of each word with that of its stem; found when a word first occurs, and remembered.

    Args:
        weights: by feature, see `features_of`. pairs: of two words that follow one another, with a space between.
    """

    def __init__(self, weights: Mapping[str, float], pairs: Mapping[str, float]) -> None:
        self._weights = weights
        self._first = {name[1:]: weight for name, weight in weights.items() if name.startswith("^")}
        self._pairs = {tuple(pair.split(" ")): weight for pair, weight in pairs.items()}

    def __missing__(self, word: str) -> float:
        if len(self) >= _CACHED:
            self.clear()
        weight = self[word] = sum(self._weights.get(name, 0.0) for name in features_of(word))
        return weight

    def running_sums(self, words: Words) -> list[float]:
        """Running sums of the words' weights, from no word to all of them."""
        each = list(map(self.__getitem__, words.words))
        first = self._first
        for number, word in words.sentence_starts():
            if word in first:
                each[number] += first[word]
        for number, weight in enumerate(map(self._pairs.get, pairwise(words.words)), 1):
            if weight is not None:
                each[number] += weight
        return list(accumulate(each, initial=0.0))


def features_of(word: str, *, first: bool = False) -> Iterator[str]:
    """The names under which a word has weights.

    Args:
        first: whether it begins a sentence.
    """
    yield word
    if len(word) > STEM:
        yield f"{word[:STEM]}*"
    if first:
        yield f"^{word}"
