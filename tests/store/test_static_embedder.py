"""The default embedder: offline, the same everywhere, near for texts that mean much the same."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.errors import EmbedderError, StoreCorrupt
from sb.store.embedding import context, tokens
from sb.store.embedding.context import ContextEmbedder, mix
from sb.store.embedding.embedder import MOST_CHARACTERS
from sb.store.embedding.static import StaticEmbedder, StaticModel
from sb.store.embedding.token_statistics import TokenStatistics
from sb.store.embedding.tokens import CONVERTED, convert

_WORDLLAMA = importlib.util.find_spec("wordllama")
assert _WORDLLAMA is not None
assert _WORDLLAMA.origin is not None
TOKENIZER = Path(_WORDLLAMA.origin).parent / "tokenizers/l2_supercat_tokenizer_config.json"
ANY_TEXT = st.text(max_size=200)


@pytest.fixture(scope="module")
def static() -> StaticModel:
    return StaticModel.load()


@pytest.fixture(scope="module")
def embedder(static: StaticModel) -> StaticEmbedder:
    return StaticEmbedder(static)


def test_texts_that_mean_much_the_same_are_near(embedder: StaticEmbedder) -> None:
    cat, kitten, invoice = embedder.embed(
        ["The cat sleeps on the sofa", "a kitten naps on the couch", "The invoice was paid in euros"]
    )
    assert cat @ kitten > 0.4
    assert cat @ kitten > cat @ invoice + 0.3


def test_a_question_is_near_to_what_answers_it(embedder: StaticEmbedder) -> None:
    rows = embedder.embed(
        ["We moved the database to PostgreSQL", "Lunch is at noon", "The printer is out of paper"]
    )
    asked = embedder.embed_query("Which database did we choose?", ["database", "choose"])
    assert int(np.argmax(rows @ asked)) == 0


def test_a_question_of_nothing_but_stop_words_still_has_a_vector(embedder: StaticEmbedder) -> None:
    assert np.linalg.norm(embedder.embed_query("who is it?", [])) == pytest.approx(1, abs=1e-5)


@given(st.lists(ANY_TEXT, max_size=6))
def test_each_vector_has_length_one_or_is_zero_and_does_not_depend_on_its_batch(
    embedder: StaticEmbedder, texts: list[str]
) -> None:
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), embedder.dimensions)
    assert vectors.dtype == np.float32
    for text, vector in zip(texts, vectors, strict=True):
        assert np.linalg.norm(vector) == pytest.approx(1 if text else 0, abs=1e-5)
        assert (embedder.embed([text])[0] == vector).all()


@given(st.text(st.sampled_from("ab \u2581\n.é木_-A") | st.characters(exclude_categories=["Cs"]), max_size=60))
def test_the_tokens_of_a_text_are_those_that_it_has_as_a_whole(static: StaticModel, text: str) -> None:
    whole = static.tokenizer.encode("\u2581" + text.replace(" ", "\u2581"), False) if text else []
    assert static.ids(text).tolist() == whole


@given(
    st.text()
    | st.lists(st.sampled_from(["<s>", "</s>", "<unk>", "\ufdd0", "0", "a", " ", "木", "é"])).map("".join)
)
def test_the_tokens_of_a_text_are_those_of_the_models_own_tokenizer(static: StaticModel, text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    plain = text.replace("\ufdd0", "\ufdd2")
    wanted = _models_own(tokenizers).tokenize("\u2581" + plain.replace(" ", "\u2581")) if plain else []
    assert static.ids(text).tolist() == [token.id for token in wanted]


@cache
def _models_own(tokenizers: Any) -> Any:
    return tokenizers.Tokenizer.from_file(str(TOKENIZER)).model


def test_the_converted_tokenizer_is_the_models_own_file() -> None:
    assert convert(TOKENIZER) == CONVERTED.read_bytes()


@pytest.mark.parametrize("content", [None, b"", b"kitoken", b"x" * 1000])
def test_where_the_converted_tokenizer_is_missing_or_damaged_the_models_own_is_read(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "CONVERTED", tmp_path / "converted")
    if content is not None:
        (tmp_path / "converted").write_bytes(content)
    assert tokens.load_tokenizer(TOKENIZER).encode("\u2581hello", False) == [22172]


@pytest.mark.parametrize(
    "text", ["\x00" * 50, "\ud800 half a pair", "\u202eright to left", "</s><s><unk>", "x" * 5_000_000]
)
def test_any_text_has_a_vector(embedder: StaticEmbedder, text: str) -> None:
    assert np.linalg.norm(embedder.embed([text])[0]) == pytest.approx(1, abs=1e-5)


def test_only_the_beginning_of_a_huge_text_counts(embedder: StaticEmbedder) -> None:
    start = ("the quick brown fox " * MOST_CHARACTERS)[:MOST_CHARACTERS]
    vector, other = embedder.embed([start, start + " invoice" * 1000])
    assert (vector == other).all()


def test_what_every_text_of_a_collection_says_stops_counting(static: StaticModel) -> None:
    texts = [
        f"shares a photo of {what}" for what in ("a dog", "a violin", "the sea", "my car", "snow", "bread")
    ] * 10
    plain = StaticEmbedder(static)
    counted = plain.knowing(plain.count(texts))
    dog, violin = texts[:2]
    before, after = (float(np.prod(each.embed([dog, violin]), axis=0).sum()) for each in (plain, counted))
    assert before > 0.5
    assert after < before - 0.3


def test_without_any_text_counted_every_token_weighs_the_same(static: StaticModel) -> None:
    weights = TokenStatistics.empty(*static.shape).idf()
    assert weights.min() == weights.max() > 0


@given(st.lists(ANY_TEXT, max_size=8))
def test_statistics_say_how_many_texts_hold_a_token_and_survive_storage(
    embedder: StaticEmbedder, static: StaticModel, texts: list[str]
) -> None:
    counted = embedder.count(texts)
    assert counted.texts == len(texts)
    for token in {int(token) for text in texts for token in static.ids(text)}:
        assert counted.df[token] == sum(token in static.ids(text) for text in texts)
    again = TokenStatistics.from_bytes(counted.to_bytes())
    assert (again.texts, again.df.tolist()) == (counted.texts, counted.df.tolist())
    assert (again.mean() == counted.mean()).all()
    assert np.isfinite(embedder.knowing(again).embed(texts)).all()


@pytest.mark.parametrize("damage", [b"", b"short", lambda data: data[:-1], lambda data: b"\0" * 8 + data[8:]])
def test_damaged_statistics_are_refused(embedder: StaticEmbedder, damage: object) -> None:
    data = embedder.count(["a text"]).to_bytes()
    with pytest.raises(StoreCorrupt, match="statistics"):
        TokenStatistics.from_bytes(damage(data) if callable(damage) else bytes(damage))  # type: ignore[call-overload]


def test_statistics_of_another_model_are_refused(static: StaticModel) -> None:
    with pytest.raises(EmbedderError, match="another model"):
        StaticEmbedder(static, TokenStatistics.empty(7, 3))


def test_a_record_is_near_to_what_the_two_before_it_said(embedder: StaticEmbedder) -> None:
    alone, after = ContextEmbedder(embedder).embed(
        [("Yes, three.", ()), ("Yes, three.", ("Have you any cats?", "Hello"))]
    )
    asked = embedder.embed_query("cats", ["cats"])
    assert after @ asked > alone @ asked + 0.2
    assert (alone == embedder.embed(["Yes, three."])[0]).all()


def test_a_record_that_quotes_the_last_ones_has_the_vector_that_it_has_alone(
    embedder: StaticEmbedder,
) -> None:
    texts = ["Hello", "Have you any cats?", "Yes, three.", "Hello"]
    rows = [(text, texts[max(0, at - 2) : at][::-1]) for at, text in enumerate(texts)]
    one_by_one = ContextEmbedder(embedder)
    for row in rows:
        assert (one_by_one.embed([row]) == ContextEmbedder(embedder).embed([row])).all()
    assert one_by_one.embed([]).shape == (0, embedder.dimensions)
    assert (one_by_one.embed(rows) == ContextEmbedder(embedder).embed(rows)).all()


def test_texts_asked_for_by_themselves_are_not_kept_without_end(
    embedder: StaticEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "_MOST_KEPT", 3)
    contextual = ContextEmbedder(embedder)
    for number in range(10):
        text = f"{number} cats"
        assert (contextual.own(text) == embedder.embed([text])[0]).all()
        assert len(contextual._own) <= 3


def test_mixing_weighs_the_record_before_by_half_and_the_one_before_that_by_a_quarter() -> None:
    axes = np.eye(3, dtype=np.float32)
    mixed = mix(axes[0], [axes[1], axes[2]])
    assert (mixed / mixed[0]).tolist() == pytest.approx([1, 0.5, 0.25])
    assert np.linalg.norm(mixed) == pytest.approx(1)


def test_a_model_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(EmbedderError, match="wordllama is not installed"):
        StaticModel.load()


def test_damaged_files_of_the_model_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "tokenizers/l2_supercat_tokenizer_config.json",
        "weights/l2_supercat_256.safetensors",
        "__init__.py",
    ):
        (tmp_path / "wordllama" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "wordllama" / name).write_text("{", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EmbedderError, match="files of wordllama cannot be read"):
        StaticModel.load()


def test_loading_runs_no_code_of_the_package_opens_no_socket_and_imports_no_more_than_it_needs() -> None:
    script = (
        "import sys\n"
        "def hook(event, args):\n"
        "    if event.startswith(('socket', 'subprocess', 'os.fork', 'os.posix_spawn')):\n"
        "        raise SystemExit(event)\n"
        "sys.addaudithook(hook)\n"
        "from sb.store.embedding.static import StaticEmbedder, StaticModel\n"
        "StaticEmbedder(StaticModel.load()).embed(['hello'])\n"
        "unwanted = ('wordllama', 'tokenizers', 'pydantic', 'requests', 'huggingface_hub', 'numpy.ma')\n"
        "print(*[name for name in unwanted if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_tokenizer_that_a_thread_loaded_works_in_those_that_come_after_it() -> None:
    """In a process of its own: where this fails, kitoken ends the process."""
    code = """
import threading
from pathlib import Path
from sb.store.embedding.tokens import load_tokenizer
loaded = []
threads = [threading.Thread(target=lambda: loaded.append(load_tokenizer(Path("none"))))]
threads += [threading.Thread(target=lambda: loaded[0].encode("word", False)) for _ in range(50)]
for thread in threads:
    thread.start()
    thread.join()
print(len(loaded))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
