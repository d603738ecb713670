"""The chats that search is measured with are well-formed, and its bar can be missed."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from evals.retrieval.__main__ import with_assistants
from evals.retrieval.agent_records import load_questions
from evals.retrieval.assistant_chats import chats_of_people, chats_of_records
from evals.retrieval.bars import Compared, held_out
from evals.retrieval.corpora import FOLDS, Corpus, Question, Row, load_agent_records, load_documents
from evals.retrieval.measure import NOT_FOUND, Places
from sb.memory.ranking.questions import understand
from tests.rows import rows


@pytest.fixture(scope="module")
def chats() -> list[Corpus]:
    """The chats of the measurement, made once: that takes a second and more."""
    return chats_of_records()


def test_every_question_is_asked_of_one_chat_that_answers_it(chats: list[Corpus]) -> None:
    assert sum(len(chat.questions) for chat in chats) == len(load_questions())
    for chat in chats:
        ids = Counter(row.id for row in chat.rows)
        assert max(ids.values()) == 1
        assert all(question.evidence and question.evidence <= ids.keys() for question in chat.questions)


def test_chats_are_the_same_each_time(chats: list[Corpus]) -> None:
    assert chats_of_records() == chats


def test_evidence_is_said_by_users_assistants_and_tools(chats: list[Corpus]) -> None:
    counts = Counter(question.category for chat in chats for question in chat.questions)
    assert {"user", "assistant", "tool", "pasted"} == counts.keys()
    assert min(counts.values()) >= 20


def test_questions_are_put_as_people_put_them(chats: list[Corpus]) -> None:
    roles = Counter(
        understand(question.text, ["user", "assistant"]).role for chat in chats for question in chat.questions
    )
    assert min(roles["user"], roles["assistant"], roles[""]) >= 40


def test_answers_repeat_what_was_said_and_are_long(chats: list[Corpus]) -> None:
    turns = chats[0].rows
    pairs = [(a, b) for a, b in itertools.pairwise(turns) if (a.speaker, b.speaker) == ("user", "assistant")]
    shared = [len(set(a.text.split()) & set(b.text.split())) / len(set(a.text.split())) for a, b in pairs]
    assert sum(shared) / len(shared) > 0.4
    assert sum(len(b.text) for _, b in pairs) > 3 * sum(len(a.text) for a, _ in pairs)


def test_a_person_asks_an_assistant_in_the_first_person() -> None:
    turns = [Row(f"c/{n}", "Ann" if n % 2 else "Bo", f"I have {n} bees", "c/1", 0.0) for n in range(6)]
    asked = [
        Question("How many bees does Ann have?", "single-hop", frozenset({row.id})) for row in turns[1::2]
    ]
    about_bo = Question("How many bees does Bo have?", "single-hop", frozenset({"c/0"}))
    other = Corpus("d", tuple(Row(f"d/{n}", "Cy", f"{n} bees fly", "d/1", 0.0) for n in range(9)), ())
    ann, bo, _ = chats_of_people([Corpus("c", tuple(turns), (*asked, about_bo)), other])
    assert {question.text for question in ann.questions} == {
        "How many bees does Ann have?",
        "How many bees do I have?",
    }
    texts = {row.id: row.text for row in ann.rows}
    assert all("bees" in texts[item] for question in ann.questions for item in question.evidence)
    assert len(bo.questions) == 1


def test_no_question_of_the_held_out_half_is_learned_from(chats: list[Corpus]) -> None:
    folds = load_agent_records()
    judged = {question.text for corpus in held_out(folds) for question in corpus.questions}
    learned = {
        question.text for corpus in folds if corpus not in held_out(folds) for question in corpus.questions
    }
    assert len(folds) == FOLDS
    assert judged
    assert learned
    assert not judged & learned
    assert [chat.name for chat in held_out(chats)] == [chat.name for chat in chats[1::2]]
    assert [chat.name for chat in held_out(chats, each=2)][:4] == [chats[n].name for n in (2, 3, 6, 7)]


def test_kind_without_chats_is_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    with_assistants([("of people", chats_of_people([]))], vectors=False)
    assert capsys.readouterr().out == ""


def test_documents_hold_the_records_they_are_made_of() -> None:
    documents = load_documents()
    rows = {row.id for row in documents[0].rows}
    assert sum(len(corpus.questions) for corpus in documents) >= 100
    assert all(question.evidence <= rows for corpus in documents for question in corpus.questions)


@rows(
    "found, bm25, less",
    [
        ([1] * 50, [2] * 50, False),
        ([2] * 50, [1] * 50, True),
        ([1, 2] * 25, [2, 1] * 25, False),
        ([NOT_FOUND] * 50, [20] * 50, True),
        ([2] + [1] * 49, [1] * 50, False),
    ],
)
def test_search_finds_less_only_where_it_is_significant(
    found: list[int], bm25: list[int], less: bool
) -> None:
    compared = Compared("kind", Places(found), Places(bm25))
    assert compared.finds_less is less
    assert ("LESS" in compared.line()) is less
