"""Embed texts with sentence-transformers, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sb.errors import EmbedderError
from sb.store.embedding.embedder import MOST_CHARACTERS, unit

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Vectors


class TransformersEmbedder:
    """Vectors by a model that is on this machine; see `Embedder`. Nothing is fetched.

    Args:
        name: of the model, or its folder.

    Raises:
        EmbedderError: sentence-transformers or the model is not there.
    """

    in_process = True

    def __init__(self, name: str) -> None:
        try:
            import sentence_transformers
        except ImportError:
            raise EmbedderError(
                "sentence-transformers is not installed", 'pip install "secondbrain-sb[transformers]"'
            ) from None
        try:
            self._model: Any = sentence_transformers.SentenceTransformer(name, local_files_only=True)
        except Exception as error:  # it raises whatever the libraries below it do
            first = str(error).partition("\n")[0]
            raise EmbedderError(
                f"the model {name} cannot be loaded: {first}", f"hf download {name} fetches it"
            ) from error
        self.model = f"transformers-{name}"
        self.dimensions = self._vectors(self._model.encode_document, ["a text"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return self._vectors(self._model.encode_document, texts)

    def embed_query(self, text: str, keep: Sequence[str]) -> Vectors:
        vector: Vectors = self._vectors(self._model.encode_query, [text])[0]
        return vector

    def _vectors(self, encode: Any, texts: Sequence[str]) -> Vectors:
        import numpy as np

        short = [text[:MOST_CHARACTERS] for text in texts]
        found = np.asarray(encode(short, show_progress_bar=False, convert_to_numpy=True), np.float32)
        found[[not text for text in texts]] = 0
        return unit(found)
