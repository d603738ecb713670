"""Choice of the embedder by a setting; one that cannot be used is named, with the reason."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sb.config import load_config
from sb.config.memory import Memory
from sb.errors import EmbedderError
from sb.store.embedding import selection
from sb.store.embedding.ollama import OllamaEmbedder
from sb.store.embedding.selection import NoEmbedder, choose
from tests.conftest import CommandLine

DIMENSIONS = 8


class Ollama:
    """A server that speaks Ollama's protocol; its vectors depend on the texts alone.

    Args:
        asked: the texts of each request for vectors. answer: replaces the next answers, as (status, body).
    """

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.digest = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
        self.answer: tuple[int, bytes] | None = None
        self.before: Callable[[], object] = lambda: None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                models = [{"name": "nomic-embed-text:latest", "digest": outer.digest}]
                self._send(200, json.dumps({"models": models}).encode())

            def do_POST(self) -> None:
                outer.before()
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(asked["input"])
                vectors = [outer.vector(text) for text in asked["input"]]
                answer = {"model": asked["model"], "embeddings": vectors}
                self._send(*(outer.answer or (200, json.dumps(answer).encode())))

            def _send(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def vector(self, text: str) -> list[float]:
        seed = int.from_bytes(text.encode()[-8:], "big")
        return [float(number) for number in np.random.default_rng(seed).normal(size=DIMENSIONS) * 3]


@pytest.fixture
def ollama() -> Iterator[Ollama]:
    served = Ollama()
    thread = threading.Thread(target=served.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield served
    served.server.shutdown()
    served.server.server_close()
    thread.join()


def settings(embedder: str, url: str = "http://127.0.0.1:9", model: str = "nomic-embed-text") -> Memory:
    return Memory(embedder=embedder, ollama_url=url, ollama_model=model)


def test_the_default_is_the_one_that_is_installed_with_the_program(home: Path) -> None:
    chosen = choose(load_config(env=os.environ, cwd=home.parent, flags={}).memory)
    assert not isinstance(chosen, NoEmbedder)
    assert (chosen.model[:13], chosen.dimensions) == ("wordllama-256", 256)


def test_none_is_words_alone_without_loading_anything() -> None:
    chosen = choose(settings("none"))
    assert str(chosen) == "words alone: memory.embedder is none"


def test_a_model_that_is_missing_leaves_words_alone_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    selection._loaded.cache_clear()  # as in a process that has not loaded it yet
    monkeypatch.setitem(sys.modules, "wordllama", None)
    assert str(choose(settings("static"))) == "words alone: the package wordllama is not installed"


def test_a_missing_library_leaves_words_alone_and_is_named() -> None:
    program = """
import sys
sys.modules["numpy"] = None
from sb.config.memory import Memory
from sb.store.embedding.selection import choose
print(choose(Memory(embedder="static")))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "words alone: numpy cannot be imported"


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="it is installed")
def test_transformers_that_are_not_installed_are_named() -> None:
    chosen = choose(settings("transformers"))
    assert isinstance(chosen, NoEmbedder)
    assert "sentence-transformers is not installed" in chosen.reason
    assert "secondbrain-sb[transformers]" in chosen.hint


def test_a_transformers_model_that_is_not_on_this_machine_is_not_fetched() -> None:
    pytest.importorskip("sentence_transformers")
    chosen = choose(Memory(embedder="transformers", transformers_model="no-such/model"))
    assert isinstance(chosen, NoEmbedder)
    assert "no-such/model cannot be loaded" in chosen.reason


def test_ollama_makes_unit_vectors_in_batches_and_tells_texts_from_questions(ollama: Ollama) -> None:
    embedder = choose(settings("ollama", ollama.url))
    assert not isinstance(embedder, NoEmbedder)
    assert (embedder.model, embedder.dimensions) == ("ollama-nomic-embed-text-0a109f422b47", DIMENSIONS)
    texts = [f"text {number}" for number in range(150)] + [""]
    ollama.asked.clear()
    vectors = embedder.embed(texts)
    assert [len(batch) for batch in ollama.asked] == [64, 64, 22]
    assert ollama.asked[0][0] == "search_document: text 0"
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1.0] * 150 + [0.0])
    assert (embedder.embed([texts[70]])[0] == vectors[70]).all()
    embedder.embed_query("where is it?", [])
    assert ollama.asked[-1] == ["search_query: where is it?"]


