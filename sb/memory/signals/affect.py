"""Affect of a text: valence and arousal by a lexicon, without a model.

Source: Hutto and Gilbert, "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text" (2014), whose
lexicon `vader.txt` holds. It rates valence alone: arousal is how much is said in either direction, and there is no dominance.
"""

from __future__ import annotations

import re
from functools import cache
from math import copysign, sqrt
from pathlib import Path
from typing import NamedTuple

_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
_NEGATIONS = frozenset(
    "no not never none nobody nothing neither nor nowhere cannot without hardly rarely seldom despite".split()
)
_BOOSTERS = frozenset(
    "absolutely completely deeply especially exceptionally extremely greatly highly hugely incredibly intensely"
    " particularly really remarkably so substantially thoroughly totally tremendously truly utterly very".split()
)
_NEGATED, _BOOSTED, _CAPITALS, _EXCLAIMED = -0.74, 0.293, 0.733, 0.292  # VADER's
_BEFORE = 3  # words before one that may negate it
_EXCLAMATIONS = 4  # of which more no longer count
_FLATTENS = 15.0  # VADER's alpha: how slowly a sum approaches 1
_LONGEST = 4_000  # characters that are looked at
_MARKED = 0.05  # of valence, from which on a text is positive or negative


class Affect(NamedTuple):
    """The affect of a text.

    Args:
        valence: from -1 to 1. arousal: from 0 to 1.
    """

    valence: float
    arousal: float

    @property
    def label(self) -> str:
        """Positive, negative or neutral, by VADER's thresholds."""
        return "neutral" if abs(self.valence) < _MARKED else "positive" if self.valence > 0 else "negative"

    @property
    def priority(self) -> float:
        """brainctl's consolidation priority, from 0 to 1 in the place of 1 to 2: arousal, and more of it where it has a sign."""
        more = 1.0 if abs(self.valence) <= 0.3 or self.arousal <= 0.3 else (1.3 if self.valence < 0 else 1.2)
        return round(min(1.0, (1.0 + 0.5 * self.arousal) * more - 1.0), 4)


@cache
def _lexicon() -> dict[str, float]:
    found: dict[str, float] = {}
    for line in Path(__file__).with_name("vader.txt").read_text(encoding="ascii").splitlines():
        if not line.startswith("#"):
            value, *words = line.split()
            found |= dict.fromkeys(words, float(value))
    return found


def affect(text: str) -> Affect:
    """Returns the affect of a text; none of either where it has no word of the lexicon."""
    text = text[:_LONGEST]
    lexicon, words = _lexicon(), _WORD.findall(text.lower())
    total = size = 0.0
    for at, word in enumerate(words):
        value = lexicon.get(word)
        if value is None:
            continue
        before = words[max(0, at - _BEFORE) : at]
        value += copysign(_BOOSTED, value) if at and words[at - 1] in _BOOSTERS else 0.0
        if any(other in _NEGATIONS or other.endswith("n't") for other in before):
            value *= _NEGATED
        total, size = total + value, size + abs(value)
    if not size:
        return Affect(0.0, 0.0)
    some = [word.isupper() and len(word) > 2 for word in re.findall(r"[A-Za-z]+", text)]
    emphasis = _EXCLAIMED * min(text.count("!"), _EXCLAMATIONS)
    emphasis += _CAPITALS if 0 < sum(some) < len(some) else 0.0
    total += copysign(emphasis, total) if total else 0.0
    return Affect(_flat(total), _flat(size + emphasis))


def _flat(value: float) -> float:
    return round(value / sqrt(value * value + _FLATTENS), 4)
