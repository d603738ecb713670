"""`python -m evals.retrieval`: what search finds on every kind of text, with the weights that ship and with fitted ones."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from evals.retrieval import bars
from evals.retrieval.assistant_chats import chats_of_people, chats_of_records
from evals.retrieval.corpora import Corpus, Question, load_agent_records, load_conversations
from evals.retrieval.learning import (
    Material,
    ablation,
    columns_of,
    cross_validated,
    fitted,
    samples,
    scored,
    table,
    used,
)
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
    _of_conversations(conversations, vectors=vectors)
    noted = Store(records[0].rows, vectors=vectors)
    written = [question for corpus in records for question in corpus.questions]
    print("what agents noted")
    show("bm25", [(noted.words_alone(), written)], categories=True)
    show("ranking", [(noted.ranking(), written)], categories=True)


def with_assistants(kinds: Sequence[tuple[str, Sequence[Corpus]]], *, vectors: bool) -> None:
    for name, chats in kinds:
        if not chats:  # those of people are made of LoCoMo's, which `--data` brings
            continue
        alone = [(Store(chat.rows, vectors=vectors), chat.questions) for chat in chats]
        print(f"chats with an assistant {name}, each alone")
        show("bm25", [(store.words_alone(), asked) for store, asked in alone], categories=True)
        show("ranking", [(store.ranking(), asked) for store, asked in alone], categories=True)
        pooled = Store([row for chat in chats for row in chat.rows], vectors=vectors)
        questions = [question for chat in chats for question in chat.questions]
        print("  all in one store")
        show("bm25", [(pooled.words_alone(), questions)])
        show("ranking", [(pooled.ranking(), questions)])


def _of_conversations(conversations: Sequence[Corpus], *, vectors: bool) -> None:
    if not conversations:
        return
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, help="conversations of LoCoMo, as JSON; only chats and records without"
    )
    parser.add_argument("--no-vectors", action="store_true", help="as where no embedder is installed")
    parser.add_argument("--fit", action="store_true", help="fit weights, and say how good they are elsewhere")
    parser.add_argument("--ablate", action="store_true", help="also leave out each feature; takes minutes")
    given = parser.parse_args()
    vectors = not given.no_vectors
    conversations = load_conversations(given.data) if given.data else []
    for line in bars.report(conversations, vectors=vectors):
        print(line, flush=True)
    people, records, chats = chats_of_people(conversations), load_agent_records(), chats_of_records()
    with_shipped_weights(conversations, records, vectors=vectors)
    with_assistants([("about records", chats), ("of people", people)], vectors=vectors)
    if not (given.fit or given.ablate):
        return
    shipped = weights(vectors=vectors)
    found = samples(Material(conversations, records, chats, people), vectors=vectors)
    columns = used(shipped)
    print("fitted on three quarters of the questions, asked the fourth")
    for store, (categories, places) in cross_validated(found, columns).items():
        print(f"  {store:34} {Places(places)}")
        by_category(places, categories)
    held_out = [sample for sample in found if sample.fold in bars.HELD_OUT]
    half = fitted([sample for sample in found if sample.fold not in bars.HELD_OUT], columns)
    for name, values in (("as shipped", columns_of(shipped)[columns]), ("fitted on one half", half)):
        print(f"{name}, asked the held-out half")
        for store, places in scored(held_out, values, columns).items():
            print(f"  {store:34} {Places(places)}")
    print("fitted on all: spoken, lengthy, written")
    print("\n".join(table(fitted(found, columns), columns)))
    if given.ablate:
        print("hit@5 and MRR, cross-validated")
        for line in ablation(found, columns):
            print(line, flush=True)


if __name__ == "__main__":
    main()
