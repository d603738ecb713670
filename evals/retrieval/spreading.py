"""`python -m evals.retrieval.spreading`: what spreading activation gains and costs, by kind of question.

The numbers of `sb.memory.spreading` were chosen on half 0; half 1 judges.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from evals.retrieval.bars import Compared
from evals.retrieval.corpora import Question
from evals.retrieval.measure import Places, Search, ask
from evals.retrieval.related import Related, load_noted, load_repository
from evals.retrieval.stores import Store
from sb.store.records.edges import Edge

SHARE = 0.3


def store_of(material: Related) -> Store:
    """A store with the rows and their relations."""
    store = Store(material.rows)
    numbers = store.numbers()
    [place] = store.brain.writer.places()
    with store.space.database.write() as execute:
        for source, relation, target in material.relations:
            edge = Edge(numbers[source], relation, numbers[target])
            store.space.edges.add(execute, edge, place=place, agent="reader", at=0.0)
    return store


def report(half: int, share: float = SHARE) -> Iterator[str]:
    """One line for each kind of question.

    Args:
        half: 0 or 1. share: the setting `memory.spreading`.
    """
    for material in (load_repository(), load_noted()):
        store = store_of(material)
        asked = [question for part, question in material.questions if part == half]
        yield f"{material.name}: {len(material.rows)} rows, {len(material.relations)} relations"
        for category in sorted({question.category for question in asked}):
            yield _line(store, [question for question in asked if question.category == category], share)


def _searching(store: Store, share: float) -> Search:
    """The search of a store with so much spreading."""
    search = store.ranking()

    def spreading(question: str, k: int) -> list[str]:
        store.space.settings = replace(store.space.settings, spreading=share)
        return search(question, k)

    return spreading


def _line(store: Store, asked: list[Question], share: float) -> str:
    (off, off_ms), (on, on_ms) = (ask(_searching(store, value), asked) for value in (0.0, share))
    compared = Compared(asked[0].category, Places(on), Places(off))
    gained, low, high = compared.difference()
    return (
        f"  {compared.kind:12}{len(asked):5} questions  off {Places(off).hit(5):.3f} / {Places(off).mrr:.3f}"
        f"  on {Places(on).hit(5):.3f} / {Places(on).mrr:.3f}  MRR {gained:+.3f} ({low:+.3f} to {high:+.3f})"
        f"  {median(off_ms):.1f} ms, {median(on_ms):.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--half", type=int, choices=(0, 1), default=0, help="the half of the topics that is asked about"
    )
    parser.add_argument("--share", type=float, default=SHARE, help="the setting memory.spreading")
    given = parser.parse_args()
    for line in report(given.half, given.share):
        print(line, flush=True)


if __name__ == "__main__":
    main()
