"""`python -m evals.retrieval --data locomo_dev.json`: what retrieval finds, with the weights that ship and with fitted ones."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from evals.retrieval.corpora import Corpus, Question, load_agent_records, load_conversations
from evals.retrieval.learning import ablation, cross_validated, fitted, samples, table, used
from evals.retrieval.measure import Places, Search, ask
from evals.retrieval.stores import Store
from sb.memory.ranking.weights import weights


def show(
    name: str, searched: Sequence[tuple[Search, Sequence[Question]]], *, categories: bool = False
) -> None:
    """One line for all questions and, if wanted, one for each category."""
    places: list[int] = []
    times: list[float] = []
    for search, questions in searched:
        found, took = ask(search, questions)
        places += found
        times += took
    print(f"  {name:34} {Places(places)}  {median(times):.1f} ms")
    asked = [question for _, questions in searched for question in questions]
    if categories:
        by_category(places, [question.category for question in asked])


def by_category(places: Sequence[int], categories: Sequence[str]) -> None:
    for category in sorted(set(categories)):
        chosen = [place for place, of in zip(places, categories, strict=True) if of == category]
        print(f"    {category:32} {Places(chosen)}")


def with_shipped_weights(
    conversations: Sequence[Corpus], records: Sequence[Corpus], *, vectors: bool
) -> None:
    alone = [(Store(corpus.rows, vectors=vectors), corpus.questions) for corpus in conversations]
    print("each conversation alone")
    show("bm25", [(store.words_alone(), asked) for store, asked in alone])
    show("rank fusion", [(store.ranking(fusion=True), asked) for store, asked in alone])
    show("ranking", [(store.ranking(), asked) for store, asked in alone], categories=True)
    for corpus, (store, asked) in zip(conversations, alone, strict=True):
        show(f"  conversation {corpus.name}", [(store.ranking(), asked)])
    frozen = [(Store(c.rows, vectors=vectors, tidied=False), c.questions) for c in conversations]
    show("never refreshed", [(store.ranking(), asked) for store, asked in frozen])
    pooled = Store([row for corpus in conversations for row in corpus.rows], vectors=vectors)
    spoken = [question for corpus in conversations for question in corpus.questions]
    print("all conversations in one store")
    show("bm25", [(pooled.words_alone(), spoken)])
    show("ranking", [(pooled.ranking(), spoken)])
    noted = Store(records[0].rows, vectors=vectors)
    written = [question for corpus in records for question in corpus.questions]
    print("what agents noted")
    show("bm25", [(noted.words_alone(), written)], categories=True)
    show("ranking", [(noted.ranking(), written)], categories=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="conversations of LoCoMo, as JSON")
    parser.add_argument("--no-vectors", action="store_true", help="as where no embedder is installed")
    parser.add_argument("--fit", action="store_true", help="fit weights, and say how good they are elsewhere")
    parser.add_argument("--ablate", action="store_true", help="also leave out each feature; takes minutes")
    given = parser.parse_args()
    conversations, records = load_conversations(given.data), load_agent_records()
    vectors = not given.no_vectors
    with_shipped_weights(conversations, records, vectors=vectors)
    if not (given.fit or given.ablate):
        return
    found, columns = samples(conversations, records, vectors=vectors), used(weights(vectors=vectors))
    print("fitted on three quarters of the questions, asked the fourth")
    for store, (categories, places) in cross_validated(found, columns).items():
        print(f"  {store:34} {Places(places)}")
        by_category(places, categories)
    print("fitted on all: spoken, written")
    print("\n".join(table(fitted(found, columns), columns)))
    if given.ablate:
        print("hit@5 and MRR, cross-validated")
        for line in ablation(found, columns):
            print(line, flush=True)


if __name__ == "__main__":
    main()
