"""Token frequencies and the common component of a collection, for static embeddings.

Both are counted, and frozen until they are counted again: a vector is only as good as the counts it was made with,
but one that was made with older counts can still be compared.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from sb.base.values.frozen import frozen
from sb.base.values.numeric import np
from sb.errors import StoreCorrupt

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADER = struct.Struct("<QII")  # texts, tokens of the vocabulary, dimensions
_PRIOR_TEXTS = 20  # texts at the origin, so that the mean of a handful of texts does not lead astray


@frozen
class TokenStatistics:
    """Counts of one collection.

    Args:
        texts: how many were counted.
        df: for each token of the vocabulary, how many of them hold it.
        total: the sum of their vectors, before the mean is taken off.
    """

    texts: int
    df: NDArray[np.uint32]
    total: NDArray[np.float32]

    @classmethod
    def empty(cls, vocabulary: int, dimensions: int) -> TokenStatistics:
        """Returns statistics of no text: all tokens weigh the same."""
        return cls(0, np.zeros(vocabulary, np.uint32), np.zeros(dimensions, np.float32))

    def idf(self) -> NDArray[np.float32]:
        """The weight of each token, as BM25 has it."""
        weights: NDArray[np.float32] = np.log((self.texts + 1) / (self.df + 0.5)).astype(np.float32)
        return weights

    def mean(self) -> NDArray[np.float32]:
        mean: NDArray[np.float32] = np.divide(self.total, self.texts + _PRIOR_TEXTS, dtype=np.float32)
        return mean

    def to_bytes(self) -> bytes:
        head = _HEADER.pack(self.texts, len(self.df), len(self.total))
        return head + self.df.astype("<u4").tobytes() + self.total.astype("<f4").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> TokenStatistics:
        """Reads the output of `to_bytes`.

        Raises:
            StoreCorrupt: these are no statistics.
        """
        if len(data) >= _HEADER.size:
            texts, vocabulary, dimensions = _HEADER.unpack_from(data)
            if len(data) == _HEADER.size + 4 * (vocabulary + dimensions):
                df = np.frombuffer(data, "<u4", vocabulary, _HEADER.size)
                total = np.frombuffer(data, "<f4", dimensions, _HEADER.size + 4 * vocabulary)
                if df.max(initial=0) <= texts and np.isfinite(total).all():
                    return cls(texts, df, total)
        raise StoreCorrupt("the statistics of the embedder are damaged", "count the texts again")
