"""Learns the best weights, and measures them and each feature on questions they were not fitted on.

A store may hold conversations, notes or both, so the weights are fitted on all of these: each conversation alone, all in
one store, the records alone, and everything in one store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evals.retrieval.corpora import FOLDS, Corpus, Row
from evals.retrieval.fitting import Array, Asked, fit
from evals.retrieval.measure import NOT_FOUND, Places
from evals.retrieval.stores import Store
from sb.memory.ranking.features import FEATURES
from sb.memory.ranking.weights import Weights

_NAMES = list(FEATURES)
UNGATED = ("date", "speaker", "role")  # of a spoken row, however long the talk's texts are


@dataclass(frozen=True)
class Sample:
    """A question in one of the stores. `asked` has each feature once for each column of weights."""

    store: str
    fold: int
    category: str
    asked: Asked


class Material(NamedTuple):
    """The corpora of every kind. Those that share texts are of the same fold: n, modulo `FOLDS`."""

    conversations: Sequence[Corpus]
    records: Sequence[Corpus]
    chats: Sequence[Corpus]
    people: Sequence[Corpus]


def samples(given: Material, *, vectors: bool) -> list[Sample]:
    """Every question in every store that holds its answer: each conversation alone, all of a kind, and everything in one."""
    found: list[Sample] = []

    def add(name: str, store: Store, corpora: Sequence[Corpus], first: int = 0, each: int = 1) -> None:
        for number, corpus in enumerate(corpora, first):
            for question in corpus.questions:
                asked = store.asked(question, _NAMES)
                found.append(Sample(name, number // each % FOLDS, question.category, asked))

    def alone(name: str, corpora: Sequence[Corpus], each: int = 1) -> None:
        for number, corpus in enumerate(corpora):
            add(name, Store(corpus.rows, vectors=vectors), [corpus], number, each)

    def rows(corpora: Sequence[Corpus]) -> list[Row]:
        return [row for corpus in corpora for row in corpus.rows]

    written = list(given.records[0].rows)
    alone("conversation", given.conversations)
    add("conversations", Store(rows(given.conversations), vectors=vectors), given.conversations)
    add("records", Store(written, vectors=vectors), given.records)
    alone("chat about records", given.chats)
    alone("chat of people", given.people, 2)
    both = Store([*rows(given.conversations), *written], vectors=vectors)
    add("all, asked of conversations", both, given.conversations)
    add("all, asked of records", both, given.records)
    talk = Store(
        [*rows(given.conversations), *rows(given.chats)], vectors=vectors
    )  # what records say, chats say too
    add("all talk, asked of conversations", talk, given.conversations)
    add("all talk, asked of chats", talk, given.chats)
    return found


def used(weights: Weights) -> NDArray[np.intp]:
    """The columns of features that have a weight; what counts for all spoken rows alike is counted with the first."""
    columns = [
        weight if not (column is weights.lengthy and name in UNGATED) else 0
        for column in weights.columns
        for name in _NAMES
        for weight in [column.get(name)]
    ]
    return np.flatnonzero([bool(weight) for weight in columns])


def _tied(values: Array) -> Array:
    """The values with those of `UNGATED` features of both spoken columns in the first."""
    tied = values.copy()
    for name in UNGATED:
        at = _NAMES.index(name)
        tied[:, at] += tied[:, at + len(_NAMES)]
    return tied


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


def scored(found: Sequence[Sample], weights: Array, columns: NDArray[np.intp]) -> dict[str, list[int]]:
    """Of each store, the places of the questions by these weights."""
    placed: dict[str, list[int]] = {}
    for sample in found:
        placed.setdefault(sample.store, []).append(_place(sample.asked, weights, columns))
    return placed


def columns_of(weights: Weights) -> Array:
    """Weights as `samples` has the values: every feature once for each column."""
    return np.array([column.get(name, 0.0) for column in weights.columns for name in _NAMES])


def fitted(found: Sequence[Sample], columns: NDArray[np.intp]) -> Array:
    return fit([Asked(_tied(sample.asked.values)[:, columns], sample.asked.evidence) for sample in found])


def _place(asked: Asked, weights: Array, columns: NDArray[np.intp]) -> int:
    order = np.argsort(-(_tied(asked.values)[:, columns] @ weights), kind="stable")
    places = np.flatnonzero(asked.evidence[order])
    return int(places[0]) + 1 if len(places) else NOT_FOUND


def table(weights: Array, columns: NDArray[np.intp]) -> Iterator[str]:
    """The weights as `sb.memory.ranking.weights` has them: feature, spoken, lengthy, written."""
    by_column = dict(zip(columns.tolist(), weights.tolist(), strict=True))
    for number, name in enumerate(_NAMES):
        spoken, lengthy, written = (by_column.get(number + at * len(_NAMES), 0.0) for at in range(3))
        yield f"  {name:14} {spoken:7.1f} {spoken if name in UNGATED else lengthy:7.1f} {written:7.1f}"


def ablation(found: Sequence[Sample], columns: NDArray[np.intp]) -> Iterator[str]:
    """The loss without each feature, the weights fitted again each time."""
    stores = ("conversation", "conversations", "chat about records", "chat of people", "records")

    def line(subset: NDArray[np.intp]) -> str:
        placed = cross_validated(found, subset)
        results = [Places(placed[store][1]) for store in stores if store in placed]
        return "   ".join(f"{result.hit(5):.3f} {result.mrr:.3f}" for result in results)

    yield f"  {'':24} {'   '.join(f'{store:11.11}' for store in stores)}"
    yield f"  {'all':24} {line(columns)}"
    for number, name in enumerate(_NAMES):
        if np.any(columns % len(_NAMES) == number):
            yield f"  without {name:16} {line(columns[columns % len(_NAMES) != number])}"
