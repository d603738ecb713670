"""A stack in a file of its own, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sb.base.sources import CountingIds, SteeredClock
from sb.stack import SQLiteStack


class ScriptedModel:
    """An inference service that says what it is told to, and keeps what it was asked."""

    embedding_dimension = 2
    embedding_provider_id = "scripted"

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def infer(self, prompt: str, *, system: str | None = None) -> str:
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def embed(self, text: str) -> list[float]:
        return [1.0, 0.0]

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return [self.embed(text) for text in texts]


@pytest.fixture
def scripted() -> type[ScriptedModel]:
    """Makes a model of its answers."""
    return ScriptedModel


@pytest.fixture
def full(tmp_path: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[SQLiteStack]:
    """A stack with the eight components."""
    with SQLiteStack("mine", tmp_path / "full.db", clock=clock, ids=ids) as made:
        yield made


@pytest.fixture
def stack(tmp_path: Path, clock: SteeredClock, ids: CountingIds) -> Iterator[SQLiteStack]:
    """A bare stack that belongs to nobody yet."""
    with SQLiteStack("mine", tmp_path / "stack.db", components=[], clock=clock, ids=ids) as made:
        yield made


@pytest.fixture
def owned(stack: SQLiteStack) -> SQLiteStack:
    """The same, attached to the core `me`."""
    stack.on_attach("me")
    return stack
