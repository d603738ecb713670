"""Similarity of two texts, from 0 to 1, and the value in which they differ.

The words of each text are matched with the most similar word of the other (greedy matching, as BERTScore does: Zhang et al.,
"BERTScore: Evaluating Text Generation with BERT", ICLR 2020), and the worse of both directions counts: a text that says more
than the other is no restatement of it. Cosines of whole texts cannot tell a paraphrase from another value of the same thing.
Of texts with another value only words of one stem match: they never merge, so that vectors would decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from sb.base.values.numeric import np
from sb.memory.gate.values import Values, changed, values_of
from sb.memory.ranking.terms import stem

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Vectors

EmbedWords = Callable[[Sequence[str]], "Vectors"]

_MOST_WORDS = 300  # of a text that are matched: the time grows with their square
_MOST_KEPT = 20_000  # words whose vectors are kept, 20 MB
_SHORT = 1_000  # characters; what a longer text says takes more room, and so fewer are kept
_NAMED = 0.5  # a first word that is matched worse is a name that the other text does not mention
_SUBSTITUTED = 0.3  # words that are less alike, in one place of otherwise equal texts, say something else
_SPAN = 2  # words that count as one place

_values_of_short = lru_cache(maxsize=2_048)(values_of)
_values_of_long = lru_cache(maxsize=64)(values_of)


def cached_values(text: str) -> Values:
    """Returns what `values_of` does, kept for the texts of the last comparisons."""
    return _values_of_short(text) if len(text) <= _SHORT else _values_of_long(text)


class Likeness(NamedTuple):
    """The comparison of two texts.

    Args:
        score: from 0 to 1. changed: the value in which they differ (number, date, name, negation, order, word), or "".
        same_frame: whether they are equal but for numbers, dates and names.
    """

    score: float
    changed: str
    same_frame: bool


class Comparer:
    """Compares texts by the vectors of their words.

    Args:
        embed_words: gives a vector for each of some words; without it words are alike only if their stems are equal.
    """

    def __init__(self, embed_words: EmbedWords | None) -> None:
        self._embed = embed_words
        self._known: dict[str, Vectors] = {}

    def compare(self, text: str, other: str, *, least: float = 0.0) -> Likeness:
        """Compares two texts; the order of the two makes no difference.

        Args:
            least: of texts that are less alike, in what they differ is not looked for.
        """
        here, there = cached_values(text), cached_values(other)
        if here.sequence == there.sequence and text.strip() == other.strip():
            return Likeness(1.0, "", True)
        same_frame = here.frame == there.frame
        words, others = _first_words(here), _first_words(there)
        if not words or not others:
            same = here.sequence == there.sequence
            difference = changed(here, there)
            return Likeness(float(same), difference or ("" if same else "word"), same_frame)
        difference = changed(here, there)
        by_vectors = not difference and self._embed is not None
        ours, theirs = self._matched(words, others, by_vectors), self._matched(others, words, by_vectors)
        score = min(1.0, max(0.0, min(sum(each.values()) / len(each) for each in (ours, theirs))))
        if score < least:
            return Likeness(score, "", same_frame)
        if not difference:
            difference = _renamed(here, there, ours) or _renamed(there, here, theirs)
            difference = difference or self._substituted(here, there, words, others)
        return Likeness(score, difference, same_frame)

    def _matched(
        self, words: Mapping[str, str], others: Mapping[str, str], by_vectors: bool
    ) -> dict[str, float]:
        """The similarity of each word to its nearest among the others; 1 for the same stem."""
        roots = set(others.values())
        matched = {word: 1.0 if root in roots else 0.0 for word, root in words.items()}
        alone = [word for word, likeness in matched.items() if not likeness] if by_vectors else ()
        if alone:
            matched |= zip(alone, self._similar(alone, others).max(axis=1).tolist(), strict=True)
        return matched

    def _similar(self, words: Collection[str], others: Collection[str]) -> Vectors:
        """The similarity of each word to each other, by vectors alone."""
        similar: Vectors = np.einsum("ik,jk->ij", self._vectors(words), self._vectors(others))
        return similar

    def _substituted(
        self, values: Values, other: Values, words: Mapping[str, str], others: Mapping[str, str]
    ) -> str:
        """Returns `word` where the texts are equal but for one place, and what stands there is unlike."""
        here, there = list(values.sequence), list(other.sequence)
        while here and there and here[0] == there[0]:
            del here[0], there[0]
        while here and there and here[-1] == there[-1]:
            del here[-1], there[-1]
        if not (0 < len(here) <= _SPAN and 0 < len(there) <= _SPAN):
            return ""
        ours = {word: root for word, root in words.items() if root in here}
        theirs = {word: root for word, root in others.items() if root in there}
        if not ours or not theirs or not {*ours.values()}.isdisjoint(theirs.values()):
            return ""
        alike = self._embed is not None and float(self._similar(ours, theirs).max()) >= _SUBSTITUTED
        return "" if alike else "word"

    def _vectors(self, words: Collection[str]) -> Vectors:
        """Unit vectors of words."""
        known = self._known
        new = [word for word in words if word not in known]
        if new and self._embed is not None:
            if len(known) > _MOST_KEPT:
                known.clear()
                new = list(words)
            made = self._embed(new)
            lengths = np.sqrt(np.square(made).sum(axis=1, keepdims=True))
            known.update(zip(new, made / np.maximum(lengths, 1e-9), strict=True))
        return np.concatenate([known[word] for word in words]).reshape(len(words), -1)


def _first_words(values: Values) -> Mapping[str, str]:
    words = values.words
    return words if len(words) <= _MOST_WORDS else dict(islice(words.items(), _MOST_WORDS))


def _renamed(values: Values, other: Values, matched: dict[str, float]) -> str:
    """Returns `name` where a text begins a sentence with a capitalised word that nothing in the other is like."""
    for word in values.first:
        mentioned = word in other.names or stem(word) in other.stems
        if not mentioned and matched.get(word, 1.0) < _NAMED:
            return "name"
    return ""
