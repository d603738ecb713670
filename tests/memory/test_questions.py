"""Questions, and the kind of answer that each asks for."""

from __future__ import annotations

from sb.memory.ranking.questions import understand
from tests.rows import rows


def test_a_question_is_its_words_without_stop_words_and_names_of_speakers() -> None:
    query = understand("What did Caroline paint for Melanie's birthday?", ["Caroline", "Melanie"])
    assert query.words == ("paint", "birthday")
    assert query.names == ("caroline", "melanie")
    assert query.speakers == {"Caroline", "Melanie"}
    assert query.terms(spoken=True) == ("paint", "birthday")
    assert query.terms(spoken=False) == ("paint", "birthday", "caroline", "melanie")


def test_a_name_is_a_word_where_nobody_of_that_name_speaks() -> None:
    assert understand("the note about Caroline").terms(spoken=True) == ("note", "caroline")


def test_a_question_of_names_or_stop_words_alone_still_looks_for_something() -> None:
    assert understand("Who is Caroline?", ["Caroline"]).terms(spoken=True) == ("caroline",)
    assert understand("who are you?").terms(spoken=False) == ("who", "are", "you")
    assert understand("?!").terms(spoken=True) == ()


@rows(
    "text, days, years",
    [
        ("on 8 May, 2023", {(5, 8)}, {2023}),
        ("on May 8th", {(5, 8)}, set()),
        ("the 3rd of june", {(6, 3)}, set()),
        ("in October 2022", {(10, None)}, {2022}),
        ("between July 1 and 20 August", {(7, 1), (8, 20)}, set()),
        ("since 2023-05-08", {(5, 8)}, {2023}),
        ("what may we march for", set(), set()),
        ("8 apples in 2021", set(), {2021}),
    ],
)
def test_days_and_years_are_read(text: str, days: set[tuple[int, int | None]], years: set[int]) -> None:
    query = understand(text)
    assert (set(query.days), set(query.years)) == (days, years)


@rows(
    "text, when, how_many",
    [
        ("When did he leave?", True, False),
        ("How long did it take?", True, False),
        ("Which year was it?", True, False),
        ("How many dogs?", False, True),
        ("Who left when?", False, False),
    ],
)
def test_it_is_known_whether_a_time_or_a_number_is_asked_for(text: str, when: bool, how_many: bool) -> None:
    query = understand(text)
    assert (query.when, query.how_many) == (when, how_many)
