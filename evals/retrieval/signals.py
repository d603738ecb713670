"""`python -m evals.retrieval.signals`: what each signal that moves hits gains and costs, by kind of text.

Nothing of a signal was fitted on these. Every other question is asked before, so that there is a past; the rest is measured,
with and without the signal, in two stores with the same past.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from evals.retrieval import corpora
from evals.retrieval.assistant_chats import chats_of_people, chats_of_records
from evals.retrieval.bars import Compared
from evals.retrieval.corpora import Corpus
from evals.retrieval.measure import Places, ask
from evals.retrieval.stores import Store
from sb.base.sources import SteeredClock

# By what is measured: the signal, and the events just before, which tell the state of work.
VARIANTS = {
    "affect": ("affect", ()),
    "replay": ("replay", ()),
    "neuromodulation, incident": ("neuromodulation", ["error"] * 5),
    "neuromodulation, planning": ("neuromodulation", ["decision"] * 4),
}


def asked(corpus: Corpus, events: Sequence[str], on: Mapping[str, bool]) -> tuple[list[int], int]:
    """The place of the evidence of every second question, and how many hits the signals moved."""
    clock = SteeredClock()
    clock.time = max(row.happened_at for row in corpus.rows)
    store = Store(corpus.rows, clock=clock)
    clock.time += 86_400.0  # so that what was said is no event of today
    for number, kind in enumerate(events):
        store.brain.log(f"qwertz {number}", kind)
    store.space.settings = replace(store.space.settings, signals=on)
    _, (places, _) = (ask(store.ranking(benchmark=False), corpus.questions[at::2]) for at in (0, 1))
    [(moved,)] = store.space.database.query("SELECT count(*) FROM signal_log WHERE record IS NOT NULL")
    return places, moved


def report(conversations: Sequence[Corpus]) -> Iterator[str]:
    """One line for each kind of text and variant."""
    chats: tuple[Sequence[Corpus], ...] = (chats_of_records(), conversations, chats_of_people(conversations))
    kinds = dict(zip(("assistant chats", "people's chats", "told assistants"), chats, strict=True))
    for kind, noted in (("records", corpora.load_agent_records()), ("documents", corpora.load_documents())):
        questions = tuple(question for part in noted for question in part.questions)
        kinds[kind] = [Corpus(kind, noted[0].rows, questions)]
    for kind, variant in product(filter(kinds.get, kinds), VARIANTS):
        signal, events = VARIANTS[variant]
        on, off = (
            [asked(part, events, switches) for part in kinds[kind]] for switches in ({signal: True}, {})
        )
        found, plain = (Places([place for places, _ in parts for place in places]) for parts in (on, off))
        gained, low, high = Compared(kind, found, plain).difference()
        yield (
            f"{kind:16}{variant:28}{len(found.places):5} questions  moved {sum(moved for _, moved in on):6}"
            f"  hit@5 {plain.hit(5):.3f} to {found.hit(5):.3f}  MRR {plain.mrr:.3f} {gained:+.4f} ({low:+.4f} to {high:+.4f})"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="conversations of LoCoMo, as JSON")
    given = parser.parse_args()
    for line in report(corpora.load_conversations(given.data) if given.data else []):
        print(line, flush=True)
