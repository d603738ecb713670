"""The lexicon of words met so far, with their vectors and similarity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sb.base.values.numeric import np
from sb.memory.ranking.encoding import NOTHING, word_number
from sb.memory.ranking.terms import STOP_WORDS, TIME_WORDS, stem, words
from sb.store.index.ranked_rows import Stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float32]"
Embed = Callable[[Sequence[str]], Array]
Read = Callable[[Sequence[int]], Iterable[str]]
"""Gives the texts of records, by their numbers."""

MOST_WORDS = 50_000
"""So many words are kept, with vectors 50 MB; then all are forgotten, and learned again as they come."""

EMPTY = 0
"""The number of the word that stands for none: it is like nothing."""

_SLOTS = 2**17
"""A stored word is looked for by its lowest bits; those that share them with another, one of twenty, in a dictionary."""

_PRODUCT = 2**18
"""So many multiplications stay in this thread; for more, BLAS would wake others, which costs more than they save."""

_STOP, _TIME, _YOU = 1, 2, 4
_LISTENER = ("you", "your", "yours")


class _Numbers(dict[str, int]):
    """A number for every word; a word that is known costs one look-up."""

    def __init__(self) -> None:
        super().__init__({"": EMPTY})
        self.words = [""]
        self.stored: dict[int, int] = {}  # by what stands for a word in stored texts

    def __missing__(self, word: str) -> int:
        self[word] = self.stored[word_number(word)] = number = len(self)
        self.words.append(word)
        return number


class Kinds(NamedTuple):
    """Words of each kind among some words.

    Args:
        content: no stop words. timed: that name a time. addressing: that address the listener.
    """

    content: NDArray[np.bool_]
    timed: NDArray[np.bool_]
    addressing: NDArray[np.bool_]


class Laid(NamedTuple):
    """Some distinct texts, one after another; the first is the empty one.

    Args:
        words: their words, as numbers of the lexicon; the empty word stands before each text, and once after the last.
        starts: where each begins. heads: the first number of each, as `encoding` has it.
        places: which of them each of the texts that were asked for is.
    """

    words: NDArray[np.intp]
    starts: NDArray[np.intp]
    heads: NDArray[np.int64]
    places: NDArray[np.intp]


class Lexicon:
    """The words ranking has met, kept between queries; hold `lock` while numbers are in use.

    Args:
        embed: gives a vector, of any length but 0, for each of some words. Without it words are alike if they have the
            same stem, and otherwise not at all.
    """

    def __init__(self, embed: Embed | None = None) -> None:
        self.lock = RLock()
        self._embed = embed
        self._begin()

    def _begin(self) -> None:
        self._numbers = _Numbers()
        self._stem_numbers: dict[str, int] = {"": EMPTY}
        self._known = 1
        self._kinds = np.full(1, _STOP, np.uint8)
        self._stems = np.zeros(1, np.int32)
        self._vectors = np.zeros((1, 0), np.float32)
        self._stored = np.zeros(1, np.uint32)  # what stands for each word, EMPTY's is 0
        self._slots = np.zeros(
            _SLOTS, np.int32
        )  # the number of a word with these lowest bits; none has slot 0

    def trim(self) -> None:
        """Forget all words if there are too many; numbers given before are void."""
        if len(self._numbers) > MOST_WORDS:
            self._begin()

    def numbers(self, words: Iterable[str]) -> list[int]:
        return list(map(self._numbers.__getitem__, words))

    def laid(self, texts: Sequence[Stored], wanted: NDArray[np.int64], read: Read) -> Laid:
        """Texts as numbers of words.

        Args:
            wanted: places in the texts.
            read: gives the texts of records that have words which were never met.
        """
        record_of = {NOTHING: 0} | {text: record for record, text in texts}
        distinct = {text: at for at, text in enumerate(record_of)}
        sizes = np.fromiter(map(len, distinct), np.intp, len(distinct)) // len(NOTHING)
        starts = np.cumsum(sizes) - sizes
        stored = np.frombuffer(b"".join([*distinct, NOTHING]), "<u4").copy()
        heads = stored[starts].astype(np.int64)
        stored[starts] = 0
        numbers = self.known(stored)
        unknown = np.logical_or.reduceat(numbers < 0, starts)
        if unknown.any():
            for text in read(
                [record for record, new in zip(record_of.values(), unknown, strict=True) if new]
            ):
                self.numbers(words(text))
            numbers = np.maximum(self.known(stored), EMPTY)
        places = np.fromiter((distinct[text] for _, text in texts), np.intp, len(texts))
        return Laid(numbers, starts, heads, places.take(wanted))

    def known(self, stored: NDArray[np.uint32]) -> NDArray[np.intp]:
        """The numbers of words that are stored as `encoding` has them, -1 for those that were never met; of 0 it is EMPTY."""
        self._learn()
        numbers = self._slots.take(stored % _SLOTS).astype(np.intp)
        elsewhere = np.flatnonzero(self._stored.take(numbers) != stored)
        found = map(self._numbers.stored.get, stored[elsewhere].tolist(), repeat(-1))
        numbers[elsewhere] = np.fromiter(found, np.intp, len(elsewhere))
        return numbers

    def kinds(self, words: NDArray[np.intp]) -> Kinds:
        """Marks the words of each kind."""
        self._learn()
        kinds = self._kinds.take(words)
        return Kinds(kinds & _STOP == 0, kinds & _TIME != 0, kinds & _YOU != 0)

    def same(self, terms: NDArray[np.intp], words: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Marks where term (row) and word (column) share a stem."""
        self._learn()
        equal = self._stems.take(words) == self._stems[terms][:, None]
        return np.asarray(equal & (words != EMPTY))

    def similarity(self, terms: NDArray[np.intp], words: NDArray[np.intp]) -> Array:
        """Returns the similarity of terms and words, from 0 to 1."""
        if self._embed is None:
            return self.same(terms, words).astype(np.float32)
        self._learn()
        asked, found = self._vectors[terms], np.empty((len(terms), len(words)), np.float32)
        step = max(_PRODUCT // max(asked.size, 1), 1)
        for start in range(0, len(words), step):
            part = self._vectors.take(words[start : start + step], axis=0)
            np.matmul(asked, part.T, out=found[:, start : start + step])
        return np.asarray(np.maximum(found, 0, out=found))

    def _learn(self) -> None:
        """Look at the words that are new since the last time."""
        new = self._numbers.words[self._known :]
        if not new:
            return
        stems = self._stem_numbers
        self._stems = np.append(
            self._stems, [stems.setdefault(stem(word), len(stems)) for word in new]
        ).astype(np.int32)
        self._kinds = np.append(self._kinds, [_kind_of(word) for word in new]).astype(np.uint8)
        self._file(np.array([word_number(word) for word in new], np.uint32))
        if self._embed is not None:
            self._keep(_unit(self._embed(new)))
        self._known += len(new)

    def _file(self, stored: NDArray[np.uint32]) -> None:
        self._stored = np.append(self._stored, stored)
        slots, numbers = stored % _SLOTS, np.arange(self._known, self._known + len(stored))
        free = (self._slots[slots] == EMPTY) & (slots > 0)
        self._slots[slots[free]] = numbers[free]

    def _keep(self, vectors: Array) -> None:
        end = self._known + len(vectors)
        if end > len(self._vectors):  # doubled, so that a growing vocabulary is seldom copied
            grown = np.zeros((2 * end, vectors.shape[1]), np.float32)
            grown[: self._known, : self._vectors.shape[1]] = self._vectors[: self._known]
            self._vectors = grown
        self._vectors[self._known : end] = vectors


def _kind_of(word: str) -> int:
    is_year = len(word) == 4 and word.isdecimal() and word[:2] in ("19", "20")
    return _STOP * (word in STOP_WORDS) | _TIME * (is_year or word in TIME_WORDS) | _YOU * (word in _LISTENER)


def _unit(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=np.float32)
