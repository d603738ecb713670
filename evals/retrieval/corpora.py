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
    """What was said or noted, in order, and what may be asked about it."""

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
    """What agents noted; the questions in four parts, so that weights can be tried on one that they were not fitted on."""
    records = agent_records.load_records()
    rows = tuple(Row(found["id"], "", found["text"], "", _midnight(found["date"])) for found in records)
    asked = [
        Question(found.question, found.kind, frozenset(found.evidence))
        for found in agent_records.load_questions()
    ]
    return [Corpus(f"records {part + 1}", rows, tuple(asked[part::4])) for part in range(4)]


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
