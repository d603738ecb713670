"""The protocols of a model, and of the inference that stacks and components get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from sb.protocols.envelopes import (
    ModelCapabilities,
    ModelChunk,
    ModelMessage,
    ModelResponse,
    ToolDefinition,
)


@runtime_checkable
class ModelProtocol(Protocol):
    """A language model of any provider."""

    @property
    def model_id(self) -> str: ...

    @property
    def capabilities(self) -> ModelCapabilities: ...

    def generate(
        self,
        messages: list[ModelMessage],
        *,
        tools: list[ToolDefinition] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        system: str | None = None,
    ) -> ModelResponse:
        """The whole answer to a conversation."""
        ...

    def stream(
        self,
        messages: list[ModelMessage],
        *,
        tools: list[ToolDefinition] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        system: str | None = None,
    ) -> Iterator[ModelChunk]:
        """The answer, as it comes."""
        ...


@runtime_checkable
class InferenceService(Protocol):
    """The inference that a stack and its components may use, whichever model is bound."""

    def infer(self, prompt: str, *, system: str | None = None) -> str:
        """Return the model's answer to a prompt."""
        ...

    def embed(self, text: str) -> list[float]:
        """The vector of a text."""
        ...

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts, in their order."""
        ...

    @property
    def embedding_dimension(self) -> int:
        """Numbers in one vector."""
        ...

    @property
    def embedding_provider_id(self) -> str:
        """The id of the embedder: vectors of two providers are never compared."""
        ...
