"""Search where thousands of memories share the words of a query."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sb.memory import Brain
from sb.memory.ranking import match_query
from sb.memory.ranking.match_query import common_among, word_query
from sb.protocols.types import Event
from sb.store.records.places import Place
from tests.memory.agents import Agents, agents

__all__ = ["agents"]

MANY = 200


@pytest.fixture
def crowded(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Brain]:
    """A database of many records, as if they were ten thousand: some of one project say `falcon`, and more say `report`."""
    monkeypatch.setattr(match_query, "_MANY", 4 * MANY)

    def brain(scope: str) -> Brain:
        return agents.brain("ada", scope=scope)

    shop = brain("project:shop")
    texts = [f"the falcon flew over hill {number}" for number in range(MANY)]
    texts += [f"a report about field {number}" for number in range(MANY + 20)]
    texts += [f"a quiet day in week {number}" for number in range(3 * MANY)]
    shop.writer.begin("project:shop")
    shop.writer.keep_all([Event(text) for text in texts], Place(shop.stack, "project:shop"))
    return brain


def test_what_has_the_rare_word_and_the_common_one_comes_first(crowded: Callable[[str], Brain]) -> None:
    shop = crowded("project:shop")
    both = shop.remember("the falcon wrote a report")
    assert shop.search("falcon report", k=5)[0].id == both


def test_where_the_rare_words_are_elsewhere_the_common_one_names_what_is_here(
    crowded: Callable[[str], Brain],
) -> None:
    attic = crowded("project:attic")
    report = attic.remember("somebody left a report here")
    assert [hit.id for hit in attic.search("falcon report")] == [report]


def test_a_filter_that_few_meet_is_met_by_those_that_have_only_the_common_word(
    crowded: Callable[[str], Brain],
) -> None:
    shop = crowded("project:shop")
    made = shop.decide("print the report twice", "the first copy is lost")
    assert [hit.id for hit in shop.search("falcon report", kinds=["decision"])] == [made]


def test_asking_for_less_at_first_gives_the_same_scores(crowded: Callable[[str], Brain]) -> None:
    shop = crowded("project:shop")
    both = {shop.remember(f"falcon report {number}") for number in range(3)}
    index, records = shop.space.words, shop.space.records
    whole, rare, beside = "falcon OR report", "falcon", "falcon AND report"
    best = index.best(whole, 20)
    assert {row["uid"] for number, _ in best[:3] if (row := records.row(number))} == both
    assert index.best(whole, 20, first=[rare, beside]) == best


def test_what_matches_less_and_names_too_little_is_not_the_answer(crowded: Callable[[str], Brain]) -> None:
    index = crowded("project:shop").space.words
    assert index.best("report", 20, first=["falcon AND report"]) == index.best("report", 20)
    fiftieth = "r.id % 50 = ?"  # four of which say falcon, and four report
    assert len(index.best("falcon OR report", 8, first=["falcon"], where=fiftieth, parameters=(1,))) == 8


@pytest.mark.parametrize("question", ["falcon report", "report"])
def test_nothing_of_another_place_and_nothing_forgotten_is_found_among_so_many(
    crowded: Callable[[str], Brain], question: str
) -> None:
    attic, shop = crowded("project:attic"), crowded("project:shop")
    elsewhere = attic.remember("falcon report report")
    gone = shop.remember("falcon report")
    shop.forget(gone)
    found = {hit.id for hit in shop.search(question, k=50)}
    assert len(found) == 50
    assert not found & {elsewhere, gone}


class Frequencies:
    """Statistics of a database with so many records, of which the places hold so many."""

    mean_length = mean_window = 10.0
    mean_information = 0.5

    def __init__(self, records: int, inside: int, **frequencies: int) -> None:
        self.records = records
        self._inside = inside
        self._frequencies = frequencies

    def document_frequency(self, stem: str) -> int:
        return self._frequencies[stem]

    def records_in(self, places: object) -> int:
        return self._inside


@pytest.mark.parametrize(("inside", "common"), [(50_000, ["dog", "cat"]), (5_000, ["cat"]), (1_000, [])])
def test_words_are_common_that_together_weigh_no_more_than_one_that_names_enough_in_these_places(
    inside: int, common: list[str]
) -> None:
    known = Frequencies(50_000, inside, cat=9_000, dog=3_000, fox=1_500, hen=500)
    assert common_among(["cat", "dog", "fox", "hen"], inside, known) == common


def test_in_a_small_store_every_word_names_what_has_it() -> None:
    query = word_query(["cat", "dog"], [1], Frequencies(9_000, 4_000, cat=1_900, dog=8_900))
    assert (query.expression, query.first) == ('(- place : ("cat" OR "dog")) AND (place : ("p1"))', ())
    query = word_query(["cat", "dog"], [1], Frequencies(9_000, 9_000, cat=1_900, dog=8_900))
    assert (query.expression, query.first) == ('(- place : ("cat" OR "dog"))', ())


@pytest.mark.parametrize(("inside", "spare"), [(10_000, 1.0), (9_000, 1.3), (5_000, 2.5)])
def test_more_of_the_best_are_looked_at_the_more_records_are_elsewhere(inside: int, spare: float) -> None:
    assert word_query(["cat"], [1], Frequencies(10_000, inside, cat=9)).spare == pytest.approx(spare)


@pytest.mark.parametrize(("inside", "placed"), [(30_000, False), (20_000, True)])
def test_a_place_that_most_records_are_in_is_looked_at_afterwards(inside: int, placed: bool) -> None:
    query = word_query(["cat"], [1], Frequencies(50_000, inside, cat=9))
    assert (query.placed, "p1" in query.expression) == (placed, placed)
