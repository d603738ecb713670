"""The texts that searches met, as numbers of the lexicon's words in one array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sb.base.values.numeric import np
from sb.memory.ranking.encoding import NOTHING
from sb.store.index.ranked_rows import Stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_NUMBERS = 2**20
"""So many numbers are kept, 4 MB; then all texts are forgotten, and laid out again as they come."""


class Laid(NamedTuple):
    """Some distinct texts, one after another.

    Args:
        words: their words, as numbers of the lexicon; the empty word stands before each text, and once after the last.
        starts: where each begins. heads: the first number of each, as `encoding` has it.
        places: which of them each of the texts that were asked for is.
    """

    words: NDArray[np.intp]
    starts: NDArray[np.intp]
    heads: NDArray[np.int64]
    places: NDArray[np.intp]


class TextPool:
    """The texts of one lexicon, valid until that forgets its words; text 0 is the empty one."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {NOTHING: 0}
        self._words = np.zeros(4_096, np.int32)
        self._starts = np.array([0, 1], np.intp)  # and where the next one begins
        self._heads = np.zeros(1, np.int64)
        self._asked: Sequence[Stored] = ()
        self._number_of = np.zeros(0, np.intp)  # of the texts that were asked about

    @property
    def is_full(self) -> bool:
        return bool(self._starts[-1] > MOST_NUMBERS)

    def numbers(self, texts: Sequence[Stored], wanted: NDArray[np.int64]) -> NDArray[np.intp]:
        """The numbers of those of these texts that are wanted, -1 for one that is not here.

        Args:
            texts: may grow at their end alone: what is known of them is kept until others are asked about.
        """
        if texts is not self._asked:
            self._asked, self._number_of = texts, np.zeros(0, np.intp)
        if len(texts) > len(self._number_of):
            room = max(len(texts), 2 * len(self._number_of)) - len(self._number_of)
            self._number_of = np.pad(self._number_of, (0, room), constant_values=-1)
        found = self._number_of.take(wanted)
        if (found < 0).any():
            new = list(set(wanted[found < 0].tolist()))
            self._number_of[new] = [self._known.get(texts[at][1], -1) for at in new]
            found = self._number_of.take(wanted)
        return found

    def missing(self, texts: Iterable[bytes]) -> list[bytes]:
        """Those of these distinct texts that are not here, as `encoding` has them."""
        return [text for text in texts if text not in self._known]

    def add(self, texts: Sequence[bytes], heads: NDArray[np.int64], words: NDArray[np.intp]) -> None:
        """Add texts that are not here.

        Args:
            heads: the first number of each. words: of all, one after another, the empty word before each.
        """
        end = int(self._starts[-1])
        need = end + len(words)
        if need > len(self._words):
            self._words = np.pad(self._words, (0, max(need, 2 * len(self._words)) - len(self._words)))
        self._words[end:need] = words
        sizes = np.fromiter(map(len, texts), np.intp, len(texts)) // len(NOTHING)
        self._starts = np.append(self._starts, end + np.cumsum(sizes))
        self._heads = np.append(self._heads, heads)
        first = len(self._known)
        self._known |= zip(texts, range(first, first + len(texts)), strict=True)

    def laid(self, numbers: NDArray[np.intp]) -> Laid:
        """The texts with these numbers, and the empty one before them."""
        counts = np.bincount(numbers, minlength=1)
        counts[0] = 1
        (distinct,) = counts.nonzero()
        counts[distinct] = np.arange(len(distinct))
        begins = self._starts.take(distinct)
        sizes = self._starts.take(distinct + 1) - begins
        ends = np.cumsum(sizes)
        starts = ends - sizes
        words = np.zeros(ends[-1] + 1, np.intp)
        words[:-1] = self._words.take(np.repeat(begins - starts, sizes) + np.arange(ends[-1]))
        return Laid(words, starts, self._heads.take(distinct), counts.take(numbers))
