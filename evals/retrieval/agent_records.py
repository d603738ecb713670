"""Recall of agents' records, weeks later and in other words.

`python -m evals.retrieval.agent_records` prints the baseline: words alone. Any other search is scored by
`score(search, questions)`, where `search(question, k)` gives the ids of the k best records, best first.

`records/records.jsonl` holds texts of this project (see `make_records`), `records/questions.jsonl` what somebody would
ask for them: {"id", "question", "evidence": [ids of every record that answers], "kind": of the first of these, "hard":
neighbours look alike}. `records/languages.jsonl` and `records/language_questions.jsonl` are the same in other languages.
The questions were written before any ranking was run, and none was reworded for one. Afterwards the first results of
two rankings (words, static vectors) were read for records that answer as well: these are evidence, too.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sb.store import driver

FOLDER = Path(__file__).parent / "records"
Search = Callable[[str, int], list[str]]

STOP_WORDS = frozenset(
    """
    a about after again all also an and any are as at be because been before being but by can did do
    does doing for from had has have having he her here his how i if in into is it its just me more most
    my no not now of off on once only or other our out over own she should so some such than that the
    their them then there these they this those through to too under until up us very was we were what
    when where which while who whom why will with would you your
    """.split()
)


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    question: str
    evidence: tuple[str, ...]
    kind: str  # of the record it is about; of other languages, the language
    hard: bool


@dataclass(frozen=True, slots=True)
class Scores:
    questions: int
    hit_1: float  # share of the questions of which one piece of evidence is the first result
    hit_5: float
    hit_10: float
    mrr: float  # mean of 1 / place of the first evidence among the results that were asked for

    def __str__(self) -> str:
        return (
            f"{self.questions:4} questions  hit@1 {self.hit_1:.3f}  hit@5 {self.hit_5:.3f}  "
            f"hit@10 {self.hit_10:.3f}  MRR {self.mrr:.3f}"
        )


def _lines(name: str) -> Iterator[dict[str, object]]:
    with (FOLDER / name).open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def load_records(name: str = "records.jsonl") -> list[dict[str, str]]:
    """Records, each with id, kind, category, date, source and text."""
    return [{key: str(value) for key, value in line.items()} for line in _lines(name)]


def load_questions(name: str = "questions.jsonl") -> list[Question]:
    found = []
    for line in _lines(name):
        evidence = line["evidence"]
        if not isinstance(evidence, list):
            raise TypeError(f"{line['id']}: the evidence is no list")
        kind = str(line.get("kind") or line["language"])
        found.append(
            Question(
                str(line["id"]),
                str(line["question"]),
                tuple(map(str, evidence)),
                kind,
                bool(line.get("hard")),
            )
        )
    return found


def parts(records: Sequence[dict[str, str]], count: int) -> dict[str, int]:
    """The part, from 0, of each record by its id: neighbours in a source are in the same part."""
    ordered = sorted(records, key=lambda record: (record["source"], record["id"]))
    return {record["id"]: number * count // len(records) for number, record in enumerate(ordered)}


def score(search: Search, questions: Sequence[Question], k: int = 20) -> dict[str, Scores]:
    """Scores by kind, of the hard questions ("hard"), and of all ("all").

    Args:
        search: gives at most so many ids of records, best first.
        k: how many are asked for; evidence beyond them counts as not found.
    """
    places: dict[str, list[int | None]] = defaultdict(list)
    for question in questions:
        found = search(question.question, k)
        place = next((at for at, id_ in enumerate(found, 1) if id_ in question.evidence), None)
        for group in ("all", question.kind, *(["hard"] if question.hard else [])):
            places[group].append(place)
    return {group: _scores(places[group]) for group in sorted(places)}


def _scores(places: Sequence[int | None]) -> Scores:
    def hit(k: int) -> float:
        return sum(place is not None and place <= k for place in places) / len(places)

    mrr = sum(1 / place for place in places if place) / len(places)
    return Scores(len(places), hit(1), hit(5), hit(10), mrr)


def words(text: str) -> list[str]:
    """Its words in lower case, without those that say nothing; all of them if nothing else is left."""
    found = re.findall(r"\w+", text.lower())
    return [word for word in found if word not in STOP_WORDS] or found


def bm25(records: Iterable[dict[str, str]]) -> Search:
    """The baseline: FTS5 with Porter's stemmer, any of the question's words, by its bm25."""
    connection = driver.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, text, tokenize = 'porter unicode61')")
    connection.executemany(
        "INSERT INTO t VALUES (?, ?)", [(record["id"], record["text"]) for record in records]
    )

    def search(question: str, k: int) -> list[str]:
        asked = " OR ".join(f'"{word}"' for word in words(question))
        if not asked:
            return []
        rows = connection.execute(
            "SELECT id FROM t WHERE t MATCH ? ORDER BY bm25(t), rowid LIMIT ?", (asked, k)
        )
        return [str(id_) for (id_,) in rows]

    return search


def overlaps(questions: Sequence[Question], records: Iterable[dict[str, str]]) -> list[float]:
    """Of each question, the share of its stems that its evidence has too: the most that one piece of it has."""
    connection = driver.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize = 'porter unicode61')")
    connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(t, instance)")
    texts = {record["id"]: record["text"] for record in records}
    keys = [*texts, *(question.id for question in questions)]
    documents = [*texts.values(), *(" ".join(words(question.question)) for question in questions)]
    connection.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", list(enumerate(documents)))
    stems: dict[str, set[str]] = defaultdict(set)
    for term, row in connection.execute("SELECT term, doc FROM stems"):
        stems[keys[row]].add(term)
    return [
        max(
            len(stems[question.id] & stems[evidence]) / max(len(stems[question.id]), 1)
            for evidence in question.evidence
        )
        for question in questions
    ]


def main() -> None:
    for records_name, questions_name in (
        ("records.jsonl", "questions.jsonl"),
        ("languages.jsonl", "language_questions.jsonl"),
    ):
        records, questions = load_records(records_name), load_questions(questions_name)
        shared = overlaps(questions, records)
        print(
            f"{len(records)} records; a question shares {sum(shared) / len(shared):.0%} of its stems with its evidence"
        )
        for group, scores in score(bm25(records), questions).items():
            print(f"  {group:10} {scores}")


if __name__ == "__main__":
    main()
