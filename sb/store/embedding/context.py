"""Embed a record together with the records before it.

What somebody answers means little without what was asked, so a vector also holds a share of the two before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.store.embedding.embedder import Embedder, unit

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Vectors

_SHARES = (0.5, 0.25)
_MOST_KEPT = 1_000  # texts that were asked for by themselves, a megabyte


def mix(own: Vectors, previous: Sequence[Vectors]) -> Vectors:
    """The unit vectors of records in their context.

    Args:
        own: one vector, or a row for each record.
        previous: the same of the record before it, then of the one before that; zeros where there is none.
    """
    mixed = own.copy()
    for share, vectors in zip(_SHARES, previous, strict=False):
        mixed += share * vectors
    return unit(mixed)


class ContextEmbedder:
    """Makes mixed vectors by one embedder.

    What the last texts gave by themselves is kept, since the next record of a session quotes them.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._own: dict[str, Vectors] = {}

    def own(self, text: str) -> Vectors:
        """The vector of one text by itself, kept for the record that is written next."""
        known = self._own
        vector = known.get(text)
        if vector is None:
            vector = self.embedder.embed([text])[0]
            if (
                len(known) >= _MOST_KEPT
            ):  # what merges is never embedded again, so nothing else takes these away
                known = self._own = {}
            known[text] = vector
        return vector

    def embed(self, rows: Sequence[tuple[str, Sequence[str]]]) -> Vectors:
        """A mixed vector for each row; each distinct text is embedded once.

        Args:
            rows: a record's text, and those of the two records before it, the nearest first.

        Raises:
            EmbedderError: the model cannot be used now.
        """
        import numpy as np

        texts = dict.fromkeys(each for text, before in rows for each in (text, *before[: len(_SHARES)]))
        new = [text for text in texts if text not in self._own]
        own = self._own | dict(zip(new, self.embedder.embed(new), strict=True)) if new else self._own
        self._own = {text: own[text] for text in texts}
        first = np.array([own[text] for text, _ in rows], np.float32).reshape(-1, self.embedder.dimensions)
        if not any(any(before) for _, before in rows):  # zeros take and add nothing
            return unit(first)
        nothing = np.zeros(self.embedder.dimensions, np.float32)
        quoted = [
            [own[before[step]] if len(before) > step else nothing for _, before in rows]
            for step in range(len(_SHARES))
        ]
        return mix(first, [np.array(part, np.float32) for part in quoted])
