"""Encode the terms of a text for ranking, so that no query reads the text again.

A number for each of its words, those of the sentences that ask first, behind one that says how many they are, how many
names the text holds and whether there is a digit in it. 4 bytes each.
"""

from __future__ import annotations

import re
import sys
from array import array
from zlib import crc32

from sb.memory.ranking.terms import MOST_CHARACTERS, MOST_STEMS, words

NOTHING = bytes(4)  # no text
ASKING = 0xFFFF  # bits of the first number: words that ask, then names up to `MOST_NAMES`, then the digit
NAMES, MOST_NAMES = 16, 4
DIGIT = 1 << 19

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NAME = re.compile(r" (?<=[a-z,] )[A-Z]\w")  # begins with a plain character, which is found fast
_DIGIT = re.compile(r"\d")


class _Numbers(dict[str, int]):
    """Word numbers by word, cached."""

    def __missing__(self, word: str) -> int:
        if len(self) >= MOST_STEMS:
            self.clear()
        self[word] = number = crc32(word.encode("utf-8", "replace"))
        return number


_NUMBERS = _Numbers()


def word_number(word: str) -> int:
    """Hashes a word to 32 bits, so that collisions are rare among thousands of words."""
    return _NUMBERS[word]


def encoded(text: str) -> bytes:
    """A text as ranking counts it."""
    asking, telling = _parts(text[:MOST_CHARACTERS])
    asked = words(asking)[:ASKING] if asking else []
    names = min(len(_NAME.findall(text, 0, MOST_CHARACTERS)), MOST_NAMES)
    digit = DIGIT if _DIGIT.search(text, 0, MOST_CHARACTERS) else 0
    head = len(asked) | names << NAMES | digit
    numbers = array(
        "I", [head, *map(_NUMBERS.__getitem__, asked), *map(_NUMBERS.__getitem__, words(telling))]
    )
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _parts(text: str) -> tuple[str, str]:
    """The sentences that ask, and the others."""
    if "?" not in text:
        return "", text
    asking: list[str] = []
    telling: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        (asking if sentence.endswith("?") else telling).append(sentence)
    return " ".join(asking), " ".join(telling)
