"""Terms that ranking counts are those that the full-text index finds."""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.memory.ranking import terms
from sb.store import driver

ROOT = Path(__file__).parents[2]


class Index:
    """A real full-text table with the columns that the memory's has."""

    def __init__(self) -> None:
        self.connection = driver.connect(":memory:")
        self.connection.execute(
            "CREATE VIRTUAL TABLE f USING fts5 (body, prev, place, tokenize = 'porter unicode61')"
        )
        self.connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (f, instance)")

    def add(self, body: str, place: int = 1) -> None:
        self.connection.execute("INSERT INTO f (body, place) VALUES (?, ?)", (body, f"p{place}"))

    def tokens(self, body: str) -> list[str]:
        self.connection.execute("DELETE FROM f")
        self.add(body)
        found = self.connection.execute("SELECT term FROM v WHERE col = 'body' ORDER BY offset")
        return [row[0] for row in found]

    def find(self, expression: str) -> list[str]:
        found = self.connection.execute("SELECT body FROM f WHERE f MATCH ? ORDER BY rowid", (expression,))
        return [row[0] for row in found]


@pytest.fixture
def index() -> Iterator[Index]:
    made = Index()
    yield made
    made.connection.close()


def vocabulary() -> list[str]:
    """The words of the project's own documentation and code."""
    found: set[str] = set()
    for path in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("sb/**/*.py")]:
        found.update(re.findall(r"\w+", path.read_text(encoding="utf-8").lower()))
    return sorted(found)


def test_stems_are_those_of_the_index(index: Index) -> None:
    known = vocabulary()
    extra = "analogy assemblies ably possibly incredibly logic biology ugly bly is us sky happily y's gas kissing ies sses eed"
    assert len(known) > 4_000
    for start in range(0, len(known), 200):
        text = " ".join(known[start : start + 200]) + " " + extra
        assert terms.stems(text) == index.tokens(text)


def test_letters_are_folded_as_the_index_folds_them(index: Index) -> None:
    text = "Ünïcode naïve Ça ÉCOLE straße Ωμέγα йод Ёлка Ǖber ộ ﬁn İstanbul 日本語 한국 don\u2019t e\u0301te\u0301 x²y 3½ Ⅻ"
    assert terms.stems(text) == index.tokens(text)
    for block in (range(0x20, 0x370), range(0x384, 0x524), range(0x1EA0, 0x1F00), range(0x2000, 0x2060)):
        text = " ".join(f"a{chr(code)}b" for code in block if unicodedata.category(chr(code)) != "Cn")
        assert terms.stems(text) == index.tokens(text)


KNOWN_LETTERS = st.characters(codec="latin-1") | st.sampled_from("ЖёΩςéộ漢字かな한😀\u2019“—\u0301\u200d")


@given(st.text(KNOWN_LETTERS, max_size=200))
def test_no_text_breaks_the_expression_and_its_own_words_find_it(text: str) -> None:
    index = Index()
    try:
        body = text.replace("\x00", " ")
        index.add(body)
        expression = terms.match_expression(terms.words(body), [1])
        assert bool(expression) == bool(index.tokens(body))
        index.add(body)
        assert not expression or body in index.find(expression)
    finally:
        index.connection.close()


@given(st.text(max_size=200))
def test_no_text_at_all_breaks_counting_or_searching(text: str) -> None:
    index = Index()
    try:
        expression = terms.match_expression(terms.words(text), [1])
        assert not expression or index.find(expression) == []
        assert isinstance(terms.stems(text), list)
    finally:
        index.connection.close()


@pytest.mark.parametrize(
    "hostile", ['a" OR place : "p2', "NEAR(a b)", "a AND NOT", "body : a", "^a*", "a\x00b", "(((", "a + b"]
)
def test_operators_in_a_question_are_words_and_never_reach_another_place(index: Index, hostile: str) -> None:
    index.add("mine has a and b", place=1)
    index.add("theirs has a and b and p2", place=2)
    expression = terms.match_expression(terms.words(hostile), [1])
    if expression:
        assert index.find(expression) in (["mine has a and b"], [])


def test_a_word_that_looks_like_a_place_is_searched_in_texts_only(index: Index) -> None:
    index.add("nothing of the kind", place=1)
    index.add("the p1 incident", place=1)
    assert index.find(terms.match_expression(["p1"], [1])) == ["the p1 incident"]


def test_several_places_can_be_read_and_none_finds_nothing(index: Index) -> None:
    for place in (1, 2, 3):
        index.add(f"apple {place}", place=place)
    assert index.find(terms.match_expression(["apple"], [1, 3])) == ["apple 1", "apple 3"]
    assert terms.match_expression(["apple"], []) == ""
    assert terms.match_expression([], [1]) == ""


def test_words_may_have_to_stand_beside_others_and_anywhere(index: Index) -> None:
    for body in ("falcon", "falcon report", "report"):
        index.add(body)
    index.add("falcon report of others", place=2)
    assert index.find(terms.match_expression(["falcon"], [1], beside=["report", "letter"])) == [
        "falcon report"
    ]
    assert sorted(index.find(terms.match_expression(["falcon"], None, beside=["report"]))) == [
        "falcon report",
        "falcon report of others",
    ]


def test_a_question_of_ten_thousand_words_is_cut(index: Index) -> None:
    index.add("word0 word9999")
    question = [f"word{number}" for number in range(10_000)]
    assert index.find(terms.match_expression(question, [1])) == ["word0 word9999"]
    assert index.find(terms.match_expression([*question[100:], "word0"], [1])) == []


def test_of_a_huge_text_only_the_beginning_counts() -> None:
    assert len(terms.words("word " * 1_000_000)) == terms.MOST_CHARACTERS // len("word ")


def test_threads_that_stem_at_once_disturb_no_word() -> None:
    made = [
        f"{start}{middle}{end}"
        for start in "bcdfgl"
        for middle in ("ation", "iz", "or", "ess")
        for end in ENDS
    ]
    wanted = {word: terms._Stems()[word] for word in made}
    shared, found = terms._Stems(), list[dict[str, str]]()

    def run(step: int) -> None:
        found.append({word: shared[word] for word in [*made[step:], *made[:step]]})

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(step,)) for step in (0, 40, 80, 120)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert found == [wanted] * 4


ENDS = ("ational", "ness", "ed", "ing", "ization", "ly", "ical", "fulness", "s", "ement")
