"""Embed texts with static token vectors, offline and without a model.

By the mean of fixed token vectors, which rare tokens pull harder, less what all texts of the collection have in
common. The `wordllama` package carries the tokens and their vectors as two files; its code is never imported, since
that would look for models on the network.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.base.values.frozen import frozen
from sb.base.values.numeric import np
from sb.errors import EmbedderError
from sb.store.embedding.embedder import MOST_CHARACTERS, unit
from sb.store.embedding.token_statistics import TokenStatistics
from sb.store.embedding.tokens import SPACE, WordTokens, load_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sb.store.embedding.embedder import Vectors

_TOKENS = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_RECIPE = 1  # another way to make vectors of the same files is another model


@frozen
class StaticModel:
    """The two files, loaded.

    Args:
        name: of the model, with a digest of what decides about its vectors.
        tokenizer: gives the tokens of a text that was prepared by `ids`.
        stored: a vector for each token, as the file has it.
    """

    name: str
    tokenizer: Any
    stored: NDArray[np.float16]

    @classmethod
    def load(cls) -> StaticModel:
        """The installed model, in about 0.03 s.

        Raises:
            EmbedderError: it is not installed, or its files cannot be read.
            ImportError: what reads the files is missing.
        """
        spec = importlib.util.find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise EmbedderError("the package wordllama is not installed", "pip install wordllama")
        folder = Path(spec.origin).parent
        try:
            from safetensors.numpy import load_file

            tokenizer = load_tokenizer(folder / _TOKENS)
            stored = load_file(folder / _WEIGHTS)["embedding.weight"]
        except ImportError:
            raise
        except Exception as error:  # the two libraries raise bare ones of their own
            raise EmbedderError(
                f"the files of wordllama cannot be read: {error}", "install it again"
            ) from error
        digest = hashlib.blake2b(stored[::16].tobytes(), digest_size=4).hexdigest()
        return cls(f"wordllama-{stored.shape[1]}-{_RECIPE}-{digest}", tokenizer, stored)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of tokens, and of dimensions."""
        tokens, dimensions = self.stored.shape
        return tokens, dimensions

    @cached_property
    def _ready(self) -> tuple[Vectors, NDArray[np.bool_]]:
        """The vectors of the tokens that were met, and which these are: making all ready would double what loading costs."""
        return np.empty(self.shape, np.float32), np.zeros(len(self.stored), np.bool_)

    @cached_property
    def _words(self) -> WordTokens:
        return WordTokens(self.tokenizer)

    def table(self, ids: NDArray[Any]) -> Vectors:
        """Vectors by token, of these and of those that were met before."""
        ready, ndarray = self._ready
        known = ndarray.take(ids)
        if not known.all():
            new = _distinct(ids[~known])
            vectors = self.stored.take(new, 0).astype(np.float32)
            # The length of a token's vector tells how much it says, but too loudly: its root finds more.
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
            ready[new] = vectors / np.sqrt(np.where(lengths > 0, lengths, 1))[:, None]
            ndarray[new] = True  # only now: another thread may be reading
        return ready

    def ids(self, text: str) -> NDArray[np.int64]:
        """The tokens of a text; what it says, even `</s>`, is text."""
        plain = text[:MOST_CHARACTERS]
        if not plain.isascii():
            plain = plain.encode("utf-8", "replace").decode()  # half of a surrogate pair is no text
        if not plain:
            return np.empty(0, np.int64)
        whole = (
            "  " in plain or SPACE in plain or " " in (plain[0], plain[-1])
        )  # spaces in a row may be one token
        words = [plain] if whole else plain.split(" ")
        return np.frombuffer(b"".join(map(self._words.__getitem__, words)), np.int64)


class StaticEmbedder:
    """Vectors by an installed model and the counts of a collection; see `Embedder`.

    Args:
        statistics: of the collection's texts; without them every token weighs the same.

    Raises:
        EmbedderError: the statistics are those of another model.
    """

    in_process = True

    def __init__(self, static: StaticModel, statistics: TokenStatistics | None = None) -> None:
        counted = statistics or TokenStatistics.empty(*static.shape)
        if (len(counted.df), len(counted.total)) != static.shape:
            raise EmbedderError("the statistics belong to another model", "count the texts again")
        self.model = static.name
        self.dimensions = static.shape[1]
        self.statistics = counted
        self._static = static
        self._weights = counted.idf()
        self._mean = counted.mean()

    def knowing(self, statistics: TokenStatistics) -> StaticEmbedder:
        """Returns the same model with other token statistics."""
        return StaticEmbedder(self._static, statistics)

    def count(self, texts: Iterable[str]) -> TokenStatistics:
        """The statistics of a collection, or of a fair sample of it; 20 000 texts take about half a second."""
        df = np.zeros(self._static.shape[0], np.uint32)
        found = []
        for text in texts:
            ids = self._static.ids(text).astype(np.uint16)
            df[_distinct(ids)] += 1
            found.append(ids)
        total = np.zeros(self.dimensions, np.float32)
        idf = TokenStatistics(len(found), df, total).idf()
        table, mean = self._table([np.flatnonzero(df)]), np.empty_like(total)
        for ids in found:
            if len(ids):
                _mean_of(ids, idf, table, mean)
                total += mean
        return TokenStatistics(len(found), df, total)

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        found = [self._static.ids(text) for text in texts]
        table, some = self._table(found), [len(ids) > 0 for ids in found]
        for vector, ids in zip(vectors, found, strict=True):
            if len(ids):
                _mean_of(ids, self._weights, table, vector)
        vectors[some] -= self._mean
        return unit(vectors)

    def embed_query(self, text: str, keep: Sequence[str]) -> Vectors:
        vector = np.zeros((1, self.dimensions), np.float32)
        ids = self._static.ids(" ".join(keep) or text)
        if len(ids):
            _mean_of(ids, self._weights, self._static.table(ids), vector[0])
            vector -= self._mean
        found: Vectors = unit(vector)[0]
        return found

    def rank(self, word: str) -> int:
        """The place of a word's rarest token among all, from the most frequent on."""
        return int(max(self._static.ids(word), default=0))

    def embed_words(self, words: Sequence[str]) -> Vectors:
        """The plain mean of each word's tokens: how alike two words are does not depend on the collection."""
        vectors = np.zeros((len(words), self.dimensions), np.float32)
        found = [self._static.ids(word) for word in words]
        table, counts = self._table(found), [len(ids) for ids in found]
        for count in {*counts} - {0}:  # words of as many tokens at once
            rows = [row for row, own in enumerate(counts) if own == count]
            tokens = np.concatenate([found[row] for row in rows]).reshape(-1, count)
            vectors[rows] = table.take(tokens, 0).mean(axis=1)
        return vectors

    def _table(self, tokens: Sequence[NDArray[Any]]) -> Vectors:
        return self._static.table(np.concatenate((*tokens, np.empty(0, np.int64))))


def _distinct(ids: NDArray[Any]) -> NDArray[Any]:
    """Each token once, in order; np.unique would import numpy.ma, which takes longer than to load a model."""
    ordered = np.sort(ids)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]


def _mean_of(
    ids: NDArray[Any], weights: NDArray[np.float32], table: Vectors, mean: NDArray[np.float32]
) -> None:
    """Put the mean of the tokens' vectors into `mean`."""
    own = weights.take(ids)
    np.dot(own, table.take(ids, 0), out=mean)
    mean /= np.add.reduce(own)
