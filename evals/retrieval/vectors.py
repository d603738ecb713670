"""What is the vector of a text, when the tokens' vectors are fixed and the collection says how rare each token is?"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

Vectors = NDArray[np.float32]


@cache
def model() -> tuple[Any, Vectors]:
    """The tokenizer and the token vectors that the package wordllama carries."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install wordllama==0.2.2.post0 tokenizers safetensors")
    folder = Path(spec.origin).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    weights = load_file(folder / "weights/l2_supercat_256.safetensors")["embedding.weight"]
    vectors = weights.astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.sqrt(np.where(lengths > 0, lengths, 1))
    return tokenizer, vectors


def unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=np.float32)


class Embedding:
    """Idf-weighted means of token vectors, less the mean of what was learned so far."""

    def __init__(self) -> None:
        _, vectors = model()
        self._seen = np.zeros(len(vectors), np.float32)
        self._texts = 0
        self._sum = np.zeros(vectors.shape[1], np.float32)

    def learn(self, texts: Sequence[str]) -> None:
        """Count the tokens of all of these, and then add their vectors to the mean."""
        for text in texts:
            self._seen[np.unique(self._tokens(text))] += 1
        self._texts += len(texts)
        for text in texts:
            self._sum += self._mean(text)

    def embed(self, text: str) -> Vectors:
        return unit(self._mean(text) - self._sum / np.float32(max(self._texts, 1)))

    def _tokens(self, text: str) -> NDArray[np.int64]:
        tokenizer, _ = model()
        return np.array(tokenizer.encode(text, add_special_tokens=False).ids, np.int64)

    def _mean(self, text: str) -> Vectors:
        _, vectors = model()
        tokens = self._tokens(text)
        if not len(tokens):
            return np.zeros(vectors.shape[1], np.float32)
        seen = self._seen[tokens]
        shares = np.log((self._texts - seen + 0.5) / (seen + 0.5) + 1)
        return np.asarray(shares @ vectors[tokens] / shares.sum(), np.float32)


def word_vectors(words: Sequence[str]) -> Vectors:
    """The mean of each word's tokens."""
    tokenizer, vectors = model()
    found = tokenizer.encode_batch(list(words), add_special_tokens=False)
    return np.array([np.mean(vectors[word.ids or [0]], axis=0) for word in found], np.float32)
