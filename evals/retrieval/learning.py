"""Learns the best weights, and measures them and each feature on questions they were not fitted on.

A store may hold conversations, notes or both, so the weights are fitted on all of these: each conversation alone, all in
one store, the records alone, and everything in one store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evals.retrieval.corpora import Corpus
from evals.retrieval.fitting import Array, Asked, fit
from evals.retrieval.measure import NOT_FOUND, Places
from evals.retrieval.stores import Store
from sb.memory.ranking.features import FEATURES
from sb.memory.ranking.weights import Weights

FOLDS = 4
_NAMES = list(FEATURES)


@dataclass(frozen=True)
class Sample:
    """A question in one of the stores. `asked` has each feature twice: for spoken rows and for written ones."""

    store: str
    fold: int
    category: str
    asked: Asked


def samples(conversations: Sequence[Corpus], records: Sequence[Corpus], *, vectors: bool) -> list[Sample]:
    """Every question in every store that holds its answer; fold n has the n-th conversation and part of the records."""
    spoken = [row for corpus in conversations for row in corpus.rows]
    written = list(records[0].rows)
    found: list[Sample] = []

    def add(name: str, store: Store, corpora: Sequence[Corpus]) -> None:
        for fold, corpus in enumerate(corpora):
            for question in corpus.questions:
                asked = store.asked(question, _NAMES)
                found.append(Sample(name, fold % FOLDS, question.category, asked))

    for fold, corpus in enumerate(conversations):
        alone = [Corpus("", (), ())] * fold + [corpus]
        add("conversation", Store(corpus.rows, vectors=vectors), alone)
    add("conversations", Store(spoken, vectors=vectors), conversations)
    add("records", Store(written, vectors=vectors), records)
    both = Store([*spoken, *written], vectors=vectors)
    add("all, asked of conversations", both, conversations)
    add("all, asked of records", both, records)
    return found


def used(weights: Weights) -> NDArray[np.intp]:
    """The columns of features that have a weight."""
    both = [weights.spoken.get(name) for name in _NAMES] + [weights.written.get(name) for name in _NAMES]
    return np.flatnonzero([bool(weight) for weight in both])


def cross_validated(
    found: Sequence[Sample], columns: NDArray[np.intp]
) -> dict[str, tuple[list[str], list[int]]]:
    """Of each store, categories and places of the questions, by weights that were fitted on the other folds."""
    placed: dict[str, tuple[list[str], list[int]]] = {}
    for fold in range(FOLDS):
        weights = fitted([sample for sample in found if sample.fold != fold], columns)
        for sample in found:
            if sample.fold == fold:
                categories, places = placed.setdefault(sample.store, ([], []))
                categories.append(sample.category)
                places.append(_place(sample.asked, weights, columns))
    return placed


def fitted(found: Sequence[Sample], columns: NDArray[np.intp]) -> Array:
    return fit([Asked(sample.asked.values[:, columns], sample.asked.evidence) for sample in found])


def _place(asked: Asked, weights: Array, columns: NDArray[np.intp]) -> int:
    order = np.argsort(-(asked.values[:, columns] @ weights), kind="stable")
    places = np.flatnonzero(asked.evidence[order])
    return int(places[0]) + 1 if len(places) else NOT_FOUND


def table(weights: Array, columns: NDArray[np.intp]) -> Iterator[str]:
    """The weights as `sb.memory.ranking.weights` has them: feature, spoken, written."""
    by_column = dict(zip(columns.tolist(), weights.tolist(), strict=True))
    for number, name in enumerate(_NAMES):
        spoken, written = by_column.get(number, 0.0), by_column.get(number + len(_NAMES), 0.0)
        yield f"  {name:14} {spoken:7.1f} {written:7.1f}"


def ablation(found: Sequence[Sample], columns: NDArray[np.intp]) -> Iterator[str]:
    """What is lost without each feature, and what the features give one after another, the weights fitted each time."""
    stores = ("conversation", "conversations", "records")

    def line(kept: NDArray[np.intp]) -> str:
        placed = cross_validated(found, kept)
        results = [Places(placed[store][1]) for store in stores]
        return "   ".join(f"{result.hit(5):.3f} {result.mrr:.3f}" for result in results)

    yield f"  {'':24} {'   '.join(f'{store:11.11}' for store in stores)}"
    yield f"  {'all':24} {line(columns)}"
    for number, name in enumerate(_NAMES):
        yield f"  without {name:16} {line(columns[columns % len(_NAMES) != number])}"
    for number in range(1, len(_NAMES) + 1):
        yield f"  + {_NAMES[number - 1]:22} {line(columns[columns % len(_NAMES) < number])}"
