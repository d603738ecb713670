"""Corpora: rows, and the questions that they answer.

Conversations are LoCoMo's, whose licence does not let us ship them; records are what agents noted about this project.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.retrieval import agent_records

PARTS = (
    12  # that the records are in; of each four the first and the third may be learned from, the others judge
)
FOLDS = 4
_A_DOCUMENT = 8  # records, some 350 words
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


@dataclass(frozen=True)
class Row:
    """One thing said or noted; of a note, speaker and session are empty. `id` is unique over all corpora."""

    id: str
    speaker: str
    text: str
    session: str
    happened_at: float


@dataclass(frozen=True)
class Question:
    """A question with the ids of the rows that hold its answer."""

    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class Corpus:
    """A corpus: turns or notes in order, and the questions about them."""

    name: str
    rows: tuple[Row, ...]
    questions: tuple[Question, ...]


def load_conversations(path: Path) -> list[Corpus]:
    """Read conversations; questions without evidence cannot be scored and are left out.

    Raises:
        OSError: the file cannot be read.
    """
    return [_conversation(stored) for stored in json.loads(path.read_text(encoding="utf-8"))]


def load_agent_records() -> list[Corpus]:
    """Agents' notes; the questions in four folds, so that weights are tried on one that they were not fitted on."""
    records = agent_records.load_records()
    rows = tuple(Row(found["id"], "", found["text"], "", _midnight(found["date"])) for found in records)
    part, asked = agent_records.parts(records, PARTS), agent_records.load_questions()
    return [
        Corpus(
            f"records {fold}",
            rows,
            tuple(
                Question(question.question, question.kind, frozenset(question.evidence))
                for question in asked
                if part[question.evidence[0]] % FOLDS == fold
            ),
        )
        for fold in range(FOLDS)
    ]


def load_documents() -> list[Corpus]:
    """Longer texts, of some records that follow each other in one source; asked as these are, in the same folds."""
    records = agent_records.load_records()
    part = agent_records.parts(records, PARTS)
    rows: list[Row] = []
    holding: dict[str, str] = {}  # the document of each record
    sources: dict[str, list[dict[str, str]]] = {}
    for record in records:
        sources.setdefault(record["source"], []).append(record)
    for source, found in sources.items():
        for start in range(0, len(found), _A_DOCUMENT) if source.endswith(".md") else ():
            inside = found[start : start + _A_DOCUMENT]
            name = f"{source}#{start}"
            text = "\n\n".join(record["text"] for record in inside)
            rows.append(Row(name, "", text, "", _midnight(inside[0]["date"])))
            holding |= {record["id"]: name for record in inside}
    asked = [question for question in agent_records.load_questions() if question.evidence[0] in holding]
    return [
        Corpus(
            f"documents {fold}",
            tuple(rows),
            tuple(
                Question(
                    question.question,
                    "document",
                    frozenset(holding[at] for at in question.evidence if at in holding),
                )
                for question in asked
                if part[question.evidence[0]] % FOLDS == fold
            ),
        )
        for fold in range(FOLDS)
    ]


def _midnight(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


def _conversation(stored: dict[str, Any]) -> Corpus:
    name = str(stored["id"])
    rows = tuple(
        Row(
            f"{name}/{turn['id']}",
            turn["speaker"],
            turn["text"],
            f"{name}/{session['session']}",
            _seconds(session["date"]),
        )
        for session in stored["sessions"]
        for turn in session["turns"]
    )
    asked = (
        Question(
            question["question"],
            CATEGORIES[question["category"]],
            frozenset(f"{name}/{turn}" for turn in question["evidence"]),
        )
        for question in stored["qa"]
    )
    return Corpus(name, rows, tuple(question for question in asked if question.evidence))


def _seconds(written: str) -> float:
    """As LoCoMo writes it: "1:56 pm on 8 May, 2023"."""
    return datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
