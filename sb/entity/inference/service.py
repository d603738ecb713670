"""The inference service: text from the bound model, vectors from the configured embedder.

The vectors are this installation's own, whatever the model: another model must not make them incomparable.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sb.config.memory import Memory
from sb.errors import EmbedderError
from sb.protocols import ModelMessage, ModelProtocol

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Embedder


class ModelInference:
    """An `InferenceService` over a model.

    Args:
        settings: which embedder makes the vectors; by default the one that is installed with this version.
    """

    def __init__(self, model: ModelProtocol, settings: Memory | None = None) -> None:
        self._model = model
        self._settings = settings or Memory()

    def infer(self, prompt: str, *, system: str | None = None) -> str:
        """Return the model's answer to one user message.

        Raises:
            ModelError: it cannot be used now, as LLMModel says it; another model may raise otherwise.
        """
        return self._model.generate([ModelMessage("user", prompt)], system=system).content

    def embed(self, text: str) -> list[float]:
        """A unit vector.

        Raises:
            EmbedderError: there is no embedder, or it cannot be used now.
        """
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        """A unit vector for each text; raises like `embed`."""
        return [[float(number) for number in row] for row in self._embedder.embed(texts)]

    @property
    def embedding_dimension(self) -> int:
        """Numbers in one vector; raises like `embed`."""
        return self._embedder.dimensions

    @property
    def embedding_provider_id(self) -> str:
        """The embedder's model with its version; raises like `embed`."""
        return self._embedder.model

    @cached_property
    def _embedder(self) -> Embedder:
        from sb.store.embedding.selection import NoEmbedder, choose  # loads files of 16 MB

        chosen = choose(self._settings)
        if isinstance(chosen, NoEmbedder):
            raise EmbedderError(f"no vectors: {chosen.reason}", chosen.hint)
        return chosen
