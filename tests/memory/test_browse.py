"""Browsing memory: every record, newest first, and those that fit a filter, followed as memory changes."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.errors import UsageError
from sb.memory import Brain
from sb.memory import browse as module
from sb.memory.browse import Browsed, RecordFilter, browse, place_of
from sb.operator.filters import Filter
from sb.protocols.types import Fact
from sb.store.records.places import Place


@pytest.fixture
def brain(tmp_path: Path, clock: SteeredClock) -> Iterator[Brain]:
    with Brain("clerk", path=tmp_path / "brain.db", clock=clock) as brain:
        yield brain


def wanted(text: str) -> RecordFilter:
    return Filter.parse(text).memory(0)


def look(brain: Brain, text: str, before: Browsed | None = None) -> Browsed:
    *_, last = browse(brain.database, wanted(text), before or Browsed())
    assert last.complete
    return last


def texts(brain: Brain, text: str) -> list[str]:
    found = look(brain, text)
    rows = {row["id"]: row["text"] for row in brain.space.records.rows(list(found.numbers))}
    return [rows[number] for number in found.numbers]


@pytest.fixture
def texts_of(brain: Brain) -> Callable[[str], list[str]]:
    return lambda text: texts(brain, text)


def test_everything_is_there_newest_first_also_what_is_private_forgotten_or_in_another_stack(
    brain: Brain, texts_of: Callable[[str], list[str]]
) -> None:
    first = brain.remember("a plain fact")
    brain.remember("a private one", private=True)
    Brain("courier", database=brain.database, stack="other").remember("another stack's")
    brain.forget(first)
    assert texts_of("") == ["another stack's", "a private one", "a plain fact"]


def test_what_is_typed_begins_a_word_in_any_case_also_where_its_stem_is_another(
    brain: Brain, texts_of: Callable[[str], list[str]]
) -> None:
    phrases = ["Payment first", "the payload", "(pay)", "repay it", "_pay_", "état: pay", "日本語pay"]
    for text in phrases:
        brain.remember(text)
    assert set(texts_of("pay")) == set(phrases) - {"repay it"}
    assert texts_of("PAYL") == ["the payload"]
    assert texts_of("the payl") == ["the payload"]
    assert texts_of("本語") == ["日本語pay"]
    assert texts_of("payments") == []


@pytest.mark.parametrize("typed", ["%", "_x", "*", "?", "[", "[a-z", "]", "\\", "'", "a*", "^", "💥"])
def test_no_character_has_a_meaning_of_its_own(
    brain: Brain, texts_of: Callable[[str], list[str]], typed: str
) -> None:
    brain.remember("nothing of the kind, axx")
    brain.remember(f"with {typed} in it")
    assert texts_of(typed) == [f"with {typed} in it"]


def test_terms_look_in_their_columns(brain: Brain, texts_of: Callable[[str], list[str]]) -> None:
    brain.remember("shop is open", project="shop")
    brain.decide("Postgres", "it holds", project="shop")
    Brain("courier", database=brain.database).remember("post is slow", strength=0.3)
    brain.forget(brain.remember("old post"))
    brain.protect(brain.remember("new post"))
    assert texts_of("kind:dec*") == texts_of("KIND:Decision") == ["Postgres: it holds"]
    assert texts_of("scope:shop kind:fact") == ["shop is open"]
    assert texts_of("agent:courier") == texts_of("strength:weak") == ["post is slow"]
    assert texts_of("state:forgotten") == ["old post"]
    assert texts_of("state:protected") == ["new post"]
    assert texts_of("state:active post") == ["new post", "post is slow", "Postgres: it holds"]
    assert texts_of("kind:nothing") == texts_of("agent:cour") == []
    assert texts_of("-scope:shop -state:forgotten post") == ["new post", "post is slow"]
    assert texts_of("stack:default -new since:1970-01-01 post -slow state:active") == ["Postgres: it holds"]
    assert texts_of('"post is"') == ["post is slow"]
    assert texts_of("until:1970-01-01") == []
    with pytest.raises(UsageError, match="no state"):
        wanted("state:denied")


def test_a_look_goes_on_from_the_last_one_and_comes_to_what_a_whole_look_would(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CHANGES", 20)
    chance = random.Random(7)
    words = "state:active b"
    known, ids = Browsed(), list[str]()
    for _ in range(40):
        for _ in range(chance.randrange(4)):
            ids.append(brain.remember(chance.choice(["blue", "red"])))
        for record in chance.sample(ids, min(len(ids), chance.choice([0, 1, 3, 30]))):
            (brain.forget if brain.space.records.find(record)["state"] == "active" else brain.recover)(record)  # type: ignore[index]
        known = look(brain, words, known)
        assert known == look(brain, words)


def test_a_look_says_how_far_it_has_come(brain: Brain) -> None:
    brain.writer.keep_all([Fact(f"fact {number}") for number in range(5_000)], Place("default"))
    steps = list(browse(brain.database, wanted("fact"), Browsed()))
    assert [(len(step.numbers), step.complete) for step in steps] == [(2_000, False), (5_000, True)]
    assert list(steps[-1].numbers) == list(range(5_000, 0, -1))


def test_an_old_record_with_a_rare_word_is_there_before_everything_was_looked_at(brain: Brain) -> None:
    brain.writer.keep_all([Fact("Zygotes in old words"), Fact("zyg as well")], Place("default"))
    brain.writer.keep_all([Fact(f"fact {number}") for number in range(7_000)], Place("default"))
    steps = list(browse(brain.database, wanted("zyg"), Browsed()))
    assert [(list(step.numbers), step.complete) for step in steps] == [
        ([], False),
        ([2, 1], False),
        ([2, 1], True),
    ]
    kinds = list(browse(brain.database, wanted("zyg kind:decision"), Browsed()))
    assert [list(step.numbers) for step in kinds] == [[], [], []]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(max_size=60))
def test_whatever_is_typed_is_answered(brain: Brain, typed: str) -> None:
    with contextlib.suppress(UsageError):
        look(brain, typed.encode("utf-8", "replace").decode())


@given(st.sets(st.integers(1, 60)), st.integers(0, 61))
def test_a_number_is_found_among_falling_numbers(numbers: set[int], wanted: int) -> None:
    falling = sorted(numbers, reverse=True)
    assert place_of(falling, wanted) == (falling.index(wanted) if wanted in numbers else None)
