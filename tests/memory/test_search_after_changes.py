"""Searches and the gate go by the records as they are, whoever changed them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier

import pytest

from sb.memory import Brain
from sb.memory.housekeeping import tidy
from sb.memory.ranking.encoding import encoded
from sb.memory.ranking.match_query import word_query
from sb.protocols.types import Fact
from sb.store.database import open_database
from sb.store.index import vectors
from sb.store.records.places import Execute, Place
from sb.store.records.sessions import Session
from tests.memory.agents import Agents, agents

__all__ = ["agents"]

QUESTIONS = ("which door leads to the copper cellar", "when did Ann paint the red fox", "what is number 3")
WORDS = "a red fox door cellar copper key paint number 3 we".split()
CHANGES = ("remember", "say", "hide", "correct", "forget", "recover", "tidy", "lose vectors")


def new_process(agents: Agents, former: Brain, agent: str = "reader") -> Brain:
    """A Brain that remembers nothing of records; what is counted of all texts, and the model, are the former one's."""
    brain = agents.brain(agent)
    brain.space.embedder, brain.space.statistics = former.space.embedder, former.space.statistics
    return brain


def scores(brain: Brain) -> list[dict[int, float]]:
    """The score of what is found of each question; words in another order change its last digits."""
    places = brain.writer.places()
    return [
        {ranked.id: round(ranked.score, 3) for ranked in brain.searcher.find(asked, places)}
        for asked in QUESTIONS
    ]


def change(brain: Brain, what: str, chance: Random) -> None:
    """One change of the memory, of a record that is chosen by chance."""
    text = " ".join(chance.choices(WORDS, k=6))
    facts = brain.database.query("SELECT id, uid, state FROM records WHERE kind = 'fact' ORDER BY id")
    number, uid, state = chance.choice(facts) if facts else (0, "", "")
    if what in ("remember", "hide"):
        brain.remember(text, private=what == "hide", force=True)
    elif what == "say":
        brain.log(text, speaker=chance.choice(("Ann", "Bo")))
    elif what == "correct" and state == "active":
        (row,) = brain.space.records.rows([number])
        with brain.database.write() as execute:
            brain.writer.record_writer.change(
                execute, row, {"text": text, "terms": encoded(text)}, "correct", ""
            )
    elif what == "forget" and state == "active":
        brain.forget(uid)
    elif what == "recover" and state == "forgotten":
        brain.recover(uid)
    elif what == "tidy":
        tidy(brain.space)
    elif what == "lose vectors":
        with brain.database.write() as execute:
            brain.space.vectors.drop(execute, number)


def test_a_search_finds_what_a_new_process_would_after_any_change(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "FEW", 3)  # bits are asked from a few on
    searching, chance = agents.brain("reader"), Random(3)
    writing = new_process(agents, searching, "coder")
    for what in ("remember", "say") * 5 + tuple(chance.choices(CHANGES, k=40)):
        change(writing, what, chance)
        fresh = scores(new_process(agents, searching))
        assert scores(searching) == [pytest.approx(item, abs=2e-3) for item in fresh], what


def test_what_another_process_changed_is_read_again(agents: Agents) -> None:
    writing, searching = agents.brain(), agents.brain("reader")
    texts = [f"door {number} leads to the copper cellar" for number in range(8)]
    ids = [writing.remember(text, force=True) for text in texts]
    before = searching.search("copper cellar door")
    elsewhere = open_database(agents.home / "brain.db", clock=agents.clock, ids=agents.ids)
    other = Agents(elsewhere, agents.home, agents.clock, agents.ids).brain()
    for forgotten in ids[:3]:
        other.forget(forgotten)
    after = searching.search("copper cellar door")
    elsewhere.close()
    assert {hit.id for hit in before} - {hit.id for hit in after} == set(ids[:3])


def test_what_is_said_next_stands_beside_what_was_the_last(agents: Agents) -> None:
    brain = agents.brain()
    for text in ("who has the copper key?", "Ann has it"):
        brain.log(text, speaker="Bo")

    def beside() -> list[int]:
        return brain.space.words.beside([2], brain.writer.places())

    assert beside() == [1]
    after = brain.log("it opens the cellar", speaker="Bo")
    assert beside() == [1, 3]
    brain.forget(after)
    assert beside() == [1]


