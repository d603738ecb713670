"""A hit can come with what stands before and after it in its session."""

from __future__ import annotations

import pytest

from sb.memory.search import Filters
from tests.conftest import CommandLine
from tests.memory.desk import Desk, desk

__all__ = ["desk"]

SAID = ["we met on Monday", "the topic was tea", "the kettle whistles at noon", "then we left", "it rained"]


def around(desk: Desk, count: int, agent: str = "coder") -> tuple[list[str], list[str]]:
    (hit,) = desk.brain(agent).search("kettle whistles", 1, context=count)
    return [memory.content for memory in hit.before], [memory.content for memory in hit.after]


def say(desk: Desk) -> list[str]:
    brain = desk.brain()
    return [brain.log(text) for text in SAID]


def test_neighbours_come_in_the_order_of_their_session(desk: Desk) -> None:
    say(desk)
    assert around(desk, 0) == ([], [])
    assert around(desk, 1) == (SAID[1:2], SAID[3:4])
    assert around(desk, 9) == (SAID[:2], SAID[3:])


def test_another_session_is_no_neighbour(desk: Desk) -> None:
    desk.brain().log("an earlier session")
    desk.brain().log("the kettle whistles")
    desk.brain().log("a later session")
    assert around(desk, 3) == ([], [])


def test_only_what_may_be_seen_comes_with_a_hit(desk: Desk) -> None:
    brain = desk.brain("ada")
    brain.log("a private thought", private=True)
    brain.log("the kettle whistles at noon")
    forgotten = brain.log("forgotten words")
    brain.log("last words")
    brain.forget(forgotten, reason="wrong")
    assert around(desk, 1, "coder") == ([], ["last words"])
    assert around(desk, 1, "ada") == (["a private thought"], ["last words"])


def test_filters_choose_hits_and_not_their_neighbours(desk: Desk) -> None:
    brain = desk.brain()
    brain.log("it began")
    brain.decide("buy a kettle", "the old one leaks")
    (hit,) = desk.brain().search("kettle", kinds=["decision"], context=1)
    assert [memory.kind for memory in hit.before] == ["event"]


def test_neighbours_do_not_count_as_read(desk: Desk) -> None:
    say(desk)
    around(desk, 2)
    assert len(desk.rows("SELECT record FROM access_log")) == 1


@pytest.mark.parametrize("context", [-1, 11])
def test_context_has_bounds(desk: Desk, context: int) -> None:
    with pytest.raises(ValueError, match="context must be between 0 and 10"):
        desk.brain().search("kettle", context=context)


def test_the_command_shows_neighbours_around_a_hit(sb: CommandLine) -> None:
    for text in SAID:
        sb("memory", "log", text, "--agent", "ada", "--session", "monday")
    lines = sb("memory", "search", "kettle whistles", "-k", "1", "--context", "1").out.splitlines()
    assert lines[0] == "    | the topic was tea"
    assert lines[2:] == ["    the kettle whistles at noon", "    | then we left"]
    (hit,) = sb("memory", "search", "kettle whistles", "-k", "1", "--context", "1", "--json").json["items"]
    assert [item["content"] for item in (*hit["before"], *hit["after"])] == [SAID[1], SAID[3]]


def test_what_was_said_beside_a_good_candidate_is_one_too(desk: Desk) -> None:
    brain = desk.brain()
    first = brain.log("under the blue pot", speaker="Ann")
    brain.log("that is where the spare key hides", speaker="Bo")
    last = brain.log("good", speaker="Ann")
    hidden = brain.log("nobody may see this", speaker="Bo", private=True)
    reader = desk.brain("eve")
    numbers = {desk.row(item)["id"]: item for item in (first, last, hidden)}
    _, candidates = reader.searcher.candidates("spare key", reader.writer.places())
    assert {numbers[item] for item in candidates.rows.ids.tolist() if item in numbers} == {first, last}
    _, filtered = reader.searcher.candidates("spare key", reader.writer.places(), Filters(kinds=["decision"]))
    assert len(filtered.rows.ids) == 0
