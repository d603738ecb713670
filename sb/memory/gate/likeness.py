"""Similarity of two texts, from 0 to 1, and the value in which they differ.

The words of each text are matched with the most similar word of the other (greedy matching, as BERTScore does: Zhang et al.,
"BERTScore: Evaluating Text Generation with BERT", ICLR 2020), and the worse of both directions counts: a text that says more
than the other is no restatement of it. Cosines of whole texts cannot tell a paraphrase from another value of the same thing.
Of texts with another value only words of one stem match: they never merge, so that vectors would decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from sb.base.values.numeric import np
from sb.memory.gate.roles import condition_changed, roles_changed
from sb.memory.gate.values import Values, changed, is_negation, values_of

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Vectors

EmbedWords = Callable[[Sequence[str]], "Vectors"]

_MOST_WORDS = 300  # of a text that are matched: the time grows with their square
_MOST_KEPT = 20_000  # words whose vectors are kept, 20 MB
_SHORT = 1_000  # characters; what a longer text says takes more room, and so fewer are kept
_SYNONYM = 0.5  # words that are less alike say something else
_ROOT, _END = 5, 4  # letters
_PLURALS = re.compile(r"(?:ies|ied|y)$")
_ENDINGS = re.compile(r"(?<=..)(?:ing|ed|es|s|e)$")
_DERIVED = re.compile(r"(?:er|or|ee|ist|ant|ent|ion|ness|able|ible|less|ful|ly)s?$")
_FILLERS = frozenset(
    "note notes remember agreed short also well course here there now currently please just really very indeed still already"
    " one some such own again located else otherwise thus every per since because always".split()
)
_TELLING = frozenset(
    "hourly weekly monthly yearly nightly nearly hardly rarely partly partially manually automatically locally remotely"
    " temporarily publicly privately anomaly assembly supply family monopoly".split()
)

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
        difference = changed(here, there)
        if not words or not others:
            same = here.sequence == there.sequence
            return Likeness(float(same), difference or ("" if same else "word"), same_frame)
        by_vectors = not difference and self._embed is not None
        ours = self._matched(words, others, there.stems, by_vectors)
        theirs = self._matched(others, words, here.stems, by_vectors)
        score = min(1.0, max(0.0, min(sum(each.values()) / len(each) for each in (ours, theirs))))
        if score < least:
            return Likeness(score, "", same_frame)
        if not difference:
            difference = self._differing(here, there, words, others, (text, other))
        return Likeness(score, difference, same_frame)

    def _matched(
        self, words: Mapping[str, str], others: Mapping[str, str], roots: frozenset[str], by_vectors: bool
    ) -> dict[str, float]:
        """The similarity of each word to its nearest among the others; 1 for one of these stems."""
        matched = {word: 1.0 if root in roots else 0.0 for word, root in words.items()}
        alone = [word for word, likeness in matched.items() if not likeness] if by_vectors else ()
        if alone:
            matched |= zip(alone, self._similar(alone, others).max(axis=1).tolist(), strict=True)
        return matched

    def _similar(self, words: Collection[str], others: Collection[str]) -> Vectors:
        """The similarity of each word to each other, by vectors alone."""
        similar: Vectors = np.einsum("ik,jk->ij", self._vectors(words), self._vectors(others))
        return similar

    def _differing(
        self,
        here: Values,
        there: Values,
        words: Mapping[str, str],
        others: Mapping[str, str],
        texts: tuple[str, str],
    ) -> str:
        """Returns `word` where a content word of one text is none of the other, `order` where roles are others, else ""."""
        if condition_changed(here.stems, there.stems):
            return "word"
        ours, theirs = _without(words, others, there), _without(others, words, here)
        same: dict[str, str] = {}
        names = here.first | there.first  # perhaps
        if ours and theirs and self._embed is not None:
            similar = self._similar(ours, theirs)
            left = dict(enumerate(theirs.items()))
            for likenesses, (word, root) in zip(similar.tolist(), ours.items(), strict=True):
                nearest = max(((likenesses[at], at) for at in left), default=(0.0, -1))
                if nearest[1] >= 0 and _is_synonym(nearest[0], word, left[nearest[1]][0], names):
                    same[left.pop(nearest[1])[1]] = root
        spare = [word for word, root in ours.items() if root not in same.values()]
        spare += [word for word, root in theirs.items() if root not in same]
        if not all(_says_little(word, names) for word in spare):
            return "word"
        return "order" if roles_changed(here.sequence, there.sequence, texts, same) else ""

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


def _without(words: Mapping[str, str], others: Mapping[str, str], other: Values) -> dict[str, str]:
    """The words that another text does not have in any inflection, with their stems."""
    named = other.names | other.first
    forms = {_base(word) for word in others}
    return {
        word: root
        for word, root in words.items()
        if word not in named and _base(word) not in forms and not is_negation(word)  # these are counted
    }


@lru_cache(maxsize=16_384)
def _base(word: str) -> str:
    """A word without its inflection; `operator` stays apart from `operation`, which have one stem."""
    found = _ENDINGS.sub("", _PLURALS.sub("i", word.replace("'", "")))
    return found[:-1] if len(found) > 2 and found[-1] == found[-2] else found


def _is_synonym(likeness: float, word: str, other: str, names: frozenset[str]) -> bool:
    both_named = word in names and other in names
    return likeness >= _SYNONYM and not both_named and not _is_derived(word, other)


def _is_derived(word: str, other: str) -> bool:
    """True for words of one root: other parts (`player`, `play`), opposites (`mounted`, `unmounted`), kin (`libfoo`, `libbar`)."""
    here, there = _base(word), _base(other)
    if here[:_ROOT] == there[:_ROOT] or (here[-_END:] == there[-_END:] and len(here) != len(there)):
        return True
    return word[:3] == other[:3] and bool(_DERIVED.search(word) or _DERIVED.search(other))


def _says_little(word: str, names: frozenset[str]) -> bool:
    """True for a word whose loss changes no fact: how something is done, and what only leads over."""
    if word in _FILLERS:
        return True
    return word.endswith("ly") and len(word) > 5 and word not in _TELLING and word not in names