def test_records_of_other_places_take_no_room_among_the_best(agents: Agents) -> None:
    brain = agents.brain()
    for number in range(40):
        scope = "project:other" if number % 4 == 0 else "project:here"
        brain.log(f"door {number} leads to the copper cellar", speaker="Bo", scope=scope)
    (place,) = brain.writer.places("project:here")[:1]
    query = word_query(["copper"], [place], brain.space.statistics)
    found = brain.space.words.best(query.expression, 25, places=[place], spare=query.spare)
    assert not query.placed
    assert [number % 4 != 1 for number, _ in found] == [True] * 25


def _forget_and_fail(agents: Agents, differs: Callable[[], bool]) -> None:
    with agents.database.write() as execute:
        execute("UPDATE records SET state = 'forgotten' WHERE id <= 4")
        assert differs()
        raise ZeroDivisionError


def test_what_a_transaction_takes_back_is_not_remembered(agents: Agents) -> None:
    writing, searching = agents.brain(), agents.brain("reader")
    for number in range(8):
        writing.remember(f"door {number} leads to the copper cellar", force=True)
    before = scores(searching)
    with pytest.raises(ZeroDivisionError):
        _forget_and_fail(agents, lambda: scores(searching) != before)
    assert scores(searching) == before


def test_threads_that_ask_at_once_for_what_was_just_written_get_it_once(agents: Agents) -> None:
    brain, asking, rounds = agents.brain(), 8, 12
    text = "door {} leads to the copper cellar"
    first = [brain.remember(text.format(number), force=True) for number in range(20)]
    embedder, place = brain.space.usable_embedder, brain.writer.places()[0]
    assert embedder is not None
    vector = embedder.embed([text.format("")])[0]
    together = Barrier(asking)

    def ask(_: int) -> list[list[int]]:
        answers = []
        for number in range(rounds):
            if together.wait(60) == 0:
                brain.remember(text.format(100 + number), force=True)
            together.wait(60)
            answers.append(brain.space.vectors.close_by(embedder.model, vector, place, 1_000))
        return answers

    ask_alone = brain.space.vectors.close_by(embedder.model, vector, place, 1_000)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(asking) as pool:
            answers = list(pool.map(ask, range(asking)))
    finally:
        sys.setswitchinterval(interval)
    assert len(ask_alone) == len(first)
    written = [len(first) + number + 1 for number in range(rounds)]
    assert [[len(set(item)) for item in each] for each in answers] == [written] * asking
    assert [[len(item) for item in each] for each in answers] == [written] * asking


def near(brain: Brain) -> list[int]:
    """The records that the gate would compare with a text that many resemble."""
    embedder, place = brain.space.usable_embedder, brain.writer.places()[0]
    assert embedder is not None
    [vector] = embedder.embed(["a red fox at the copper door"])
    return sorted(brain.space.vectors.close_by(embedder.model, vector, place, 1_000))


def written_and_taken_back(brain: Brain, text: str) -> None:
    def fail(execute: Execute, session: Session) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        brain.writer.keep_all([Fact(text)], Place(brain.stack, brain.scope), also=fail)


def written_without_words(brain: Brain, text: str) -> None:
    brain.remember("?!", force=True)


def written_elsewhere(brain: Brain, text: str) -> None:
    brain.remember(text, scope="project:elsewhere", force=True)


def written_by_others(brain: Brain, text: str) -> None:
    with Brain("other", path=brain.database.path, config=brain.config) as other:
        other.remember(text, force=True)


def written_by_another_agent(brain: Brain, text: str) -> None:
    another = Brain("another", database=brain.database, config=brain.config)
    another.remember(text, force=True)


def written_apart(brain: Brain, text: str) -> None:
    brain.remember(text, force=True)


def written_untrusted(brain: Brain, text: str) -> None:
    brain.remember(text, source_type="tool-output")


WRITES = (
    *(written_apart, written_apart, written_apart, written_elsewhere, written_without_words),
    *(written_by_others, written_by_another_agent, written_untrusted, written_and_taken_back),
)


@pytest.mark.parametrize("seed", range(3))
def test_gate_compares_with_whatever_anybody_wrote_in_whatever_order(agents: Agents, seed: int) -> None:
    chance, brain = Random(seed), agents.brain()
    brain.remember("the copper door is red", force=True)
    near(brain)
    for _ in range(40):
        chance.choice(WRITES)(brain, " ".join(chance.choices(WORDS, k=6)))
        if chance.random() < 0.7:
            assert near(brain) == near(new_process(agents, brain, brain.agent_id))
