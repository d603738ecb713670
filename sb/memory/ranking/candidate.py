"""The candidates of a question: records that a search named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sb.store.index.ranked_rows import RankedRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Candidates(NamedTuple):
    """Records that the index or the vectors named.

    Args:
        rows: what is known of them whatever is asked.
        similarity: cosines of their vectors with the question's, 0 without vectors.
        by_words: which of them the search for words named.
        legs: what each search named, the best first; what stands beside them is in none.
    """

    rows: RankedRows
    similarity: NDArray[np.float64]
    by_words: NDArray[np.bool_]
    legs: Mapping[str, Sequence[int]]

    def first(self, count: int) -> Candidates:
        """The first of them."""
        rows = self.rows._replace(columns=self.rows.columns[:count])
        return self._replace(rows=rows, similarity=self.similarity[:count], by_words=self.by_words[:count])
