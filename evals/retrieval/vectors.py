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
    assert spec is not None and spec.origin is not None, "pip install wordllama==0.2.2.post0"
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
    """Idf-weighted means of token vectors, less the mean of the collection."""

    def __init__(self, texts: Sequence[str]) -> None:
        _, vectors = model()
        seen = np.zeros(len(vectors), np.float32)
        for text in texts:
            seen[np.unique(self.tokens(text))] += 1
        self.idf = np.log((len(texts) - seen + 0.5) / (seen + 0.5) + 1).astype(np.float32)
        self.mean = np.zeros(vectors.shape[1], np.float32)
        if texts:
            self.mean = np.mean([self.raw(text) for text in texts], axis=0, dtype=np.float32)

    def tokens(self, text: str) -> NDArray[np.int64]:
        tokenizer, _ = model()
        return np.array(tokenizer.encode(text, add_special_tokens=False).ids, np.int64)

    def raw(self, text: str) -> Vectors:
        _, vectors = model()
        tokens = self.tokens(text)
        if not len(tokens):
            return np.zeros(vectors.shape[1], np.float32)
        shares = self.idf[tokens]
        return np.divide(shares @ vectors[tokens], shares.sum(), dtype=np.float32)

    def embed(self, text: str) -> Vectors:
        return unit(self.raw(text) - self.mean)
