"""Embed texts with a local Ollama server."""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sb.errors import EmbedderError
from sb.store.embedding.embedder import MOST_CHARACTERS, unit

if TYPE_CHECKING:
    from sb.store.embedding.embedder import Vectors

_AT_ONCE = 64  # texts in one request
_MOST_BYTES = 64 << 20  # of one answer
_TASKS = {
    "nomic-embed-text": ("search_document: ", "search_query: ")
}  # what a model was trained to see first


class OllamaEmbedder:
    """Vectors by a model of an Ollama server; see `Embedder`.

    Args:
        url: where it listens, as in http://127.0.0.1:11434.
        name: of the model, with or without a tag.
        timeout_s: how long one answer may take, in seconds; the first one loads the model.

    Raises:
        EmbedderError: there is no such server, or it has no such model.
    """

    in_process = False

    def __init__(self, url: str, name: str, *, timeout_s: float = 20.0) -> None:
        self._url = url
        self._name = name
        self._timeout_s = timeout_s
        self._for_texts, self._for_questions = _TASKS.get(name.partition(":")[0], ("", ""))
        self.model = f"ollama-{name}-{self._digest()}"
        self.dimensions = self._ask(["a text"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        rows = [row for row, text in enumerate(texts) if text]
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            vectors[part] = self._known([self._for_texts + texts[row][:MOST_CHARACTERS] for row in part])
        return vectors

    def embed_query(self, text: str, keep: Sequence[str]) -> Vectors:
        vector: Vectors = self._known([self._for_questions + text[:MOST_CHARACTERS]])[0]
        return vector

    def _known(self, texts: list[str]) -> Vectors:
        """Vectors that can be compared with those that are kept."""
        found = self._ask(texts)
        if found.shape[1] != self.dimensions:
            raise self._error("gave vectors of another length", "open the database again")
        return found

    def _digest(self) -> str:
        """The digest of the model's files: a newly fetched model may differ."""
        named = {self._name, f"{self._name}:latest"}
        models = self._request("GET", "/api/tags").get("models")
        for model in models if isinstance(models, list) else []:
            if isinstance(model, dict) and model.get("name") in named:
                return str(model.get("digest"))[:12]
        raise self._error(f"has no model {self._name}", f"ollama pull {self._name}")

    def _ask(self, texts: list[str]) -> Vectors:
        import numpy as np

        found = self._request("POST", "/api/embed", {"model": self._name, "input": texts, "truncate": True})
        try:
            vectors = np.array(found.get("embeddings"), np.float32)
        except (ValueError, TypeError) as error:
            raise self._error("gave what are no vectors") from error
        if (
            vectors.ndim != 2
            or len(vectors) != len(texts)
            or not vectors.size
            or not np.isfinite(vectors).all()
        ):
            raise self._error("gave what are no vectors")
        return unit(vectors)

    def _request(self, method: str, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        try:
            status, data = self._exchange(method, path, json.dumps(document).encode() if document else None)
            answer = json.loads(data)
        except TimeoutError:
            raise self._error(f"did not answer within {self._timeout_s:g} s") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._error(f"cannot be used: {error}", "start it with `ollama serve`") from error
        if not isinstance(answer, dict):
            raise self._error("gave no JSON object")
        if status != 200:
            raise self._error(f"refused ({status}): {answer.get('error', '')}")
        return answer

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Neither a proxy nor a redirection is followed: texts go where the setting says, and nowhere else."""
        site = urlsplit(self._url)
        kind = http.client.HTTPSConnection if site.scheme == "https" else http.client.HTTPConnection
        connection = kind(site.netloc, timeout=self._timeout_s)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            response = connection.getresponse()
            data = response.read(_MOST_BYTES + 1)
        finally:
            connection.close()
        if len(data) > _MOST_BYTES:
            raise ValueError("the answer is too long")
        return response.status, data

    def _error(self, what: str, hint: str = "") -> EmbedderError:
        return EmbedderError(f"the Ollama server at {self._url} {what}", hint)
