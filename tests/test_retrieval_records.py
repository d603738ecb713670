"""The questions that retrieval is measured with are well-formed, honest and scored right."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from evals.retrieval.agent_records import (
    Question,
    bm25,
    load_questions,
    load_records,
    overlaps,
    score,
)
from evals.retrieval.make_records import (
    ALIKE,
    MAX_SENTENCES,
    Record,
    blocks,
    distinct,
    pieces,
    sentences,
    stems,
)

KINDS = {"fact", "decision", "lesson", "note", "code_fact"}
CATEGORIES = {
    "convention", "decision", "environment", "identity", "integration", "lesson", "preference", "project", "user",
}  # fmt: skip


@pytest.mark.parametrize(
    ("records_name", "questions_name"),
    [("records.jsonl", "questions.jsonl"), ("languages.jsonl", "language_questions.jsonl")],
)
def test_every_question_names_records_that_exist_once(records_name: str, questions_name: str) -> None:
    records, questions = load_records(records_name), load_questions(questions_name)
    ids = [record["id"] for record in records]
    assert len(set(ids)) == len(ids)
    assert len({question.id for question in questions}) == len(questions)
    assert len({question.question for question in questions}) == len(questions)
    for question in questions:
        assert question.evidence, question
        assert set(question.evidence) <= set(ids), question
        assert len(set(question.evidence)) == len(question.evidence), question
    for record in records:
        assert record["kind"] in KINDS
        assert record["category"] in CATEGORIES
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
        assert record["text"].strip() == record["text"] != ""


def test_there_are_enough_records_and_questions_of_every_kind() -> None:
    records, questions = load_records(), load_questions()
    assert len(records) >= 1500
    assert len(questions) >= 300
    counts = Counter(question.kind for question in questions)
    assert set(counts) == KINDS
    assert min(counts.values()) >= 50, counts
    kinds = {record["id"]: record["kind"] for record in records}
    assert all(kinds[question.evidence[0]] == question.kind for question in questions)
    assert sum(question.hard for question in questions) >= len(questions) // 12


def test_questions_are_in_other_words_than_their_records() -> None:
    shared = overlaps(load_questions(), load_records())
    assert sum(shared) / len(shared) < 0.4


def test_other_languages_have_records_and_questions() -> None:
    assert len(load_records("languages.jsonl")) >= 60
    assert set(Counter(question.kind for question in load_questions("language_questions.jsonl"))) == {
        "ar", "de", "es", "fr", "ja",
    }  # fmt: skip


def test_no_record_speaks_of_a_machine() -> None:
    assert not [
        record for record in load_records() if re.search(r"/work/|/tmp/|/root/|/home/\w", record["text"])
    ]


def test_a_search_is_scored_by_the_place_of_its_first_evidence() -> None:
    questions = [
        Question("q1", "one", ("a", "b"), "fact", False),
        Question("q2", "two", ("c",), "note", True),
    ]
    answers = {"one": ["x", "b", "a"], "two": ["x", "x", "x", "x", "x", "c"]}
    scores = score(lambda question, k: answers[question][:k], questions)
    assert (scores["fact"].hit_1, scores["fact"].hit_5, scores["fact"].mrr) == (0, 1, 1 / 2)
    assert (scores["note"].hit_5, scores["note"].hit_10, scores["note"].mrr) == (0, 1, 1 / 6)
    assert scores["note"] == scores["hard"]
    assert (scores["all"].questions, scores["all"].mrr) == (2, (1 / 2 + 1 / 6) / 2)
    assert score(lambda question, k: answers[question][:k], questions, k=5)["all"].mrr == 1 / 4


def test_the_baseline_finds_words_by_their_stems_and_nothing_by_stop_words() -> None:
    search = bm25([{"id": "a", "text": "Kills stop calls."}, {"id": "b", "text": "Backups are checked."}])
    assert search("who is killing?", 5) == ["a"]
    assert search("what are the", 5) == ["b"]  # nothing else is left of the question
    assert search("?", 5) == []


def test_records_are_read_from_paragraphs_bullets_and_table_rows_but_not_from_code() -> None:
    page = "# Title\n\nOne.\nTwo.\n\n```python\ncode\n```\n\n## Part\n\n- first\n  goes on\n- second\n\n| a | b |\n| - | - |\n| c | d |\n"
    found = [(block.headings, block.lines) for block in blocks(page) if block.lines]
    assert found == [
        (["Title"], ["One.", "Two."]),
        (["Title", "Part"], ["- first", "  goes on"]),
        (["Title", "Part"], ["- second"]),
        (["Title", "Part"], ["| a | b |"]),
        (["Title", "Part"], ["| - | - |"]),
        (["Title", "Part"], ["| c | d |"]),
    ]


def test_a_long_paragraph_becomes_records_of_at_most_six_sentences() -> None:
    text = " ".join(f"Sentence number {number} stands here." for number in range(14))
    assert [len(sentences(piece)) for piece in pieces(text)] == [5, 5, 4]
    assert max(len(sentences(piece)) for piece in pieces(text * 9)) <= MAX_SENTENCES
    assert " ".join(pieces(text)) == text


def test_what_an_earlier_record_says_is_left_out() -> None:
    def record(text: str) -> Record:
        return Record("fact", "project", "2026-01-01", "docs/x.md", text)

    first = record("A kill stops every call of the agent from the next one on.")
    again = record("From the next one on, a kill stops every call of this agent.")
    other = record("A backup is checked for damage before it is given its name.")
    short = record("It is so.")
    assert list(distinct([first, again, other, short])) == [first, other]
    assert len(stems(first.text) & stems(again.text)) > ALIKE * len(stems(first.text))
