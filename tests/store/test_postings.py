"""Postings that a process keeps give the bm25 of the full-text index."""

from __future__ import annotations

from contextlib import closing
from random import Random

import pytest

from sb.memory import Brain
from sb.memory.ranking.match_query import word_query
from sb.memory.ranking.terms import words
from sb.protocols.types import Event
from sb.store.database import open_database
from sb.store.index import postings
from sb.store.index.full_text import WordIndex
from sb.store.records.places import Place
from tests.memory.agents import Agents, agents
from tests.memory.test_search_after_changes import WORDS, change

__all__ = ["agents"]

QUESTIONS = (
    "copper cellar door",
    "the painted doors",
    "red",
    "we painting keys",
    "p1 p2",
    "nobody says this",
)
SCOPES = ("project:shop", "project:attic")
CHANGES = ("say", "remember", "hide", "correct", "forget", "recover")


def ranked(brain: Brain, question: str, *, kept: bool) -> list[tuple[int, float]]:
    """The hits of words, by the index or by postings that are kept."""
    places, changes = brain.writer.places(), brain.space.statistics.refresh()
    query = word_query(words(question), places, brain.space.statistics)
    assert query.stems
    brain.space.words.frequencies(query.stems, changes)  # right after a change nothing is read yet
    return brain.space.words.best(
        query.expression, 25, places=places, placed=query.placed, spare=query.spare,
        stems=query.stems, changes=changes if kept else None,
    )  # fmt: skip


@pytest.fixture
def brain(agents: Agents) -> Brain:
    """A memory of two scopes, one of which holds most; it is in the other one."""
    chance, brain = Random(2), agents.brain(scope=SCOPES[0])
    for scope, count in zip(SCOPES, (90, 30), strict=True):
        brain.writer.begin(scope)
        texts = [" ".join(chance.choices(WORDS, k=chance.choice((1, 6, 30, 200)))) for _ in range(count)]
        brain.writer.keep_all([Event(text, speaker="Bo") for text in texts], Place(brain.stack, scope))
    return brain


def test_kept_postings_rank_as_the_index_does_after_any_change(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "MOST_POSTINGS", 300)
    chance = Random(4)
    for what in ("", *CHANGES, *chance.choices(CHANGES, k=14)):
        for scope in SCOPES:
            brain.writer.begin(scope)
            for question in QUESTIONS:
                assert ranked(brain, question, kept=True) == ranked(brain, question, kept=False), what
        change(brain, what, chance)


def test_postings_count_what_the_vocabulary_counts(brain: Brain) -> None:
    ranked(brain, "the painted doors", kept=True)
    counted = brain.space.words.frequencies(("paint", "door"), brain.space.statistics.refresh())
    assert set(counted) == {"paint", "door"}
    assert counted == {stem: brain.space.statistics.document_frequency(stem) for stem in ("paint", "door")}


def test_a_database_that_is_only_read_is_ranked_alike(agents: Agents, brain: Brain) -> None:
    with closing(open_database(agents.home / "brain.db", read_only=True)) as database:
        index = WordIndex(database)
        best = [index.best("copper", 9, stems=("copper",), changes=0) for _ in range(2)][-1]
        assert index.frequencies(("copper",), 0)
    assert best == brain.space.words.best("copper", 9)


def test_a_transaction_is_not_ranked_by_what_it_may_take_back(agents: Agents, brain: Brain) -> None:
    before = ranked(brain, "copper cellar", kept=True)
    with agents.database.write() as execute:
        execute("UPDATE records SET state = 'forgotten' WHERE id = ?", (before[0][0],))
        assert before[0][0] not in dict(ranked(brain, "copper cellar", kept=True))
        execute("UPDATE records SET state = 'active' WHERE id = ?", (before[0][0],))
