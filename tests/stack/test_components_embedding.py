"""Searches by meaning go on when the model changes, since maintenance makes the vectors anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sb.errors import EmbedderError
from sb.memory import Brain
from sb.protocols.types import Note
from sb.stack import SQLiteStack
from sb.stack.components import EmbeddingComponent


@pytest.fixture
def outdated(tmp_path: Path, home: Path) -> Path:
    """The file of a stack with memories that were written without vectors."""
    path = tmp_path / "stack.db"
    home.mkdir(parents=True)
    settings = home / "config.yaml"
    settings.write_text("memory:\n  embedder: none\n", encoding="utf-8")
    with SQLiteStack("mine", path) as stack:
        stack.save_note(Note("a", "", "the physician examined the patient"))
        stack.save_note(Note("b", "", "the wall was painted blue"))
        assert "memory.embedder is none" in stack.maintenance()["embedding"]["words_alone"]
    settings.unlink()
    return path


def by_meaning(path: Path) -> list[str]:
    with Brain("me", path=path, stack="mine") as brain:
        return [hit.id for hit in brain.search("doctor")]


def test_maintenance_makes_the_vectors_that_are_missing(outdated: Path) -> None:
    assert by_meaning(outdated) == []
    with SQLiteStack("mine", outdated, components=[]) as bare:
        assert bare.maintenance() == {}
    assert by_meaning(outdated) == []
    with SQLiteStack("mine", outdated, components=[EmbeddingComponent()]) as stack:
        done = stack.maintenance()["embedding"]
        assert (done["re_indexed"], done["dimension"]) == (2, 256)
        assert done["provider"].startswith("wordllama")
        assert stack.maintenance()["embedding"]["re_indexed"] == 0
    assert by_meaning(outdated) == ["a"]


def test_the_component_says_what_makes_the_vectors(full: SQLiteStack, scripted: Any) -> None:
    component = full.get_component("embedding")
    assert isinstance(component, EmbeddingComponent)
    assert component.embedding_dimension == 256
    vector, other = component.embed_batch(["the cache is warm", "the cache is hot"])
    assert component.embed("the cache is warm") == vector
    assert len(other) == 256
    assert sum(number * number for number in vector) == pytest.approx(1, abs=1e-3)


def test_a_models_own_vectors_are_never_mixed_with_them(full: SQLiteStack, scripted: Any) -> None:
    full.save_note(Note("a", "", "the physician examined the patient"))
    full.on_model_changed(scripted())
    component = full.get_component("embedding")
    assert isinstance(component, EmbeddingComponent)
    assert component.embedding_provider_id != "scripted"
    assert full.maintenance()["embedding"]["re_indexed"] == 0
    assert by_meaning(Path(full.path)) == ["a"]


def test_without_an_embedder_the_model_is_asked_and_without_a_model_nobody(
    full: SQLiteStack, scripted: Any
) -> None:
    component = EmbeddingComponent()
    with pytest.raises(EmbedderError, match="no vectors"):
        component.embed("x")
    component.set_inference(scripted())
    assert (component.embed("x"), component.embedding_dimension) == ([1.0, 0.0], 2)
    assert component.embedding_provider_id == "scripted"
