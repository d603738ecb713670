"""Keep the vectors current: re-embed what is missing, changed or of another model.

A memory gets its vector with the save that wrote it. What is left for maintenance: vectors of another model, of a
server that was away, or made when too little was known of what is common. A bound model's own vectors are never kept:
one file is searched by every stack and Brain in it, and vectors of two models cannot be compared.
"""

from __future__ import annotations

from typing import Any

from sb.errors import EmbedderError
from sb.protocols import InferenceService
from sb.stack.components.component import Component
from sb.stack.storage import StackStorage


class EmbeddingComponent(Component):
    """The vectors of a stack."""

    name = "embedding"
    required = True
    needs_inference = True

    @property
    def embedding_dimension(self) -> int:
        """Numbers in one vector; raises like `embed`."""
        own = self._storage.embedder if self._storage else None
        return own.dimensions if own else self._bound.embedding_dimension

    @property
    def embedding_provider_id(self) -> str:
        """The id of the embedder; raises like `embed`."""
        own = self._storage.embedder if self._storage else None
        return own.model if own else self._bound.embedding_provider_id

    def embed(self, text: str) -> list[float]:
        """The vector of a text, by the stack's own embedder; by the bound model where the stack has none.

        Raises:
            EmbedderError: there is neither, or it cannot be used now.
        """
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts, in their order; raises like `embed`."""
        own = self._storage.embedder if self._storage else None
        if own is None:
            return self._bound.embed_batch(texts)
        return [[float(number) for number in row] for row in own.embed(texts)]

    @property
    def _bound(self) -> InferenceService:
        if self._inference is None:
            raise EmbedderError("no vectors: no embedder, and no model", "sb config show memory")
        return self._inference

    def _maintain(self, storage: StackStorage) -> dict[str, Any]:
        done = storage.reindex()
        report: dict[str, Any] = {"re_indexed": done.embedded if done else 0}
        missing = (done.words_alone if done else "") or storage.vector_search_disabled_reason
        if missing:
            return report | {"words_alone": missing}
        return report | {"provider": self.embedding_provider_id, "dimension": self.embedding_dimension}
