"""`python -m evals.retrieval.signals`: what each signal that moves hits gains and costs, by kind of text.

Nothing of a signal was fitted on these. Every other question is asked before, so that there is a past; the rest is measured,
with and without the signal, in two stores with the same past.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evals.retrieval.assistant_chats import chats_of_people, chats_of_records
from evals.retrieval.bars import Compared
from evals.retrieval.corpora import (
    Corpus,
    Question,
    Row,
    load_agent_records,
    load_conversations,
    load_documents,
)
from evals.retrieval.measure import Places, ask
from evals.retrieval.stores import Store
from sb.base.sources import SteeredClock

DAY = 86_400.0
# By what is measured: the signal, and the events just before, which tell the state of work.
VARIANTS = {
    "affect": ("affect", ()),
    "replay": ("replay", ()),
    "neuromodulation, incident": ("neuromodulation", ["error"] * 5),
    "neuromodulation, planning": ("neuromodulation", ["decision"] * 4),
}


def asked(
    rows: Sequence[Row], questions: Sequence[Question], events: Sequence[str], on: Mapping[str, bool]
) -> tuple[list[int], int]:
    """The place of the evidence of every second question, and how many hits the signals moved."""
    clock = SteeredClock()
    clock.time = max(row.happened_at for row in rows)
    store = Store(rows, clock=clock)
    clock.time += DAY  # so that what was said is no event of today
    for number, kind in enumerate(events):
        store.brain.log(f"qwertz {number}", kind)
    store.space.settings = replace(store.space.settings, signals=on)
    ask(store.living(), questions[::2])
    places, _ = ask(store.living(), questions[1::2])
    [(moved,)] = store.space.database.query("SELECT count(*) FROM signal_log WHERE record IS NOT NULL")
    return places, moved


def report(conversations: Sequence[Corpus]) -> Iterator[str]:
    """One line for each variant and kind of text."""
    noted, pages = load_agent_records(), load_documents()
    kinds: dict[str, list[tuple[Sequence[Row], list[Question]]]] = {
        kind: [(corpus.rows, list(corpus.questions)) for corpus in corpora]
        for kind, corpora in (
            ("people's chats", conversations),
            ("assistant chats", chats_of_records()),
            ("told assistants", chats_of_people(conversations)),
        )
        if corpora
    }
    for kind, corpora in (("records", noted), ("documents", pages)):
        kinds[kind] = [(corpora[0].rows, [question for corpus in corpora for question in corpus.questions])]
    for kind, parts in kinds.items():
        without: dict[int, list[int]] = {}
        for variant, (signal, events) in VARIANTS.items():
            found = [asked(rows, questions, events, {signal: True}) for rows, questions in parts]
            on, moved = [place for places, _ in found for place in places], sum(some for _, some in found)
            if len(events) not in without:
                alone = [asked(rows, questions, events, {}) for rows, questions in parts]
                without[len(events)] = [place for places, _ in alone for place in places]
            compared = Compared(kind, Places(on), Places(without[len(events)]))
            gained, low, high = compared.difference()
            yield (
                f"{kind:16}{variant:28}{len(on):5} questions  moved {moved:6}  hit@5 {compared.bm25.hit(5):.3f} to"
                f" {compared.found.hit(5):.3f}  MRR {compared.bm25.mrr:.3f} {gained:+.4f} ({low:+.4f} to {high:+.4f})"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="conversations of LoCoMo, as JSON")
    given = parser.parse_args()
    for line in report(load_conversations(given.data) if given.data else []):
        print(line, flush=True)


if __name__ == "__main__":
    main()
