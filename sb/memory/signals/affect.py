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
_NEGATIONS = frozenset("no not never none nobody nothing neither nor cannot without hardly rarely".split())
_BOOSTERS = frozenset(
    "absolutely completely deeply extremely greatly highly incredibly particularly really so totally truly very".split()
)
_NEGATED, _BOOSTED, _CAPITALS, _EXCLAIMED, _FLATTENS = -0.74, 0.293, 0.733, 0.292, 15.0  # VADER's
_LONGEST = 4_000  # characters that are looked at


class Affect(NamedTuple):
    """The affect of a text: valence from -1 to 1, arousal from 0 to 1."""

    valence: float
    arousal: float

    @property
    def label(self) -> str:
        """Positive, negative or neutral, by VADER's thresholds."""
        return "neutral" if abs(self.valence) < 0.05 else "positive" if self.valence > 0 else "negative"

    @property
    def priority(self) -> float:
        """brainctl's consolidation priority, from 0 to 1 in the place of 1 to 2: arousal, and more of it where it has a sign."""
        more = 1.0 if abs(self.valence) <= 0.3 or self.arousal <= 0.3 else (1.3 if self.valence < 0 else 1.2)
        return round(min(1.0, (1.0 + 0.5 * self.arousal) * more - 1.0), 4)


@cache
def _lexicon() -> dict[str, float]:
    lines = Path(__file__).with_name("vader.txt").read_text(encoding="ascii").splitlines()
    rated = [line.split() for line in lines if not line.startswith("#")]
    return {word: float(value) for value, *words in rated for word in words}


def affect(text: str) -> Affect:
    """Returns the affect of a text; none of either where it has no word of the lexicon."""
    text = text[:_LONGEST]
    lexicon, words = _lexicon(), _WORD.findall(text.lower())
    values = []
    for at, word in enumerate(words):
        if value := lexicon.get(word):
            value += copysign(_BOOSTED, value) if at and words[at - 1] in _BOOSTERS else 0.0
            negated = any(it in _NEGATIONS or it.endswith("n't") for it in words[max(0, at - 3) : at])
            values.append(_NEGATED * value if negated else value)
    capitals = [word.isupper() and len(word) > 2 for word in re.findall(r"[A-Za-z]+", text)]
    emphasis = _EXCLAIMED * min(text.count("!"), 4) + _CAPITALS * (0 < sum(capitals) < len(capitals))
    total, size = sum(values), sum(map(abs, values))
    return Affect(_flat(total + copysign(emphasis, total) if total else 0.0), _flat(size and size + emphasis))


def _flat(value: float) -> float:
    return round(value / sqrt(value * value + _FLATTENS), 4)
