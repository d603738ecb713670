"""Measures the place of the first evidence over many questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from time import perf_counter

from evals.retrieval.corpora import Question

Search = Callable[[str, int], list[str]]
"""`search(question, k)` gives the ids of at most k rows, the best first."""

ASKED_FOR = 20
NOT_FOUND = 1_000_000


@dataclass(frozen=True)
class Places:
    """The place of the first evidence of each question, from 1, or NOT_FOUND."""

    places: Sequence[int]

    def hit(self, k: int) -> float:
        return sum(place <= k for place in self.places) / max(len(self.places), 1)

    @property
    def mrr(self) -> float:
        return sum(self.reciprocal) / max(len(self.places), 1)

    @property
    def reciprocal(self) -> list[float]:
        """1 / place of each question's evidence, 0 where it was not among those asked for."""
        return [1 / place if place <= ASKED_FOR else 0.0 for place in self.places]

    @property
    def error(self) -> float:
        """The standard error of hit@5."""
        return sqrt(self.hit(5) * (1 - self.hit(5)) / max(len(self.places), 1))

    def __str__(self) -> str:
        hits = "  ".join(f"hit@{k} {self.hit(k):.3f}" for k in (1, 5, 10))
        return f"{len(self.places):5} questions  {hits}  MRR {self.mrr:.3f}  (hit@5 ± {self.error:.3f})"


def place_of(found: Sequence[str], evidence: frozenset[str]) -> int:
    return next((place for place, row in enumerate(found, 1) if row in evidence), NOT_FOUND)


def ask(search: Search, questions: Sequence[Question]) -> tuple[list[int], list[float]]:
    """The place of each question's evidence, and the milliseconds that each search took."""
    places, times = [], []
    for question in questions:
        began = perf_counter()
        found = search(question.text, ASKED_FOR)
        times.append(1000 * (perf_counter() - began))
        places.append(place_of(found, question.evidence))
    return places, times
