"""The protocol of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[float32]

MOST_CHARACTERS = (
    20_000  # of one text: what comes after it changes its vector little, and costs as much again
)


class Embedder(Protocol):
    """Makes unit vectors of texts; a text without anything to go by gets the zero vector.

    Args:
        model: names the model and its version: vectors of two models are never compared.
        dimensions: numbers in one vector.
        in_process: whether it answers at once, without asking a server.
    """

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def in_process(self) -> bool: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text.

        Raises:
            EmbedderError: the model cannot be used now.
        """
        ...

    def embed_query(self, text: str, keep: Sequence[str]) -> Vectors:
        """The vector of a question.

        Args:
            keep: its words without stop words and names, for models that know words alone.

        Raises:
            EmbedderError: the model cannot be used now.
        """
        ...


def unit(vectors: Vectors) -> Vectors:
    """The vectors, each of length 1; zero stays zero."""
    import numpy as np

    lengths = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    lengths[lengths == 0] = 1
    scaled: Vectors = np.divide(vectors, lengths, dtype=np.float32)
    return scaled
