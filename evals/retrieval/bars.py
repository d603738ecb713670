"""The bar of search: on no kind of text may it find less than its own bm25.

Judged on the held-out half by a paired bootstrap over its questions. The chats with an assistant played no part in the
weights that ship; LoCoMo's conversations and the records did, so `evals.retrieval --fit` also judges weights that were
fitted on the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evals.retrieval.assistant_chats import chats_of_people, chats_of_records
from evals.retrieval.corpora import FOLDS, Corpus, Row, load_agent_records, load_documents
from evals.retrieval.measure import Places, ask
from evals.retrieval.stores import Store

HELD_OUT = frozenset(range(1, FOLDS, 2))
_RESAMPLES = 10_000
_QUANTILES = (0.025, 0.975)


@dataclass(frozen=True)
class Compared:
    """The places of the same questions' evidence, by search and by bm25."""

    kind: str
    found: Places
    bm25: Places

    def difference(self, seed: int = 0) -> tuple[float, float, float]:
        """Search's MRR less bm25's, and the ends of its 95 % interval by a paired bootstrap (Efron, 1979).

        Args:
            seed: of the resampling.
        """
        each = np.array(self.found.reciprocal) - np.array(self.bm25.reciprocal)
        picked = np.random.default_rng(seed).integers(0, len(each), (_RESAMPLES, len(each)))
        low, high = np.quantile(each[picked].mean(axis=1), _QUANTILES)
        return float(each.mean()), float(low), float(high)

    @property
    def finds_less(self) -> bool:
        """True if search finds significantly less."""
        return self.difference()[2] < 0

    def line(self) -> str:
        difference, low, high = self.difference()
        return (
            f"  {self.kind:16} {len(self.found.places):4} questions  hit@5 {self.found.hit(5):.3f}, bm25 {self.bm25.hit(5):.3f}"
            f"  MRR {self.found.mrr:.3f}, bm25 {self.bm25.mrr:.3f}"
            f"  {difference:+.3f} ({low:+.3f} to {high:+.3f})  {'LESS' if self.finds_less else 'ok'}"
        )


def held_out(corpora: Sequence[Corpus], each: int = 1) -> list[Corpus]:
    """The corpora that no weights may be fitted on.

    Args:
        each: how many that follow each other share their texts.
    """
    return [corpus for number, corpus in enumerate(corpora) if number // each % FOLDS in HELD_OUT]


def compared(
    conversations: Sequence[Corpus] = (), *, vectors: bool = True, tidied: bool = True
) -> Iterator[Compared]:
    """Every kind of text, each asked its held-out questions.

    Args:
        conversations: of LoCoMo, if at hand.
        vectors: whether there is an embedder. tidied: whether housekeeping has been there.
    """
    store_of = partial(Store, vectors=vectors, tidied=tidied)
    if conversations:
        yield _alone("people's chats", held_out(conversations), store_of)
    yield _alone("assistant chats", held_out(chats_of_records()), store_of)
    if conversations:
        yield _alone("told assistants", held_out(chats_of_people(conversations), each=2), store_of)
    noted = load_agent_records()
    store = store_of(noted[0].rows)
    for kind, corpora in sorted(_by_category(held_out(noted)).items()):
        yield _in_one(kind, store, corpora)
    documents = load_documents()
    yield _in_one("document", store_of(documents[0].rows), held_out(documents))


def report(conversations: Sequence[Corpus] = (), *, vectors: bool = True) -> Iterator[str]:
    """One line a kind, fresh and tidied."""
    for tidied in (False, True):
        when = "after housekeeping" if tidied else "before housekeeping"
        yield f"search against its own bm25, held-out questions, {when}{'' if vectors else ', without vectors'}"
        for item in compared(conversations, vectors=vectors, tidied=tidied):
            yield item.line()


def _by_category(corpora: Iterable[Corpus]) -> Mapping[str, list[Corpus]]:
    found: dict[str, list[Corpus]] = {}
    for corpus in corpora:
        for category in {question.category for question in corpus.questions}:
            asked = tuple(question for question in corpus.questions if question.category == category)
            found.setdefault(category, []).append(Corpus(corpus.name, corpus.rows, asked))
    return found


def _alone(kind: str, corpora: Sequence[Corpus], store_of: Callable[[Sequence[Row]], Store]) -> Compared:
    """Each corpus in a store of its own."""
    parts = [_in_one(kind, store_of(corpus.rows), [corpus]) for corpus in corpora]
    return Compared(
        kind,
        Places([place for part in parts for place in part.found.places]),
        Places([place for part in parts for place in part.bm25.places]),
    )


def _in_one(kind: str, store: Store, corpora: Iterable[Corpus]) -> Compared:
    questions = [question for corpus in corpora for question in corpus.questions]
    found, bm25 = (ask(search, questions)[0] for search in (store.ranking(), store.words_alone()))
    return Compared(kind, Places(found), Places(bm25))
