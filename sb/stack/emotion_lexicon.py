"""Emotion lexicon: valence, arousal and emotions of a text by its words, negation considered.

The package `vader-sentiment` carries VADER's lexicon as a file: MIT, 7 500 words, no dependency; its code is never imported.
`vaderSentiment` has the same words and brings `requests`; `nrclex` names emotions, but the words that it carries are
free for research alone, and it needs `textblob`. So which emotion a word names is a table of our own.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sb.errors import ConfigError
from sb.memory.ranking.terms import words

_REACH = 3  # words before one, in which a denial concerns it
_DENIED = -0.74  # of its rating that is left then; both numbers are VADER's
_SPREAD = 15.0  # VADER's: how many ratings it takes to come near 1
_LEAST = 0.05  # VADER's: below it a text is neutral
_NEGATIONS = frozenset(
    """
    no not never none nobody nothing neither nor without cannot cant dont didnt isnt wasnt don didn doesn isn aren
    wasn weren won couldn wouldn shouldn hasn haven hadn hardly barely
    """.split()
)
# Words with a rating that say how work goes, not how it felt.
_NEUTRAL = frozenset(
    """
    accept accepted active adopt alert approved block blocked cancel cancelled clean create created credit credits
    critical cut dead demand drop dump dumped exposed fire fired ha important interest interests isolated join kill killed
    killing kills like likes limited low lower lowest matter matters no ok okay pay play please profit reject rejected
    resolve resolved resolves secure secured security share shared shares stop stopped stops support supported supports
    sure top true value values vision want warning warnings weak well yes
    """.split()
)
# Emotion to how aroused who feels it is, from 0 to 1, and the words that name it.
_EMOTIONS: Mapping[str, tuple[float, str]] = {
    "anger": (0.8, "anger angry angrily furious annoyed annoying irritated irritating outraged mad rage"),
    "calm": (0.1, "calm calmly peaceful relaxed serene tranquil"),
    "confusion": (0.5, "baffled bewildered confused confusing confusion perplexed puzzled"),
    "curiosity": (0.5, "curious curiosity fascinated fascinating intrigued intriguing"),
    "disgust": (0.6, "disgust disgusted disgusting revolting"),
    "excitement": (
        0.9,
        "eager ecstatic enthusiastic enthusiasm excited excitement exciting thrilled thrilling",
    ),
    "fear": (
        0.8,
        "afraid alarmed anxious anxiety fear feared nervous panic panicked scared terrified worried worry",
    ),
    "frustration": (0.7, "exasperated frustrated frustrating frustration"),
    "gratitude": (0.4, "appreciate appreciated grateful gratitude thankful thanks"),
    "joy": (0.7, "delight delighted enjoy enjoyed glad happy happily joy joyful pleased"),
    "pride": (0.6, "pride proud proudly triumph triumphant"),
    "relief": (0.3, "relief relieved"),
    "sadness": (
        0.3,
        "disappointed disappointing disappointment grief lonely miserable sad sadly sadness unhappy upset",
    ),
    "surprise": (0.8, "astonished astonishing shocked startled surprise surprised surprising surprisingly"),
}
_EMOTION_OF = {word: name for name, (_, named) in _EMOTIONS.items() for word in named.split()}
_UNNAMED = 0.5  # of the valence, as the arousal of what names no emotion


class Feeling(NamedTuple):
    """The emotion of a text.

    Args:
        valence: from -1, bad, to 1, good. arousal: from 0 to 1. emotions: that are named, in the order of the text.
    """

    valence: float
    arousal: float
    emotions: tuple[str, ...] = ()


def felt(text: str) -> Feeling | None:
    """Returns the emotion that a text expresses; None if it expresses none.

    Raises:
        ConfigError: the lexicon is not installed.
    """
    ratings = lexicon()
    tokens = words(text)
    telling = _telling().intersection(tokens)  # most texts have few such words
    total, emotions = 0.0, dict[str, None]()
    for at, word in enumerate(tokens) if telling else ():
        if word not in telling:
            continue
        emotion, rating = _EMOTION_OF.get(word), ratings.get(word, 0.0)
        denied = not _NEGATIONS.isdisjoint(tokens[max(0, at - _REACH) : at])
        total += rating * _DENIED if denied else rating
        if emotion is not None and not denied:
            emotions[emotion] = None
    valence = total / math.sqrt(total * total + _SPREAD)
    if abs(valence) < _LEAST and not emotions:
        return None
    return Feeling(round(valence, 3), round(_arousal(valence, tuple(emotions)), 3), tuple(emotions))


def _arousal(valence: float, emotions: Sequence[str]) -> float:
    if not emotions:
        return _UNNAMED * abs(valence)
    return sum(_EMOTIONS[name][0] for name in emotions) / len(emotions)


@cache
def _telling() -> frozenset[str]:
    return frozenset((*_EMOTION_OF, *lexicon()))


@cache
def lexicon() -> Mapping[str, float]:
    """Word to how people rated it, from -4 to 4; read once, in some milliseconds.

    Raises:
        ConfigError: it is not installed, or not what it was.
    """
    spec = importlib.util.find_spec("vader_sentiment")
    path = Path(spec.origin).parent / "vader_lexicon.txt" if spec and spec.origin else None
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path else []
        pairs = (line.split("\t", 2) for line in lines)
        found = {word: float(rating) for word, rating, _ in pairs if word.isalpha() and word not in _NEUTRAL}
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the files of vader-sentiment cannot be read: {error}", "install it again"
        ) from error
    if not found:
        raise ConfigError("the package vader-sentiment is not installed", "pip install vader-sentiment")
    return found
