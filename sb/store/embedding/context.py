"""How does the vector of a record take in the records before it?

What somebody answers means little without what was asked, so a vector also holds a share of the two before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sb.store.embedding.embedder import Embedder, unit

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Vectors

_SHARES = (0.5, 0.25)


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


def embed_in_context(embedder: Embedder, rows: Sequence[tuple[str, Sequence[str]]]) -> Vectors:
    """A mixed vector for each row; each distinct text is embedded once.

    Args:
        rows: a record's text, and those of the two records before it, the nearest first.

    Raises:
        EmbedderError: the model cannot be used now.
    """
    import numpy as np

    places: dict[str, int] = {}
    for text, before in rows:
        for each in (text, *before[: len(_SHARES)]):
            places.setdefault(each, len(places))
    nothing = np.zeros((1, embedder.dimensions), np.float32)
    vectors = np.concatenate([embedder.embed(list(places)), nothing]) if places else nothing
    own = [places[text] for text, _ in rows]
    previous = [
        [places[before[step]] if len(before) > step else -1 for _, before in rows]
        for step in range(len(_SHARES))
    ]
    return mix(vectors[own], [vectors[each] for each in previous])
