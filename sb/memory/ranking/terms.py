"""Split a text into terms, exactly as the full-text index does.

The index is FTS5 with the tokenizer `porter unicode61`; what is counted here must be what is found there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice
from threading import Lock
from typing import Any

MOST_CHARACTERS = 20_000
"""So many characters of a text count; one memory of megabytes would stall every search that meets it."""

MOST_TERMS = 64
"""So many terms of a query are looked up, the first ones; SQLite refuses expressions much deeper."""

MOST_STEMS = 200_000

STOP_WORDS = frozenset(
    """
    a an and are as at be been but by can could did do does for from had has have he her hers him his how i if in
    into is it its may me might my of on or our she should so some than that the their them then there these they
    this those to us was we were what when where which who whom whose why will with would you your about after
    before during any am being both each just more most no nor not only other own same such too very s t don now
    """.split()
)

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)

TIME_WORDS = frozenset(
    """
    yesterday today tonight tomorrow ago recently since just last next day days week weeks weekend weekends month
    months year years night morning summer winter spring fall monday tuesday wednesday thursday friday saturday sunday
    """.split()
    + list(MONTHS)
)

# The combining marks that unicode61 takes as part of the letter before them; others end a word there.
_ACCENTS = frozenset(0x300 + bit for bit in range(50) if (0x000361F8_08029FDF >> bit) & 1)


class _Folding(dict[int, str]):
    """The tokenizer's mapping of characters: a lower-case letter or digit, nothing, or a space."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold(chr(code))
        return folded


def _fold(character: str) -> str:
    if ord(character) in _ACCENTS:
        return ""
    category = unicodedata.category(character)
    if category[0] not in "LN" and category != "Co":
        return " "
    parted = unicodedata.normalize("NFD", character)
    # unicode61 takes one accent off a Latin letter; two, or another script's, it leaves.
    plain = parted[0] if len(parted) == 2 and parted[0].isascii() else character
    return next((form for form in (plain.casefold(), plain.lower()) if len(form) == 1), plain)


class _Stems(dict[str, str]):
    """Porter stems. A known word costs one look-up."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()  # the stemmer keeps the word that it is at
        self._stemmer: Any = None

    def __missing__(self, word: str) -> str:
        with self._lock:
            if self._stemmer is None:
                from Stemmer import Stemmer

                self._stemmer = Stemmer("porter", 0)  # without a cache of its own: this is one
            if len(self) >= MOST_STEMS:
                self.clear()
            self[word] = found = _ENDINGS.get(word) or self._porter(word)
        return found

    def _porter(self, word: str) -> str:
        """FTS5 leaves the shortest and longest words alone, and follows Porter's later rules for -bli and -logi."""
        if not _MAY_CHANGE.search(word):
            return word
        octets = word.encode("utf-8", "replace")
        if not 3 <= len(octets) <= 64:
            return word
        stem: str = self._stemmer.stemWord(octets.decode("latin-1"))  # it counts octets, not letters
        if _HAS_MEASURE.match(stem) and (
            stem.endswith("logi") or (stem.endswith("bli") and not stem.endswith("abli"))
        ):
            stem = self._stemmer.stemWord(stem[:-1] + "e" if stem.endswith("bli") else stem[:-1])
        return stem.encode("latin-1").decode("utf-8", "replace")


_ENDINGS = {
    "ies": "ie",
    "sses": "sse",
    "eed": "e",
}  # FTS5 takes these for an ending only after something else
_MAY_CHANGE = re.compile(  # what Porter's suffixes end in: the stemmer takes 20 us for a word
    r"(?:[seyi]|ed|ing|ant|ent|ion|er|or|ism|ic|ou|al|ful|ll)$"
)
_HAS_MEASURE = re.compile(r"[^aeiou]*[aeiouy]+[^aeiouy].*(?:logi|bli)$")
_FOLDING = _Folding()
_FOLDED_OCTETS = "".join(map(_fold, map(chr, range(128)))).encode().ljust(256)
_STEMS = _Stems()


def words(text: str) -> list[str]:
    """The words of a text as `folded` has them, in order, in lower case and without accents."""
    return folded(text).split()


def folded(text: str) -> str:
    """The words of the first `MOST_CHARACTERS` characters, with one or more spaces between them, and nothing else."""
    read = text[:MOST_CHARACTERS]
    if read.isascii():  # of octets it takes half the time
        return read.encode().translate(_FOLDED_OCTETS).decode()
    return read.translate(_FOLDING)


def stem(word: str) -> str:
    """The Porter stem of one of `words`."""
    return _STEMS[word]


def stems(text: str) -> list[str]:
    """The stems of the words of a text, in order."""
    return [_STEMS[word] for word in words(text)]


def asked_for(terms: Iterable[str]) -> list[str]:
    """The terms that are looked up: the first `MOST_TERMS` of them, each once."""
    return list(islice(dict.fromkeys(terms), MOST_TERMS))


def match_expression(
    terms: Iterable[str], places: Sequence[int] | None, *, beside: Iterable[str] = (), state: str = ""
) -> str:
    """The FTS5 expression for texts that hold any of the terms.

    Args:
        terms: words as `words` gives them, the most important first: those after the first `MOST_TERMS` are left out.
        places: where the texts may be, as integers, which the index has as tokens `p<place>` of its column `place`;
            None for anywhere, and in any state.
        beside: one of these has to be there too. state: of the texts, "" for active.

    Returns:
        An empty string if nothing can match.
    """
    parts = [f"(- place : ({_any(item)}))" for item in (asked_for(terms), list(beside)) if item]
    if not parts or (places is not None and not places):
        return ""
    if places is not None:
        parts.append(f"(place : ({_any(f'{state}p{int(place)}' for place in places)}))")
    return " AND ".join(parts)


def _any(terms: Iterable[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)
