"""Select the embedder that the settings name, and report why it cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from threading import Lock

from sb.base.values.frozen import frozen
from sb.config.memory import Memory
from sb.errors import EmbedderError
from sb.store.embedding.embedder import Embedder

_LOADING = Lock()  # two threads may ask for the model at once; loading it waits for nothing else


@frozen
class NoEmbedder:
    """Memories are found by words alone.

    Args:
        reason: why, in one line. hint: what to do about it, or "".
    """

    reason: str
    hint: str = ""

    def __str__(self) -> str:
        return f"words alone: {self.reason}"


def choose(settings: Memory) -> Embedder | NoEmbedder:
    """The embedder that is set, loaded, or why there is none; no other takes its place.

    Vectors of two models cannot be compared, so a server that is down for a minute must not change the model.
    """
    if settings.embedder == "none":
        return NoEmbedder("memory.embedder is none")
    try:
        return _LOADERS[settings.embedder](settings)
    except EmbedderError as error:
        return NoEmbedder(error.message, error.hint)
    except ImportError as error:  # of numpy, or of what reads the files
        return NoEmbedder(f"{error.name or error} cannot be imported", "install secondbrain-sb again")


def _static(settings: Memory) -> Embedder:
    with _LOADING:
        return _loaded()


@cache
def _loaded() -> Embedder:
    """Loaded once for all memories of a process: 0.03 s and 50 MB."""
    from sb.store.embedding.static import StaticEmbedder, StaticModel

    return StaticEmbedder(StaticModel.load())


def _ollama(settings: Memory) -> Embedder:
    from sb.store.embedding.ollama import OllamaEmbedder

    return OllamaEmbedder(settings.ollama_url, settings.ollama_model)


def _transformers(settings: Memory) -> Embedder:
    from sb.store.embedding.transformers import TransformersEmbedder

    return TransformersEmbedder(settings.transformers_model)


_LOADERS: Mapping[str, Callable[[Memory], Embedder]] = {
    "static": _static,
    "ollama": _ollama,
    "transformers": _transformers,
}