def test_a_model_that_was_fetched_again_is_another_model(ollama: Ollama) -> None:
    before = OllamaEmbedder(ollama.url, "nomic-embed-text").model
    ollama.digest = "ffff" + ollama.digest[4:]
    assert OllamaEmbedder(ollama.url, "nomic-embed-text:latest").model != before


def test_a_server_without_the_model_says_how_to_fetch_it(ollama: Ollama) -> None:
    chosen = choose(settings("ollama", ollama.url, "other"))
    assert isinstance(chosen, NoEmbedder)
    assert chosen.reason.endswith("has no model other")
    assert chosen.hint == "ollama pull other"


def test_no_server_leaves_words_alone() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"  # which nobody else takes meanwhile
        chosen = choose(settings("ollama", url))
    assert isinstance(chosen, NoEmbedder)
    assert f"server at {url} cannot be used" in chosen.reason


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>", "cannot be used"),
        (200, b"[]", "no JSON object"),
        (200, b"{}", "no vectors"),
        (200, b'{"embeddings": [[1, 2], [3]]}', "no vectors"),
        (200, b'{"embeddings": [["a", "b"]]}', "no vectors"),
        (200, b'{"embeddings": [[1, NaN]]}', "no vectors"),
        (200, b'{"embeddings": [[1, 2], [3, 4]]}', "no vectors"),
        (200, b'{"embeddings": [[1, 2]]}', "vectors of another length"),
        (500, b'{"error": "out of memory"}', r"refused \(500\): out of memory"),
        (302, b"{}", r"refused \(302\)"),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_never_a_vector(
    ollama: Ollama, status: int, body: bytes, said: str
) -> None:
    embedder = OllamaEmbedder(ollama.url, "nomic-embed-text")
    ollama.answer = (status, body)
    with pytest.raises(EmbedderError, match=said):
        embedder.embed(["one text"])


def test_a_server_that_hangs_is_given_up(ollama: Ollama) -> None:
    embedder = OllamaEmbedder(ollama.url, "nomic-embed-text", timeout_s=0.2)
    gone_on = threading.Event()
    ollama.before = lambda: gone_on.wait(60)
    with pytest.raises(EmbedderError, match=r"did not answer within 0\.2 s"):
        embedder.embed(["one text"])
    gone_on.set()


def test_texts_go_to_the_server_that_is_set_and_not_to_a_proxy(
    ollama: Ollama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert OllamaEmbedder(ollama.url, "nomic-embed-text").embed(["one text"]).any()


def test_a_project_cannot_send_memories_elsewhere(tmp_path: Path, home: Path) -> None:
    (tmp_path / "sb.yaml").write_text(
        "memory: {embedder: ollama, ollama_url: 'http://10.0.0.1:1'}\n", encoding="utf-8"
    )
    config = load_config(env=os.environ, cwd=tmp_path, flags={})
    assert config.memory == Memory()
    assert any("memory.embedder" in note for note in config.notes)


def test_doctor_says_which_embedder_is_in_use(sb: CommandLine, home: Path) -> None:
    def row() -> tuple[str, str]:
        items = sb("doctor", "--json").json["items"]
        return next((item["status"], item["detail"]) for item in items if item["name"] == "embedder")

    sb("init")
    status, detail = row()
    assert status == "ok"
    assert detail.startswith("static, wordllama-256-")
    (home / "config.yaml").write_text("memory: {embedder: none}\n", encoding="utf-8")
    assert row() == ("ok", "words alone: memory.embedder is none")
    (home / "config.yaml").write_text(
        "memory: {embedder: ollama, ollama_url: 'http://127.0.0.1:9'}\n", encoding="utf-8"
    )
    status, detail = row()
    assert status == "warn"
    assert detail.startswith("words alone: the Ollama server at http://127.0.0.1:9 cannot be used")


def test_a_question_that_the_server_fails_to_answer_is_answered_by_words_and_that_is_said(
    sb: CommandLine, home: Path, ollama: Ollama
) -> None:
    sb("memory", "remember", "the till is short")
    (home / "config.yaml").write_text(f"memory: {{embedder: ollama, ollama_url: '{ollama.url}'}}")
    assert sb("memory", "search", "till", "--json").json["words_alone"] == ""
    real = ollama.vector
    ollama.vector = lambda text: [] if "till" in text else real(text)  # type: ignore[method-assign]
    for command in ("search", "think"):
        asked = sb("memory", command, "till", "--json")
        assert [item["content"] for item in asked.json["items"]] == ["the till is short"]
        assert "gave what are no vectors" in asked.json["words_alone"]
        assert f"words alone: the Ollama server at {ollama.url}" in asked.err
